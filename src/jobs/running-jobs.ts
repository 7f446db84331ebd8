/**
 * The jobs that run in this process, and how they end when it stops: first they may finish, then they are aborted, and only then left.
 */
import type { RunJob, RunOutcome } from "../ports/job-queue.js";

export interface RunningJobs {
  readonly size: number;
  has(id: string): boolean;
  /** Runs a job; the promise ends as `run` does. */
  start(id: string, run: RunJob): Promise<RunOutcome>;
  /** Waits `graceMs` for all, then aborts the rest and waits until they have gone back, at most `handBackMs`. Answers how many are left. */
  drain(graceMs: number): Promise<number>;
}

/** A handler that does not heed its signal is not waited for longer than this. */
const handBackMs = 3000;

export function createRunningJobs(): RunningJobs {
  const running = new Map<string, Promise<RunOutcome>>();
  const stopping = new AbortController();
  return {
    get size() {
      return running.size;
    },
    has: (id) => running.has(id),
    async start(id, run) {
      const job = run(id, stopping.signal);
      running.set(id, job);
      try {
        return await job;
      } finally {
        running.delete(id);
      }
    },
    async drain(graceMs) {
      await within(graceMs, running);
      stopping.abort();
      await within(handBackMs, running);
      return running.size;
    },
  };
}

/** Real time, and a timer that keeps the process alive: it may not exit while jobs go back. */
async function within(ms: number, running: ReadonlyMap<string, Promise<RunOutcome>>): Promise<void> {
  if (running.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  const ended = Promise.allSettled(running.values()).then(() => undefined);
  await Promise.race([ended, timeout]);
  clearTimeout(timer);
}
