/** The queue on a real Redis server under the shared suite, and what happens when that server dies, forgets or may evict. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createBullmqQueue } from "../../src/jobs/bullmq-queue.js";
import { createRelay, type Relay } from "../../src/jobs/relay.js";
import { createJobRunner } from "../../src/jobs/worker.js";
import type { JobHandler, JobQueue } from "../../src/ports/job-queue.js";
import { missingRedis, startRedis, type RedisServer } from "../support/redis-server.js";
import { collectingLogger, countedIds, systemClock } from "../support/runtime.js";
import { handlers, intent, leavesEffect, openJobWorld, pause, type JobWorld } from "../support/jobs/world.js";
import { startWorkerProcess } from "../support/jobs/worker-process.js";
import { removeHome, tempHome, type TempHome } from "../support/temp-home.js";
import { jobQueueContract } from "./job-queue.contract.js";

const missing = missingRedis();
const leaseMs = 800;
let prefixes = 0;

describe.skipIf(missing !== undefined)(`with Redis${missing === undefined ? "" : ` (${missing})`}`, () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.remove());

  jobQueueContract({
    name: "BullMQ",
    async begin(world) {
      const prefix = `t${(prefixes += 1)}`;
      const queues: JobQueue[] = [];
      const open = (lockMs?: number): JobQueue => {
        const deps = { url: redis.url, prefix, clock: systemClock, logger: world.log };
        const queue = createBullmqQueue({ ...deps, ...(lockMs === undefined ? {} : { lockMs }) });
        queues.push(queue);
        return queue;
      };
      const relay = createRelay(relayDeps(world, open()));
      relay.start();
      return {
        open: ({ lockMs }) => open(lockMs),
        wake: () => relay.wake(),
        redis: { url: redis.url, prefix },
        async serverKeys() {
          const keys = (await redis.command("KEYS", `${prefix}:*`)) as string[];
          return keys.length;
        },
        async close() {
          await relay.close();
          await Promise.all(queues.map((queue) => queue.close(0)));
        },
      };
    },
  });
});

function relayDeps(world: JobWorld, queue: JobQueue) {
  return { ledger: world.ledger, queue, clock: systemClock, logger: world.log, dataVersion: () => world.db.dataVersion() };
}

describe.skipIf(missing !== undefined)(`when Redis dies or forgets${missing === undefined ? "" : ` (${missing})`}`, () => {
  let redis: RedisServer;
  let home: TempHome;
  let world: JobWorld;
  let dispatch: JobQueue;
  let relay: Relay;
  const opened: JobQueue[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    home = tempHome({ keep: true });
    world = await openJobWorld(home.path("mneme.db"));
  });

  afterEach(async () => {
    await relay.close();
    await Promise.all(opened.splice(0).map((queue) => queue.close(0)));
    await world.close();
    await redis.remove();
    removeHome(home);
  });

  function open(watchMs = 15_000): JobQueue {
    const queue = createBullmqQueue({ url: redis.url, prefix: "mneme", clock: systemClock, logger: world.log, lockMs: leaseMs, watchMs });
    opened.push(queue);
    return queue;
  }

  function startRelay(sweepMs = 300_000): void {
    dispatch = open();
    relay = createRelay({ ...relayDeps(world, dispatch), sweepMs });
    relay.start();
  }

  async function work(handler: JobHandler, queue: JobQueue = open()): Promise<JobQueue> {
    const deps = { ledger: world.ledger, clock: systemClock, logger: world.log, ids: countedIds("w"), leaseMs };
    const runner = createJobRunner({ ...deps, handlers: handlers(handler), retryDelay: () => 50 });
    await queue.work(runner.run, { concurrency: 2 });
    return queue;
  }

  const allDone = (count: number) => (rows: readonly { state: string }[]) =>
    rows.length === count && rows.every(({ state }) => state === "done");

  it("does not delay the gateway by a dead Redis, and runs the jobs when it comes", async () => {
    await redis.stop();
    const begin = performance.now();
    startRelay();
    await world.add(intent("a"), intent("b"));
    relay.wake();
    await work(leavesEffect(world.db, "here", 5));
    expect(performance.now() - begin).toBeLessThan(1500);
    await expect(dispatch.offer([{ id: "a", kind: "stretch", runAt: 0 }])).rejects.toMatchObject({ retryable: true });
    expect((await dispatch.health()).ok).toBe(false);

    await redis.start();

    await world.until("both done", allDone(2));
    expect(await world.effects()).toHaveLength(2);
  });

  it("JQ-02: takes jobs again after Redis was restarted while the worker was idle", async () => {
    startRelay();
    await work(leavesEffect(world.db, "here", 5));
    await world.add(intent("before"));
    relay.wake();
    await world.until("the first one done", allDone(1));

    await redis.stop();
    await world.add(intent("during"));
    relay.wake();
    await pause(200);
    await redis.start();
    const back = Date.now();
    await world.add(intent("after"));
    relay.wake();

    await world.until("all done", allDone(3));
    expect(Date.now() - back).toBeLessThan(10_000);
    expect(await world.effects()).toHaveLength(3);
  });

  it("JQ-02: loses nothing and repeats no effect when Redis is restarted in the middle of a job", async () => {
    startRelay();
    await work(leavesEffect(world.db, "here", 700));
    await world.add(...Array.from({ length: 4 }, (_, n) => intent(`busy${n}`)));
    relay.wake();
    await world.until("two running", (rows) => rows.filter(({ state }) => state === "active").length === 2);

    await redis.stop();
    await pause(1000);
    await redis.start();

    await world.until("all done", allDone(4));
    expect((await world.effects()).map(({ job }) => job).sort()).toEqual(["busy0", "busy1", "busy2", "busy3"]);
  });

  it("JQ-02: builds a worker again that takes nothing although jobs wait", async () => {
    startRelay();
    await work(leavesEffect(world.db, "here", 5), open(300));
    await world.add(intent("first"));
    relay.wake();
    await world.until("the first one done", allDone(1));
    await relay.close();
    await world.add(intent("unseen"));

    // A job in the list without the mark that wakes a worker.
    await redis.command("HSET", "mneme:jobs:job-unseen", "name", "stretch", "data", '{"id":"unseen"}', "opts", "{}", "timestamp", "1");
    await redis.command("LPUSH", "mneme:jobs:wait", "job-unseen");

    await world.until("both done", allDone(2), 3000);
    expect(world.log.lines.some(({ message }) => message.includes("built again"))).toBe(true);
    expect(await world.effects()).toHaveLength(2);
  });

  it("runs what a Redis that forgot everything held, once it is offered again", async () => {
    startRelay(500);
    await dispatchReady();
    await world.add(...Array.from({ length: 20 }, (_, n) => intent(`f${n}`)));
    relay.wake();
    await untilKeys((keys) => keys > 20);

    await redis.command("FLUSHALL");
    await work(leavesEffect(world.db, "here", 1));

    await world.until("all done", allDone(20));
    expect(await world.effects()).toHaveLength(20);
  });

  it("JQ-08: a worker process ends within 5 s of SIGTERM although Redis is dead", async () => {
    startRelay();
    const order = {
      file: world.file,
      redis: { url: redis.url, prefix: "mneme" },
      leaseMs,
      concurrency: 1,
      graceMs: 300,
      does: "work",
      ms: 5,
    } as const;
    const idle = await startWorkerProcess(order);
    await redis.stop();
    await pause(300);

    const { ms, code } = await idle.stop();

    expect(code).toBe(0);
    expect(ms).toBeLessThan(5000);
  });

  it("JQ-08: a worker process that never reached Redis ends within 5 s of SIGTERM", async () => {
    startRelay();
    await redis.stop();
    const order = {
      file: world.file,
      redis: { url: redis.url, prefix: "mneme" },
      leaseMs,
      concurrency: 1,
      graceMs: 300,
      does: "work",
      ms: 5,
    } as const;
    const lost = await startWorkerProcess(order);

    const { ms, code } = await lost.stop();

    expect(lost.lines).toContain("closed");
    expect(code).toBe(0);
    expect(ms).toBeLessThan(5000);
  });

  it("JQ-04: warns when Redis may evict waiting jobs", async () => {
    await redis.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    startRelay();

    const health = await dispatch.health();

    expect(health.detail).toContain("noeviction");
    await expect
      .poll(() => world.log.lines.some(({ level, message }) => level === "warn" && message.includes("maxmemory-policy is allkeys-lru")))
      .toBe(true);
  });

  it("never writes the password of the address to the log", async () => {
    const logger = collectingLogger();
    const url = redis.url.replace("//", "//user:topsecret@");
    const queue = createBullmqQueue({ url, prefix: "mneme", clock: systemClock, logger });
    onTestFinished(() => queue.close(0));
    startRelay();

    const health = await queue.health();

    expect(health.ok).toBe(false);
    expect(JSON.stringify([logger.lines, health])).not.toContain("topsecret");
  });

  async function dispatchReady(): Promise<void> {
    await expect.poll(async () => (await dispatch.health()).ok).toBe(true);
  }

  async function untilKeys(condition: (keys: number) => boolean): Promise<void> {
    await expect.poll(async () => condition(Number(await redis.command("DBSIZE"))), { timeout: 5000 }).toBe(true);
  }
});
