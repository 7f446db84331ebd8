/**
 * Offers open intents to a queue server: at commit, when they become due, when the server comes back, and all of them every 5 minutes.
 * Runs in the gateway process only, and nobody waits for it: a dead server delays nothing but the jobs themselves.
 */
import { errorText } from "../domain/errors.js";
import type { JobLedger, JobQueue, JobRow } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { pruneHourly } from "./housekeeping.js";
import { createPulse } from "./pulse.js";

export interface RelayDeps {
  readonly ledger: JobLedger;
  readonly queue: Pick<JobQueue, "offer" | "onConnect">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Changes when another process has written to the database (`Database.dataVersion`). */
  readonly dataVersion: () => number;
  /** How often everything open is offered again, ms. */
  readonly sweepMs?: number;
}

export interface Relay {
  start(): void;
  /** Offers new intents soon: to be called after a commit that wrote some. Never waits, never throws. */
  wake(): void;
  /** Ends it; the queue stays open. */
  close(): Promise<void>;
}

/** At most so many due jobs are at the server at once, the oldest: the rest follows as they end, and the server stays small. */
const windowSize = 1000;
const batchSize = 200;
/** The wait after an offer that failed, ms; a reconnect is quicker. */
const refusedMs = 5000;

export function createRelay({ ledger, queue, clock, logger, dataVersion, sweepMs = 300_000 }: RelayDeps): Relay {
  /** Job -> the due time it was offered for; a job that becomes due again is offered again. */
  let offered = new Map<string, number>();
  let sweepAt = 0;
  let isAway = false;
  const prune = pruneHourly({ ledger, clock, logger });
  const pulse = createPulse({
    clock,
    dataVersion,
    pass,
    onError: (error) => logger.error({ error: errorText(error) }, "The job relay could not read the ledger; it looks again soon."),
  });

  async function pass(): Promise<number | undefined> {
    await prune();
    const now = clock.now();
    if (now >= sweepAt) {
      offered.clear();
      sweepAt = now + sweepMs;
    }
    const due = await ledger.due(now, windowSize);
    const before = offered;
    // What is no longer due is forgotten, so the map never outgrows the window.
    offered = new Map(due.filter((row) => before.get(row.id) === row.runAt).map((row) => [row.id, row.runAt]));
    const fresh = due.filter((row) => !offered.has(row.id));
    if (!(await offerAll(fresh))) return clock.now() + refusedMs;
    const next = await ledger.nextDue();
    // What is due has been offered: only what becomes due later needs a timer.
    return next !== undefined && next > clock.now() ? Math.min(next, sweepAt) : sweepAt;
  }

  async function offerAll(jobs: readonly JobRow[]): Promise<boolean> {
    for (let start = 0; start < jobs.length; start += batchSize) {
      const batch = jobs.slice(start, start + batchSize);
      try {
        await queue.offer(batch);
      } catch (error) {
        if (!isAway)
          logger.warn({ error: errorText(error), waiting: jobs.length }, "Background jobs wait: the queue's server does not answer.");
        isAway = true;
        return false;
      }
      for (const row of batch) offered.set(row.id, row.runAt);
    }
    if (isAway && jobs.length > 0) {
      isAway = false;
      logger.info({}, "Background jobs are offered again.");
    }
    return true;
  }

  return {
    start() {
      queue.onConnect(() => {
        offered.clear();
        pulse.wake();
      });
      pulse.start();
    },
    wake: () => pulse.wake(),
    close: () => pulse.stop(),
  };
}
