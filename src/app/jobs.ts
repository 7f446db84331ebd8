/**
 * Background work as the process needs it: a gateway without Redis runs the jobs itself, one with Redis only offers
 * them, a worker only takes them. SQLite is the ledger in all three.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { createBullmqQueue } from "../jobs/bullmq-queue.js";
import { createEmbeddedQueue } from "../jobs/embedded-queue.js";
import { createRelay } from "../jobs/relay.js";
import { createJobRunner } from "../jobs/worker.js";
import type { JobHandlers, JobLedger, JobQueue } from "../ports/job-queue.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import type { Database } from "../storage/database.js";

export interface JobsDeps {
  readonly config: GatewayConfig;
  readonly db: Database;
  readonly ledger: JobLedger;
  readonly handlers: JobHandlers;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export interface Jobs {
  start(): Promise<void>;
  /** Intents were committed. Never throws, never waits. */
  wake(): void;
  /** Takes no more jobs; running ones get `graceMs`, the rest goes back. */
  stop(graceMs: number): Promise<void>;
  health(): ReturnType<JobQueue["health"]>;
}

const concurrency = 4;

/** For the gateway process. */
export function gatewayJobs(deps: JobsDeps): Jobs {
  const { config, db, ledger, clock, logger } = deps;
  const dataVersion = (): number => db.dataVersion();
  if (config.redis.url === undefined) {
    const queue = createEmbeddedQueue({ ledger, clock, logger, dataVersion });
    const runner = createJobRunner(deps);
    return {
      start: async () => {
        runner.start();
        await queue.work(runner.run, { concurrency });
      },
      wake: () => queue.wake(),
      stop: async (graceMs) => {
        await queue.close(graceMs);
        runner.stop();
      },
      health: () => queue.health(),
    };
  }
  const queue = createBullmqQueue({ url: config.redis.url, prefix: config.redis.prefix, clock, logger });
  const relay = createRelay({ ledger, queue, clock, logger, dataVersion });
  return {
    start: async () => relay.start(),
    wake: () => relay.wake(),
    stop: async () => {
      await relay.close();
      await queue.close(0);
    },
    health: () => queue.health(),
  };
}

/** For `mneme worker`. `name` is what it says in the ledger that it is. */
export function workerJobs(
  deps: JobsDeps & { readonly url: string; readonly name: string; readonly refusal: () => Promise<string | undefined> },
): Jobs {
  const { config, clock, logger } = deps;
  const queue = createBullmqQueue({ url: deps.url, prefix: config.redis.prefix, clock, logger });
  const runner = createJobRunner({ ...deps, worker: deps.name });
  return {
    start: async () => {
      runner.start();
      await queue.work(runner.run, { concurrency });
    },
    wake: () => undefined,
    stop: async (graceMs) => {
      await queue.close(graceMs);
      runner.stop();
    },
    health: () => queue.health(),
  };
}
