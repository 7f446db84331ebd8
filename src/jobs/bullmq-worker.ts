/**
 * Takes jobs from BullMQ and runs them through the ledger. BullMQ's own states are only a way to be called again: its lost locks, stalls
 * and repeats are harmless, since a job runs on a claim in the ledger alone.
 */
import type { Job, Worker } from "bullmq";
import { errorText } from "../domain/errors.js";
import type { RunJob } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { connectRedis, type RedisClients } from "./redis-client.js";
import { createRunningJobs } from "./running-jobs.js";

export interface BullmqWorkerDeps {
  readonly url: string;
  readonly prefix: string;
  readonly queueName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly run: RunJob;
  readonly concurrency: number;
  /** How long BullMQ holds a job for a silent worker, ms. */
  readonly lockMs: number;
  readonly watchMs: number;
  readonly onReady: (client: RedisClients["main"]) => void;
}

export interface BullmqWorker {
  close(graceMs: number): Promise<void>;
}

/** What BullMQ's own closing may take, ms; then its connections are cut. */
const closeMs = 1500;

interface Taker {
  readonly clients: RedisClients;
  readonly worker: Worker;
}

export async function startBullmqWorker(deps: BullmqWorkerDeps): Promise<BullmqWorker> {
  const { prefix, queueName, clock, logger } = deps;
  const bullmq = await import("bullmq");
  const running = createRunningJobs();
  let isClosing = false;
  let lastTaken = clock.now();
  let cancelWatch: () => void = () => undefined;
  let taker = await startTaker();

  async function startTaker(): Promise<Taker> {
    const clients = await connectRedis({ url: deps.url, logger, whenAway: "wait", onReady: () => deps.onReady(clients.main) });
    const worker = new bullmq.Worker(queueName, take, {
      connection: clients.main,
      prefix,
      concurrency: deps.concurrency,
      // Only the ledger counts attempts; a stall is no failure.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      lockDuration: deps.lockMs,
      stalledInterval: Math.max(500, Math.round(deps.lockMs / 2)),
      runRetryDelay: 1000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on("error", (error) => logger.debug({ error: error.message }, "The queue's worker met an error; the ledger keeps its jobs."));
    return { clients, worker };
  }

  async function take(job: Job<{ id: string }>, token?: string): Promise<void> {
    lastTaken = clock.now();
    const outcome = isClosing ? ({ state: "again", at: clock.now() } as const) : await running.start(job.data.id, deps.run);
    if (outcome.state !== "again") return;
    await job.moveToDelayed(Math.max(outcome.at, clock.now() + 1), token);
    throw new bullmq.DelayedError();
  }

  /** A worker that takes nothing although jobs wait and it has room is built again: a lost wake-up must not need an operator. */
  async function watch(): Promise<void> {
    const { clients, worker } = taker;
    if (isClosing || clients.main.status !== "ready" || running.size >= deps.concurrency) return;
    if (clock.now() - lastTaken < deps.watchMs || (worker.isRunning() && (await clients.main.llen(worker.toKey("wait"))) === 0)) return;
    if (isClosing || clock.now() - lastTaken < deps.watchMs) return;
    logger.warn({ queue: queueName }, "Jobs wait but none is taken; the queue's worker is built again.");
    lastTaken = clock.now();
    const old = taker;
    taker = await startTaker();
    await end(old, true);
  }

  function scheduleWatch(): void {
    cancelWatch = clock.after(deps.watchMs, () => {
      watch()
        .catch((error: unknown) => logger.warn({ error: errorText(error) }, "The queue's worker could not be looked after; tried again."))
        .finally(() => {
          if (!isClosing) scheduleWatch();
        });
    });
  }

  async function end({ clients, worker }: Taker, force: boolean): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    const closed = worker
      .close(force)
      .catch((error: unknown) => logger.debug({ error: errorText(error) }, "The queue's worker did not close cleanly."));
    await Promise.race([closed, timeout]);
    clearTimeout(timer);
    clients.disconnect();
  }

  scheduleWatch();
  return {
    async close(graceMs) {
      isClosing = true;
      cancelWatch();
      await taker.worker.pause(true);
      const left = await running.drain(graceMs);
      if (left > 0) logger.warn({ jobs: left }, "Jobs did not stop in time; they run again after their lease.");
      // Without a server BullMQ's orderly closing would wait for it.
      await end(taker, left > 0 || taker.clients.main.status !== "ready");
    },
  };
}
