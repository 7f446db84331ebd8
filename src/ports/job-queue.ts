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
  readonly error?: string;
  readonly createdAt: number;
  readonly doneAt?: number;
}

/** A claimed job: whoever holds an older fence can write nothing any more. */
export interface ClaimedJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly spaceId: string;
  readonly sessionId: string;
  readonly payload: JobPayload<JobKind>;
  readonly attempts: number;
  readonly fence: number;
}

export interface Watermark {
  readonly kind: JobKind | "memory-review" | "skill-review";
  readonly sessionId: string;
  readonly upTo: number;
}

/** The ledger's side, in SQLite. Same promises as the other stores (ports/stores.ts). */
export interface JobLedger {
  /** Open intents that are due, and active ones whose lease has run out; oldest first. Reads only. */
  due(now: number, limit: number): Promise<JobRow[]>;
  /** When the next open intent becomes due. */
  nextDue(): Promise<number | undefined>;
  /**
   * Claims a job with a lease and a new fence. `busy`: another job of the same kind holds the same scope (its session; for reviews its
   * space), or this one is active elsewhere. `over`: done, failed or removed. Invalid payloads become `failed` and answer `over`.
   */
  claim(id: string, worker: string, leaseMs: number, now: number): Promise<ClaimedJob | "busy" | "over">;
  /** Prolongs the lease; false when the fence is outdated. */
  heartbeat(id: string, fence: number, leaseMs: number, now: number): Promise<boolean>;
  /** Closes the job and moves the watermarks (never backwards) in one transaction. Rejects with `turn.outdated` for an old fence. */
  finish(id: string, fence: number, watermarks: readonly Watermark[], now: number): Promise<void>;
  /** Open again at `runAt`, or failed for good without one. `counts` false: giving way is no failed attempt. */
  release(id: string, fence: number, outcome: { readonly runAt?: number; readonly error: string; readonly counts: boolean }): Promise<void>;
  watermark(kind: Watermark["kind"], sessionId: string): Promise<number>;
  list(filter: { readonly state?: JobRow["state"]; readonly limit: number }): Promise<JobRow[]>;
  /** A failed job is open again with its attempts at 0. False when there is none. */
  retry(id: string, now: number): Promise<boolean>;
  remove(id: string): Promise<boolean>;
  counts(): Promise<{ readonly open: number; readonly active: number; readonly failed: number; readonly oldestOpenAt: number | undefined }>;
  /** Removes done rows older than 7 days and failed ones older than 90. */
  prune(now: number): Promise<number>;
  /** Workers say that they live; `workers` lists those heard of since. Second connection, no fsync. */
  workerBeat(worker: string, now: number): Promise<void>;
  workers(since: number): Promise<{ readonly worker: string; readonly at: number }[]>;
}

/** How one run of a job ended. */
export type RunOutcome =
  /** Closed in the ledger, or nothing was left to do. */
  | { readonly state: "done" }
  /** To be offered again at this instant. */
  | { readonly state: "again"; readonly at: number }
  /** Failed for good; visible in the ledger. */
  | { readonly state: "failed"; readonly error: string };

export interface JobQueue {
  /** Offers jobs that are in the ledger. Offering one twice is harmless. Rejects with a retryable error when the queue's server is away; nothing is lost. */
  offer(jobs: readonly { readonly id: string; readonly kind: JobKind; readonly runAt: number }[]): Promise<void>;
  /** Begins to take jobs, at most `concurrency` at once. `run` must be idempotent and must not reject. */
  work(run: (id: string, signal: AbortSignal) => Promise<RunOutcome>, options: { readonly concurrency: number }): Promise<void>;
  /** Whether the queue's server answers, with a line for people. */
  health(): Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** Takes no more, lets running jobs end for `graceMs`, aborts the rest (they go back), closes every connection. */
  close(graceMs: number): Promise<void>;
}
