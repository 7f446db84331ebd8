/**
 * Brings a file's schema up to date: each step and its version row in one exclusive transaction, so that a failing step
 * leaves the version where it was and two starts at once are harmless.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { randomBytes } from "node:crypto";
import { StoreError } from "../domain/errors.js";
import type { Logger } from "../ports/runtime.js";
import type { Tx } from "./sql.js";

/** One step. Its version is its place in the list, from 1; a published step is never changed, moved or removed. */
export interface Migration {
  readonly name: string;
  up(tx: Tx): void;
}

export interface MigrateOptions {
  readonly file: string;
  /** Whether the file held data before: only then a backup is made. */
  readonly existed: boolean;
  readonly migrations: readonly Migration[];
  readonly mayMigrate: boolean;
  readonly read: <T>(work: (tx: Tx) => T) => Promise<T>;
  /** Runs `work` in one exclusive transaction. */
  readonly transact: <T>(work: (tx: Tx) => T) => Promise<T>;
  /** Writes a consistent copy of the database to a new path. */
  readonly copy: (path: string) => Promise<void>;
  readonly now: () => number;
  readonly logger: Logger;
}

const keptBackups = 3;
const staleTemporaryMs = 3_600_000;

/** The version of the schema in the file; 0 for an empty one. */
export function schemaVersionOf(tx: Tx): number {
  const known = tx.get("select 1 from sqlite_schema where type = 'table' and name = 'migrations'");
  if (known === undefined) return 0;
  return tx.get<{ version: number }>("select coalesce(max(version), 0) as version from migrations")?.version ?? 0;
}

/** Rejects with `store.unsupported` for a newer schema, a history that is not ours, or an older one that may not be migrated. */
export async function migrate(options: MigrateOptions): Promise<void> {
  const { file, migrations, transact, logger } = options;
  const start = await options.read((tx) => {
    checkHistory(tx, migrations, file);
    return schemaVersionOf(tx);
  });
  if (start === migrations.length) return;
  if (!options.mayMigrate) {
    const message = `The database ${file} has schema ${start}, this program needs ${migrations.length}: start the gateway of this version first.`;
    throw new StoreError("store.unsupported", message);
  }
  if (options.existed && start > 0) await backup(options, start);
  for (let version = start + 1; version <= migrations.length; version += 1) {
    const step = migrations[version - 1];
    if (step === undefined) break;
    const done = await transact((tx) => {
      checkHistory(tx, migrations, file);
      if (schemaVersionOf(tx) >= version) return false;
      tx.exec("create table if not exists migrations (version integer primary key, name text not null, at integer not null) strict");
      step.up(tx);
      tx.run("insert into migrations (version, name, at) values (?, ?, ?)", [version, step.name, options.now()]);
      return true;
    });
    if (done) logger.info({ version, name: step.name }, "The database schema was brought up to date.");
  }
}

function checkHistory(tx: Tx, migrations: readonly Migration[], file: string): void {
  if (schemaVersionOf(tx) === 0) return;
  for (const row of tx.all<{ version: number; name: string }>("select version, name from migrations order by version")) {
    const ours = migrations[row.version - 1];
    if (ours?.name === row.name) continue;
    const message = `The database ${file} has schema ${row.version} "${row.name}", which this program does not know: use the newer program, or restore a backup.`;
    throw new StoreError("store.unsupported", message);
  }
}

/** One backup for each version, the newest three of them; a start that is repeated makes no more. */
async function backup(options: MigrateOptions, version: number): Promise<void> {
  const { file, logger } = options;
  const target = backupPath(file, version);
  removeStale(file, options.now());
  if (existsSync(target)) return;
  const temporary = `${target}.${randomBytes(4).toString("hex")}.tmp`;
  await options.copy(temporary);
  renameSync(temporary, target);
  logger.info({ backup: target }, "The database was backed up before its schema changes.");
  for (let old = version - keptBackups; old > 0; old -= 1) rmSync(backupPath(file, old), { force: true });
}

function backupPath(file: string, version: number): string {
  return `${file}.schema-${version}.backup`;
}

/** A kill while copying leaves a temporary file; a running copy of another process is younger than this. */
function removeStale(file: string, now: number): void {
  const folder = dirname(file);
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`${basename(file)}.schema-`) || !name.endsWith(".tmp")) continue;
    const path = join(folder, name);
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (made !== undefined && now - made > staleTemporaryMs) rmSync(path, { force: true });
  }
}
