/**
 * Stores on a real file in a temporary folder, with ids that count and a clock that the test moves.
 */
import { onTestFinished } from "vitest";
import type { Clock, Ids, Logger } from "../../../src/ports/runtime.js";
import { openDatabase, type Database, type OpenOptions } from "../../../src/storage/database.js";
import { createStores, type Stores, type StoresDeps } from "../../../src/storage/stores.js";
import type { TempHome } from "../../support/temp-home.js";

export interface LoggedLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: object;
  readonly message: string;
}

export function recordingLogger(lines: LoggedLine[] = []): Logger {
  const at = (level: LoggedLine["level"]) => (fields: object, message: string) => void lines.push({ level, fields, message });
  const logger: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), child: () => logger };
  return logger;
}

export interface TestClock extends Clock {
  time: number;
}

export function testClock(time = 1_800_000_000_000): TestClock {
  return {
    time,
    now() {
      return this.time;
    },
    after(ms, task) {
      const timer = setTimeout(task, ms);
      return () => clearTimeout(timer);
    },
  };
}

export function countingIds(prefix = "id"): Ids {
  let count = 0;
  return { next: () => `${prefix}${String((count += 1)).padStart(6, "0")}` };
}

export type TestStores = Stores & { readonly db: Database; readonly clock: TestClock; readonly file: string };

export async function openTestDatabase(home: TempHome, options: Partial<OpenOptions> = {}): Promise<Database> {
  const db = await openDatabase({ file: home.path("mneme.db"), logger: recordingLogger(), clock: testClock(), ...options });
  onTestFinished(() => db.close());
  return db;
}

export async function openTestStores(
  home: TempHome,
  deps: Pick<StoresDeps, "onEntries"> & { readonly prefix?: string } = {},
): Promise<TestStores> {
  const clock = testClock();
  const db = await openTestDatabase(home, { clock });
  const stores = createStores({
    db,
    clock,
    ids: countingIds(deps.prefix),
    ...(deps.onEntries === undefined ? {} : { onEntries: deps.onEntries }),
  });
  return { ...stores, db, clock, file: db.file };
}
