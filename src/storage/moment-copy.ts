/**
 * A copy of the database as of one moment, made while others go on writing. The write lock is held only while `atThatMoment` runs, so
 * that files which are written inside transactions belong to the same moment; the copy itself reads an old snapshot and disturbs nobody.
 */
import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import { GatewayError } from "../domain/errors.js";
import { whileBusy } from "./busy-retry.js";
import { Connection } from "./connection.js";
import { schemaVersionOf } from "./migrate.js";
import { migrations as allMigrations } from "./migrations.js";
import { storeError } from "./sqlite-errors.js";

/** Pages copied between two looks at the event loop: about 2 MB. */
const pagesAtOnce = 500;

/**
 * Copies `file` to `target` (which must not exist; mode 0600) and resolves with the schema version. `atThatMoment` must be synchronous and
 * short: nothing is written to the database while it runs. Rejects with StoreError.
 */
export async function copyMoment(deps: {
  readonly file: string;
  readonly target: string;
  readonly atThatMoment: () => void;
}): Promise<number> {
  const { file, target, atThatMoment } = deps;
  const signal = new AbortController().signal;
  closeSync(openSync(target, "wx", 0o600));
  const [lock, reader] = [new Connection(file), new Connection(file)];
  try {
    await whileBusy(() => void lock.prepare("begin immediate").run(), { file, signal, patient: true });
    try {
      reader.prepare("begin").run();
      reader.prepare("select count(*) from sqlite_schema").get();
      atThatMoment();
    } finally {
      lock.prepare("rollback").run();
    }
    const schema = schemaVersionOf(reader.tx(false));
    // The open transaction keeps the snapshot: without it the copy would begin anew at each write of another process.
    await reader.driver.backup(target, { progress: () => pagesAtOnce });
    chmodSync(target, 0o600);
    return schema;
  } catch (error) {
    throw storeError(error, file);
  } finally {
    reader.driver.close();
    lock.driver.close();
  }
}

const restored = "restored from a backup";

export interface Ended {
  /** Parts that will not be sent, answers that were being written, messages that were not handled. */
  readonly parts: number;
  readonly turns: number;
  readonly messages: number;
}

/**
 * Makes a restored file fit to run: what was on its way when the backup was made is ended, since it was very likely delivered or answered
 * afterwards. Rejects with `store.corrupt` when SQLite finds the file damaged, with `store.unsupported` when a newer program made it.
 */
export function endWhatWasUnderWay(file: string, now: number): Ended {
  const connection = new Connection(file);
  try {
    const schema = schemaVersionOf(connection.tx(false));
    if (schema > allMigrations.length) {
      throw new GatewayError(
        "store.unsupported",
        `The backup has schema ${schema}; this program knows ${allMigrations.length}. Use the newer program.`,
      );
    }
    const faults = connection
      .tx(false)
      .all<{ quick_check: string }>("pragma quick_check(5)")
      .filter(({ quick_check: found }) => found !== "ok");
    if (faults.length > 0)
      throw new GatewayError("store.corrupt", `The database in the backup is damaged: ${faults[0]?.quick_check ?? ""}`);
    const ended = connection.transact("BEGIN IMMEDIATE", (tx) => ({
      parts: tx.run("update outbox set state = 'expired', error = ? where state in ('waiting', 'sending')", [restored]).changes,
      turns: tx.run("update turns set state = 'failed', reason = ?, ended_at = ? where state = 'running'", [restored, now]).changes,
      messages: tx.run("update inbox set state = 'done', disposition = 'failed', reason = ? where state <> 'done'", [restored]).changes,
    }));
    connection.transact("BEGIN IMMEDIATE", (tx) => tx.run("update outbox set noted = 1 where state = 'unknown' and noted = 0"));
    connection.driver.pragma("wal_checkpoint(TRUNCATE)");
    return ended;
  } catch (error) {
    throw storeError(error, file);
  } finally {
    connection.driver.close();
  }
}

/**
 * Processes of `mneme worker` (HOST-ID; a gateway that does its jobs itself has a name without a hyphen) that have said since `since` that
 * they live. Looks only; a file of an older schema has none.
 */
export function workersSince(file: string, since: number): string[] {
  if (!existsSync(file)) return [];
  const connection = new Connection(file);
  try {
    const tx = connection.tx(false);
    if (tx.get("select 1 from sqlite_schema where name = 'job_workers'") === undefined) return [];
    return tx
      .all<{ worker: string }>("select worker from job_workers where at >= ? and worker like '%-%' order by worker", [since])
      .map(({ worker }) => worker);
  } catch (error) {
    throw storeError(error, file);
  } finally {
    connection.driver.close();
  }
}
