/**
 * The writes of one connection, in order of the calls. Writes that are asked for in the same moment share one commit, because the
 * disk takes longer for a commit than for all of them; each still succeeds or fails alone, inside a savepoint.
 */
import { setImmediate as nextRound, setTimeout as sleep } from "node:timers/promises";
import { GatewayError } from "../domain/errors.js";
import { patientFrom, waitBefore } from "./busy-retry.js";
import type { Connection } from "./connection.js";
import type { Tx } from "./sql.js";
import { busyError, isBusy, storeError } from "./sqlite-errors.js";

export interface WriteQueueOptions {
  readonly connection: Connection;
  readonly file: string;
  /** Ends all waiting: the database closes. */
  readonly signal: AbortSignal;
  readonly onCommit: () => void;
  /** Called once per lock when a patient write is past the usual number of tries. */
  readonly onLongWait: () => void;
}

export interface WriteQueue {
  /** Resolves after the commit. A patient write waits for a lock until the database closes. */
  add<T>(work: (tx: Tx) => T, patient: boolean): Promise<T>;
  /** Runs what was asked for already, once; what a lock keeps from running rejects with `store.busy`. */
  stop(): void;
}

interface Item {
  readonly work: (tx: Tx) => unknown;
  readonly patient: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  tries: number;
}

/** No more writes join a commit once it has run this long: the event loop has other work. */
const sharedMs = 8;

export function createWriteQueue({ connection, file, signal, onCommit, onLongWait }: WriteQueueOptions): WriteQueue {
  const { driver } = connection;
  const tx = connection.tx(true);
  const queue: Item[] = [];
  let draining = false;
  /** So many writes get a commit of their own, because one they shared was refused. */
  let alone = 0;

  function runOne(item: Item, isShared: boolean): () => void {
    if (isShared) connection.prepare("savepoint one_write").run();
    try {
      const value = item.work(tx);
      if (value instanceof Promise) throw new GatewayError("internal", "A transaction may not await.");
      if (isShared) connection.prepare("release one_write").run();
      return () => item.resolve(value);
    } catch (error) {
      // Without a transaction SQLite itself has given up all of it; busy concerns all of it.
      if (!isShared || !driver.inTransaction || isBusy(error)) throw error;
      connection.prepare("rollback to one_write").run();
      connection.prepare("release one_write").run();
      return () => item.reject(storeError(error, file));
    }
  }

  /** One commit. Throws only when the database is busy; then nothing has happened. */
  function runBatch(): void {
    const isShared = alone === 0 && queue.length > 1;
    const settle: (() => void)[] = [];
    try {
      connection.prepare("begin immediate").run();
      const until = performance.now() + sharedMs;
      for (const item of queue) {
        settle.push(runOne(item, isShared));
        if (!isShared || performance.now() > until) break;
      }
      connection.prepare("commit").run();
    } catch (error) {
      if (driver.inTransaction) connection.prepare("rollback").run();
      if (isBusy(error)) throw error;
      if (isShared) {
        alone = Math.min(queue.length, settle.length + 1);
        return;
      }
      alone = Math.max(0, alone - 1);
      queue.shift()?.reject(storeError(error, file));
      return;
    }
    alone = Math.max(0, alone - settle.length);
    queue.splice(0, settle.length);
    for (const tell of settle) tell();
    onCommit();
  }

  /** The shortest wait of those that still wait; the others are told. */
  function nextWait(error: unknown): number {
    const waits: number[] = [];
    for (const item of queue.splice(0)) {
      const wait = signal.aborted ? undefined : waitBefore(item.tries, item.patient, Math.random);
      if (wait === undefined) {
        item.reject(busyError(file, error));
        continue;
      }
      if (item.patient && item.tries === patientFrom) onLongWait();
      item.tries += 1;
      waits.push(wait);
      queue.push(item);
    }
    return Math.min(...waits, 1000);
  }

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      try {
        runBatch();
        await nextRound();
      } catch (error) {
        const wait = nextWait(error);
        // An ended wait is no failure: the next look sees that the database closes.
        if (queue.length > 0) await sleep(wait, undefined, { signal }).catch(() => undefined);
      }
    }
    draining = false;
  }

  return {
    add(work, patient) {
      return new Promise((resolve, reject) => {
        queue.push({ work, patient, resolve: resolve as (value: unknown) => void, reject, tries: 0 });
        if (draining) return;
        draining = true;
        // Not at once: what else this round of the event loop asks for joins the commit.
        void nextRound().then(drain);
      });
    },
    stop() {
      try {
        while (queue.length > 0) runBatch();
      } catch (error) {
        for (const item of queue.splice(0)) item.reject(busyError(file, error));
      }
    },
  };
}
