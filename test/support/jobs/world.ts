/**
 * A database with a job ledger, ways to write intents into it, and a table in which jobs leave their effect: one row per effect, so a
 * second one would be seen.
 */
import { jobKinds, type JobKind, type NewIntent } from "../../../src/domain/job.js";
import type { JobHandler, JobHandlers, JobLedger, JobRow } from "../../../src/ports/job-queue.js";
import { openDatabase, type Database } from "../../../src/storage/database.js";
import { insertIntents } from "../../../src/storage/intents.js";
import { closeJob, createJobLedger } from "../../../src/storage/job-ledger.js";
import { collectingLogger, systemClock, type CollectedLog } from "../runtime.js";

export interface Effect {
  readonly job: string;
  readonly kind: string;
  readonly session: string;
  readonly space: string;
  readonly worker: string;
  readonly began: number;
  readonly ended: number;
}

export interface JobWorld {
  readonly db: Database;
  readonly file: string;
  readonly ledger: JobLedger;
  readonly log: CollectedLog;
  add(...intents: readonly NewIntent[]): Promise<void>;
  effects(): Promise<Effect[]>;
  /** Resolves when the condition holds for the ledger's rows; rejects with what they are after `ms`. */
  until(what: string, condition: (rows: readonly JobRow[]) => boolean | Promise<boolean>, ms?: number): Promise<void>;
  close(): Promise<void>;
}

export async function openJobWorld(file: string): Promise<JobWorld> {
  const log = collectingLogger();
  const db = await openDatabase({ file, logger: log, clock: systemClock });
  await db.write((tx) =>
    tx.exec(
      "create table if not exists effects (job text, kind text, session text, space text, worker text, began integer, ended integer) strict",
    ),
  );
  const ledger = createJobLedger({ db });
  return {
    db,
    file,
    ledger,
    log,
    add: (...intents) => db.write((tx) => insertIntents(tx, intents, Date.now())),
    effects: () => db.read((tx) => tx.all<Effect>("select * from effects order by began")),
    async until(what, condition, ms = 15_000) {
      const deadline = Date.now() + ms;
      for (;;) {
        const rows = await ledger.list({ limit: 5000 });
        if (await condition(rows)) return;
        if (Date.now() > deadline) {
          const shown = rows.slice(0, 10).map(({ id, state, attempts, error }) => ({ id, state, attempts, error }));
          throw new Error(`Not within ${ms} ms: ${what}. ${JSON.stringify(shown)} ${JSON.stringify(log.lines.slice(-5))}`);
        }
        await pause(20);
      }
    },
    close: () => db.close(),
  };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** An intent of a kind that is exclusive in its session; `more` changes it. */
export function intent(id: string, more: Partial<Omit<NewIntent, "id" | "payload">> & { readonly upTo?: number } = {}): NewIntent {
  const { kind = "stretch", sessionId = `session-${id}`, spaceId = `space-${sessionId}`, runAt = 0, upTo = 1 } = more;
  const covering = { v: 1 as const, sessionId, spaceId, upTo };
  const payload = kind === "review" ? { ...covering, memory: true, skills: false, flush: false } : covering;
  return { id, kind, spaceId, sessionId, runAt, payload };
}

/** The same handler for every kind. */
export function handlers(handler: JobHandler): JobHandlers {
  return Object.fromEntries(Object.keys(jobKinds).map((kind) => [kind, handler])) as { [Kind in JobKind]: JobHandler<Kind> };
}

/** A handler that works for `ms` and leaves its effect in the transaction that closes the job. */
export function leavesEffect(db: Database, worker: string, ms: number): JobHandler {
  return async (job, { signal }) => {
    const began = Date.now();
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      });
    });
    await storeEffect(db, job, worker, began);
    return { watermarks: [] };
  };
}

export async function storeEffect(db: Database, job: Parameters<JobHandler>[0], worker: string, began: number): Promise<void> {
  await db.write((tx) => {
    const now = Date.now();
    closeJob(tx, job, [{ kind: job.kind, sessionId: job.sessionId, upTo: job.payload.upTo }], now);
    tx.run("insert into effects values (?, ?, ?, ?, ?, ?, ?)", [job.id, job.kind, job.sessionId, job.spaceId, worker, began, now]);
  });
}
