/**
 * The queue on Redis: offers with one connection that answers at once, works with others that wait. Nothing is kept at the server when a
 * job has ended, since the ledger remembers and its id must be free to be offered again.
 */
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { GatewayError, errorText } from "../domain/errors.js";
import type { JobQueue } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { startBullmqWorker, type BullmqWorker } from "./bullmq-worker.js";
import { answerMs, connectRedis, inspectRedis, type RedisClients } from "./redis-client.js";

export interface BullmqQueueDeps {
  /** `redis://…` or `rediss://…`; may hold a password, so it is never logged. */
  readonly url: string;
  /** Beginning of all keys; one per bot. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a job stays with a worker that went silent, ms; the lease in the ledger should be as long. */
  readonly lockMs?: number;
  /** How often to look whether the worker still takes jobs, ms. */
  readonly watchMs?: number;
}

const queueName = "jobs";
/** Events at the server that nobody reads. */
const keptEvents = 100;

interface Producer {
  readonly clients: RedisClients;
  queue?: Queue;
}

export function createBullmqQueue(deps: BullmqQueueDeps): JobQueue {
  const { url, prefix, clock, logger, lockMs = 30_000, watchMs = 15_000 } = deps;
  const listeners: (() => void)[] = [];
  let producer: Promise<Producer> | undefined;
  let worker: BullmqWorker | undefined;
  let isClosed = false;
  let hasInspected = false;

  function connect(): Promise<Producer> {
    producer ??= (async () => {
      const { Queue } = await import("bullmq");
      const onReady = (): void => {
        void warn(made.clients.main);
        // Made once the server answers: before that BullMQ would wait for it without end.
        made.queue ??= openQueue(Queue, made.clients.main);
        for (const listener of listeners) listener();
      };
      const made: Producer = { clients: await connectRedis({ url, logger, whenAway: "answer", onReady }) };
      return made;
    })();
    return producer;
  }

  /** Without BullMQ's version check: its question could fail between two connections, and a queue made then stays useless. */
  function openQueue(Constructor: typeof Queue, connection: Redis): Queue {
    const queue = new Constructor(queueName, { connection, prefix, skipVersionCheck: true, streams: { events: { maxLen: keptEvents } } });
    queue.on("error", (error) => logger.debug({ error: error.message }, "The queue met an error; its jobs are offered again."));
    return queue;
  }

  /** Once per process: what an operator should change at the server. */
  async function warn(client: Redis): Promise<void> {
    if (hasInspected) return;
    hasInspected = true;
    try {
      const { problems, version, evictionPolicy } = await inspectRedis(client);
      for (const problem of problems) logger.warn({ version, evictionPolicy }, problem);
    } catch (error) {
      hasInspected = false;
      logger.debug({ error: errorText(error) }, "Redis did not say what it is; asked again at the next connection.");
    }
  }

  function refuseClosed(): void {
    if (isClosed) throw new GatewayError("internal", "The job queue is closed.", { retryable: true });
  }

  return {
    async offer(jobs) {
      refuseClosed();
      if (jobs.length === 0) return;
      const { clients, queue } = await connect();
      if (queue === undefined || clients.main.status !== "ready") {
        throw new GatewayError("internal", "Redis does not answer; the jobs wait in the database.", {
          retryable: true,
          retryAfterMs: 5000,
        });
      }
      const now = clock.now();
      const added = queue.addBulk(
        jobs.map(({ id, kind, runAt }) => ({
          name: kind,
          data: { id },
          opts: { jobId: serverId(id), delay: Math.max(0, runAt - now), attempts: 1, removeOnComplete: true, removeOnFail: true },
        })),
      );
      try {
        await added;
      } catch (error) {
        throw new GatewayError("internal", "Redis did not take the jobs; they wait in the database.", { cause: error, retryable: true });
      }
    },
    onConnect(listener) {
      listeners.push(listener);
      connect().catch((error: unknown) => logger.error({ error: errorText(error) }, "The client library of Redis could not be loaded."));
    },
    async work(run, { concurrency }) {
      refuseClosed();
      if (worker !== undefined) throw new GatewayError("internal", "This queue works already.");
      worker = await startBullmqWorker({
        url,
        prefix,
        queueName,
        clock,
        logger,
        run,
        concurrency,
        lockMs,
        watchMs,
        onReady: (client) => void warn(client),
      });
    },
    async health() {
      try {
        refuseClosed();
        const { clients } = await connect();
        await untilReady(clients.main);
        const { version, problems } = await inspectRedis(clients.main);
        return { ok: true, detail: [`Redis ${version}`, ...problems].join("; ") };
      } catch (error) {
        return { ok: false, detail: `Redis does not answer (${errorText(error)})` };
      }
    },
    async close(graceMs) {
      isClosed = true;
      await worker?.close(graceMs);
      try {
        const made = await producer;
        made?.clients.disconnect();
        await made?.queue?.close();
      } catch (error) {
        logger.debug({ error: errorText(error) }, "The queue did not close cleanly.");
      }
    },
  };
}

/** Returns when the client is connected, has failed to, or after the usual waiting time: then the next command says what is wrong. */
async function untilReady(client: Redis): Promise<void> {
  if (client.status === "ready") return;
  let settle: () => void = () => undefined;
  const timer = setTimeout(() => settle(), answerMs);
  await new Promise<void>((resolve) => {
    settle = resolve;
    client.once("ready", resolve);
    client.once("error", settle);
  });
  clearTimeout(timer);
  client.off("ready", settle);
  client.off("error", settle);
}

/** BullMQ refuses ids with ":" and ids that are whole numbers. */
function serverId(id: string): string {
  return `job-${id.replaceAll(":", ".")}`;
}
