/**
 * The queue without a server: the intents table itself. It holds nothing but which jobs run here; two processes on one file share the
 * work, since every claim goes through the ledger.
 */
import { errorText } from "../domain/errors.js";
import type { JobLedger, JobQueue, JobRow, RunJob } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { pruneHourly } from "./housekeeping.js";
import { createPulse } from "./pulse.js";
import { createRunningJobs } from "./running-jobs.js";

export interface EmbeddedQueueDeps {
  readonly ledger: JobLedger;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Changes when another process has written to the database (`Database.dataVersion`). */
  readonly dataVersion: () => number;
}

export interface EmbeddedQueue extends JobQueue {
  /** Looks for due jobs now: to be called after a commit that wrote intents. Never waits, never throws. */
  wake(): void;
}

/** Rows looked at in one pass beyond those that can start: some may be held back by a job of their scope. */
const spareRows = 50;

export function createEmbeddedQueue({ ledger, clock, logger, dataVersion }: EmbeddedQueueDeps): EmbeddedQueue {
  const running = createRunningJobs();
  /** Jobs whose claim was refused, and until when. */
  const heldBack = new Map<string, number>();
  const prune = pruneHourly({ ledger, clock, logger });
  let work: { readonly run: RunJob; readonly concurrency: number } | undefined;
  const pulse = createPulse({
    clock,
    dataVersion,
    pass,
    onError: (error) => logger.error({ error: errorText(error) }, "The embedded job queue could not read the ledger; it looks again soon."),
  });

  async function pass(): Promise<number | undefined> {
    await prune();
    if (work === undefined) return undefined;
    const now = clock.now();
    for (const [id, until] of heldBack) if (until <= now) heldBack.delete(id);
    const free = work.concurrency - running.size;
    if (free > 0) {
      const due = await ledger.due(now, free + running.size + heldBack.size + spareRows);
      for (const row of due.filter(({ id }) => !running.has(id) && !heldBack.has(id)).slice(0, free)) begin(row, work.run);
    }
    return ledger.nextDue();
  }

  function begin({ id }: JobRow, run: RunJob): void {
    void running
      .start(id, run)
      .then(
        (outcome) => {
          if (outcome.state === "again") heldBack.set(id, outcome.at);
          else heldBack.clear();
        },
        (error: unknown) => {
          logger.error({ job: id, error: errorText(error) }, "A job's run broke its promise not to reject.");
          heldBack.set(id, clock.now() + 60_000);
        },
      )
      .then(() => pulse.wake());
  }

  return {
    wake: () => pulse.wake(),
    async offer() {
      pulse.wake();
    },
    onConnect() {
      // There is no server that could come back.
    },
    async work(run, { concurrency }) {
      work = { run, concurrency };
      pulse.start();
    },
    async health() {
      const { open, active, failed } = await ledger.counts();
      return { ok: true, detail: `embedded queue: ${open} open, ${active} running, ${failed} failed` };
    },
    async close(graceMs) {
      await pulse.stop();
      const left = await running.drain(graceMs);
      if (left > 0) logger.warn({ jobs: left }, "Jobs did not stop in time; they run again after their lease.");
    },
  };
}
