/**
 * The database: opens the file, runs transactions, closes.
 * A transaction callback is synchronous and may be run again when its commit was refused: it must not await.
 */
import { createRequire } from "node:module";
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { StoreError } from "../domain/errors.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { whileBusy } from "./busy-retry.js";
import { createCheckpointer } from "./checkpointer.js";
import { openWal, type Connection } from "./connection.js";
import { migrate, schemaVersionOf, type Migration } from "./migrate.js";
import { migrations as allMigrations } from "./migrations.js";
import type { Tx } from "./sql.js";
import { isBusy, storeError } from "./sqlite-errors.js";
import { createWriteQueue, type WriteQueue } from "./write-queue.js";

export type { Tx } from "./sql.js";

export interface OpenOptions {
  readonly file: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Oldest SQLite that may be used; older ones can damage a file that two connections write (fixed in 3.51.3). */
  readonly minimumVersion?: string;
  /** False: an older schema is refused instead of migrated (a worker beside a gateway). */
  readonly migrate?: boolean;
  readonly migrations?: readonly Migration[];
  /** Above this size the write-ahead log is cut at a checkpoint. */
  readonly truncateAboveBytes?: number;
}

export interface WriteOptions {
  /** Keeps trying while the database is locked, until it closes. */
  readonly patient?: boolean;
  /** Leases, heartbeats, caches: not synced to disk, so a power cut may lose the last ones. */
  readonly soft?: boolean;
}

export interface Database {
  readonly file: string;
  /** Runs `work` on one consistent state. */
  read<T>(work: (tx: Tx) => T): Promise<T>;
  /**
   * Runs `work` inside BEGIN IMMEDIATE, in order of the calls; an exception undoes it and is passed on. Writes asked for at the same
   * time may share a commit. Rejects with `store.busy`, `store.full`, `store.corrupt`.
   */
  write<T>(work: (tx: Tx) => T, options?: WriteOptions): Promise<T>;
  /** Changes when another connection (another process, or a soft write) has written. */
  dataVersion(): number;
  /** The schema version in the file now; another process may have raised it. */
  schemaVersion(): Promise<number>;
  /** Checkpoints in the worker thread; resolves with the size of the write-ahead log in bytes. */
  checkpoint(): Promise<number>;
  /** Writes a compact consistent copy to a path that does not exist yet. Blocks: for the command line. */
  copyTo(path: string): Promise<void>;
  /** Ends waiting writes with `store.busy`, checkpoints, closes. May be called twice. */
  close(): Promise<void>;
}

const megabyte = 1024 * 1024;

/** True when `have` is at least `need`; dotted numbers. */
export function versionAtLeast(have: string, need: string): boolean {
  const [a, b] = [have, need].map((version) => version.split(".").map(Number));
  for (let index = 0; index < 3; index += 1) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/**
 * Opens (and creates, mode 0600) the database and brings its schema up to date. Rejects with `store.unsupported` for an old
 * library or a newer schema, with `store.corrupt` for a damaged file, of which at most one copy (`FILE.damaged`) is kept.
 */
export async function openDatabase(options: OpenOptions): Promise<Database> {
  const { file, logger, clock, minimumVersion = "3.51.3", migrations = allMigrations } = options;
  const closing = new AbortController();
  const retry = { file, signal: closing.signal };
  const opened: Connection[] = [];
  try {
    const existed = makeFile(file);
    const main = await whileBusy(() => openWal(file, "FULL", opened), { ...retry, patient: true });
    const version = String(main.driver.prepare("select sqlite_version()").pluck().get());
    if (!versionAtLeast(version, minimumVersion)) {
      throw new StoreError(
        "store.unsupported",
        `SQLite ${version} is too old: at least ${minimumVersion} is needed. Reinstall the packages.`,
      );
    }
    const transact = <T>(work: (tx: Tx) => T): Promise<T> =>
      whileBusy(() => main.transact("BEGIN EXCLUSIVE", work), { ...retry, patient: true });
    const read = <T>(work: (tx: Tx) => T): Promise<T> => whileBusy(() => main.transact("BEGIN", work), { ...retry, patient: true });
    const copy = (path: string): Promise<void> =>
      whileBusy(() => void main.prepare("vacuum into ?").run(path), { ...retry, patient: true });
    await migrate({ file, existed, migrations, mayMigrate: options.migrate ?? true, read, transact, copy, now: () => clock.now(), logger });
    const soft = await whileBusy(() => openWal(file, "NORMAL", opened), { ...retry, patient: true });
    return running({ file, logger, main, soft, closing, truncateAboveBytes: options.truncateAboveBytes ?? 64 * megabyte });
  } catch (error) {
    for (const connection of opened) connection.driver.close();
    const mapped = storeError(error, file);
    if (mapped instanceof StoreError && mapped.code === "store.corrupt") keepDamaged(file, logger);
    throw mapped;
  }
}

interface Running {
  readonly file: string;
  readonly logger: Logger;
  readonly main: Connection;
  readonly soft: Connection;
  readonly closing: AbortController;
  readonly truncateAboveBytes: number;
}

function running({ file, logger, main, soft, closing, truncateAboveBytes }: Running): Database {
  const signal = closing.signal;
  const driver = createRequire(import.meta.url).resolve("better-sqlite3");
  const onLost = (): void => void main.driver.pragma("wal_autocheckpoint = 1000");
  const checkpointer = createCheckpointer({ file, driver, logger, truncateAboveBytes, onLost });
  let lastDataVersion = 0;
  let closed: Promise<void> | undefined;

  function open(): void {
    if (signal.aborted) throw new StoreError("store.busy", "The database is closing; nothing was written.");
  }

  function writesOf(connection: Connection): WriteQueue {
    return createWriteQueue({
      connection,
      file,
      signal,
      onCommit: () => checkpointer.committed(),
      onLongWait: () => logger.warn({ file }, "The database has been locked by another process for over a second; still waiting."),
    });
  }
  const writes = writesOf(main);
  const softWrites = writesOf(soft);

  return {
    file,
    async read(work) {
      open();
      return whileBusy(() => main.transact("BEGIN", work), { file, signal });
    },
    async write(work, options = {}) {
      open();
      return (options.soft === true ? softWrites : writes).add(work, options.patient === true);
    },
    dataVersion() {
      try {
        lastDataVersion = Number(main.driver.pragma("data_version", { simple: true }));
      } catch (error) {
        // Locked just now: the next look sees the change.
        if (!isBusy(error)) throw storeError(error, file);
      }
      return lastDataVersion;
    },
    schemaVersion() {
      return this.read(schemaVersionOf);
    },
    checkpoint: () => checkpointer.run(),
    copyTo: (path) => whileBusy(() => void main.prepare("vacuum into ?").run(path), { file, signal }),
    close() {
      closing.abort();
      writes.stop();
      softWrites.stop();
      closed ??= (async () => {
        await checkpointer.stop();
        soft.driver.close();
        main.driver.close();
      })();
      return closed;
    },
  };
}

/** Creates the file private. Never opens an existing one: closing it again would drop the locks this process holds on it. */
function makeFile(file: string): boolean {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  if (existsSync(file)) return statSync(file).size > 0;
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) {
      throw new StoreError("store.full", `Cannot create ${file}: the disk is full or not writable.`, { cause: error });
    }
  }
  return false;
}

/** One copy of a damaged file, however often the program is started. */
function keepDamaged(file: string, logger: Logger): void {
  const copy = `${file}.damaged`;
  if (existsSync(copy)) return;
  copyFileSync(file, copy);
  logger.error({ file, copy }, "The database is damaged; one copy was kept. Restore a backup.");
}
