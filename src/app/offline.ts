/**
 * The data folder for commands that look into it or change a row beside a running or stopped gateway. Takes no gateway lock
 * and never creates or migrates a database: a look must not change what it looks at.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { GatewayConfig } from "../../config/schema.js";
import { StoreError } from "../domain/errors.js";
import { Pairing } from "../gateway/pairing.js";
import type { JobLedger } from "../ports/job-queue.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import { Connection } from "../storage/connection.js";
import { openDatabase, type Database } from "../storage/database.js";
import { createJobLedger } from "../storage/job-ledger.js";
import { isBusy, storeError } from "../storage/sqlite-errors.js";
import { createStores, type Stores } from "../storage/stores.js";

export interface Offline {
  readonly db: Database;
  readonly stores: Stores;
  readonly jobs: JobLedger;
  readonly pairing: Pairing;
}

export interface OfflineDeps {
  readonly config: GatewayConfig;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export function databaseFile(config: GatewayConfig): string {
  return join(config.data.dir, "mneme.db");
}

/**
 * Opens the stores, calls `work` and closes them. Undefined when there is no database yet. Rejects with StoreError when the file
 * cannot be used, also when its schema is older than this program's.
 */
export async function withStores<T>(deps: OfflineDeps, work: (offline: Offline) => Promise<T>): Promise<T | undefined> {
  const { config, clock, ids, logger } = deps;
  const file = databaseFile(config);
  if (!existsSync(file)) return undefined;
  const db = await openDatabase({ file, logger, clock, migrate: false });
  try {
    const stores = createStores({ db, clock, ids });
    return await work({ db, stores, jobs: createJobLedger({ db }), pairing: new Pairing({ access: stores.access, clock }) });
  } finally {
    await db.close();
  }
}

/** True when a gateway (or `mneme chat`) holds the data folder. Looks only; never call it in the process that is the gateway. */
export function gatewayRuns(config: GatewayConfig): boolean {
  const file = join(config.data.dir, "gateway.lock");
  if (!existsSync(file)) return false;
  let driver: Connection["driver"] | undefined;
  try {
    driver = new Connection(file).driver;
    driver.prepare("select count(*) from sqlite_schema").get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    const mapped = storeError(error, file);
    // A damaged lock file holds no lock.
    if (mapped instanceof StoreError && mapped.code === "store.corrupt") return false;
    throw mapped;
  } finally {
    driver?.close();
  }
}

/** The version of the SQLite library in use. */
export function sqliteVersion(): string {
  const { driver } = new Connection(":memory:");
  try {
    return String(driver.prepare("select sqlite_version()").pluck().get());
  } finally {
    driver.close();
  }
}
