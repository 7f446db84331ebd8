/**
 * Background work. SQLite is the ledger: an intent is open until the transaction that stores its effect closes it. A queue only says
 * "now": at least once, in no order, and it may forget everything without anything being lost.
 */
import type { JobKind, JobPayload } from "../domain/job.js";

/** An intent as the ledger holds it. */
export interface JobRow {
  readonly id: string;
  readonly kind: JobKind;
  readonly spaceId: string;
  readonly sessionId: string;
  readonly payload: unknown;
  readonly state: "open" | "active" | "done" | "failed";
  readonly runAt: number;
  /** Counted when claimed, so a job that kills its worker counts too. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly fence: number;
  /** Why the last attempt did not finish; stays visible while the job is open again. */
  readonly error?: string;
  readonly createdAt: number;
  readonly doneAt?: number;
}

/** A claimed job: whoever holds an older fence can write nothing any more. */
export interface ClaimedJob<Kind extends JobKind = JobKind> {
  readonly id: string;
  readonly kind: Kind;
  readonly spaceId: string;
  readonly sessionId: string;
  readonly payload: JobPayload<Kind>;
  /** This attempt included. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly fence: number;
}

export interface Watermark {
  readonly kind: JobKind | "memory-review" | "skill-review";
  readonly sessionId: string;
  readonly upTo: number;
}

/** What a claim can answer when it gives no job. */
export type NotClaimed =
  /** Not before this instant: the job is not due, active elsewhere, or another job of the same kind holds its scope. */
  | { readonly notBefore: number }
  /** Failed for good by this call: payload that this program does not know, or no attempt left. */
  | { readonly failed: string }
  /** Done, failed or removed: nothing is left to do. */
  | "over";

/** The ledger's side, in SQLite. Same promises as the other stores (ports/stores.ts). */
export interface JobLedger {
  /**
   * Open intents that are due and whose scope no running job holds, and active ones whose lease has run out; oldest first. Reads only.
   */
  due(now: number, limit: number): Promise<JobRow[]>;
  /** When the next open intent becomes due or the next lease runs out; in the past when something is due. */
  nextDue(): Promise<number | undefined>;
  /**
   * Claims a job with a lease and a new fence. Its scope is its session, for reviews its space: of one kind only one job runs in a scope.
   * The payload of a claimed job is valid.
   */
  claim(id: string, worker: string, leaseMs: number, now: number): Promise<ClaimedJob | NotClaimed>;
  /** Prolongs the lease; false when the fence is outdated. */
  heartbeat(id: string, fence: number, leaseMs: number, now: number): Promise<boolean>;
  /**
   * Closes the job and moves the watermarks (never backwards) in one transaction. Rejects with `turn.outdated` for an old fence. May be
   * called again by the holder that closed it.
   */
  finish(id: string, fence: number, watermarks: readonly Watermark[], now: number): Promise<void>;
  /**
   * Open again at `runAt`, or failed for good without one. `counts` false: giving way is no failed attempt. Rejects with `turn.outdated`
   * for an old fence.
   */
  release(id: string, fence: number, outcome: { readonly runAt?: number; readonly error: string; readonly counts: boolean }): Promise<void>;
  /** The last message covered; 0 when nothing was. */
  watermark(kind: Watermark["kind"], sessionId: string): Promise<number>;
  byId(id: string): Promise<JobRow | undefined>;
  /** Newest first. */
  list(filter: { readonly state?: JobRow["state"]; readonly limit: number }): Promise<JobRow[]>;
  /** A failed job is open again with its attempts at 0. False when there is none. */
  retry(id: string, now: number): Promise<boolean>;
  /** Removes a job that no worker holds at `now`; false when there is none. */
  remove(id: string, now: number): Promise<boolean>;
  counts(): Promise<{ readonly open: number; readonly active: number; readonly failed: number; readonly oldestOpenAt: number | undefined }>;
  /** Removes done rows older than 7 days and failed ones older than 90. */
  prune(now: number): Promise<number>;
  /** Workers say that they live; `workers` lists those heard of since, newest first. Second connection, no fsync. */
  workerBeat(worker: string, now: number): Promise<void>;
  workers(since: number): Promise<{ readonly worker: string; readonly at: number }[]>;
}

export interface JobContext {
  /** Aborted when the lease is lost, the time is up or the process stops. */
  readonly signal: AbortSignal;
  /** Prolongs the lease now, for use before a long synchronous stretch. Rejects with `turn.outdated` when it is lost. */
  heartbeat(): Promise<void>;
}

/**
 * How a handler ended well: the watermarks that its effect moved (already moved in the effect's own transaction: moved again in vain), or
 * that it gave way and wants to be called again.
 */
export type JobResult = { readonly watermarks: readonly Watermark[] } | { readonly postponeMs: number; readonly reason: string };

/**
 * Does one job. It may be called again after any crash or error, so its effect must be idempotent, and it handles everything above the
 * stored watermark, not only what its payload names. It rejects to be tried again (GatewayError `job.postponed`: not counted;
 * `job.invalid`, `input.invalid`, `config.invalid`, `access.denied`: failed at once).
 */
export type JobHandler<Kind extends JobKind = JobKind> = (job: ClaimedJob<Kind>, context: JobContext) => Promise<JobResult>;

export type JobHandlers = { readonly [Kind in JobKind]: JobHandler<Kind> };

/** How one run of a job ended. */
export type RunOutcome =
  /** Closed in the ledger, or nothing was left to do. */
  | { readonly state: "done" }
  /** To be offered again at this instant. */
  | { readonly state: "again"; readonly at: number }
  /** Failed for good; visible in the ledger. */
  | { readonly state: "failed"; readonly error: string };

export type RunJob = (id: string, signal: AbortSignal) => Promise<RunOutcome>;

export interface JobQueue {
  /** Offers jobs that are in the ledger. Offering one twice is harmless. Rejects with a retryable error when the queue's server is away; nothing is lost. */
  offer(jobs: readonly { readonly id: string; readonly kind: JobKind; readonly runAt: number }[]): Promise<void>;
  /** Calls the listener whenever the queue's server has become reachable (also the first time): it may have forgotten everything. */
  onConnect(listener: () => void): void;
  /** Begins to take jobs, at most `concurrency` at once. `run` must be idempotent and must not reject. */
  work(run: RunJob, options: { readonly concurrency: number }): Promise<void>;
  /** Whether the queue's server answers, with a line for people. */
  health(): Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** Takes no more, lets running jobs end for `graceMs`, aborts the rest (they go back), closes every connection. */
  close(graceMs: number): Promise<void>;
}
