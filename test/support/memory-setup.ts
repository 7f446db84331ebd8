/** Memory files on a real database in a private folder, for tests of everything that writes memory. */
import { openDatabase, type Database } from "../../src/storage/database.js";
import { createMemoryLog } from "../../src/storage/memory-log.js";
import { MemoryFiles, type Author, type Written } from "../../src/memory/memory-files.js";
import type { MemoryLog } from "../../src/ports/memory-log.js";
import { collectingLogger, systemClock } from "./runtime.js";

export interface MemorySetup {
  readonly db: Database;
  readonly log: MemoryLog;
  readonly files: MemoryFiles;
  readonly written: Written[];
}

export const byCommand: Author = { origin: "command", guard: { none: true }, accountKey: "test:1", personId: "p1" };

export async function memorySetup(dataDir: string, limits = { user: 1375, memory: 2200 }): Promise<MemorySetup> {
  const db = await openDatabase({ file: `${dataDir}/mneme.db`, logger: collectingLogger(), clock: systemClock });
  const log = createMemoryLog({ db });
  const written: Written[] = [];
  const files = new MemoryFiles({
    dataDir,
    log,
    clock: systemClock,
    limits,
    written: (change) => {
      written.push(change);
      return Promise.resolve();
    },
  });
  return { db, log, files, written };
}
