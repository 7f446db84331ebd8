/**
 * A worker as a process of its own, for the tests that kill or stop one. Prints a line for each step; ends on SIGTERM as a worker does.
 * Argument: WorkerOrder as JSON.
 */
import { createRequire } from "node:module";
import { createBullmqQueue } from "../../../src/jobs/bullmq-queue.js";
import { createEmbeddedQueue } from "../../../src/jobs/embedded-queue.js";
import { createJobRunner } from "../../../src/jobs/worker.js";
import { collectingLogger, countedIds, systemClock } from "../runtime.js";
import { handlers, leavesEffect, openJobWorld, storeEffect } from "./world.js";
import type { WorkerOrder } from "./worker-process.js";

const order = JSON.parse(process.argv[2] ?? "{}") as WorkerOrder;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const world = await openJobWorld(order.file);
const logger = collectingLogger();
const runner = createJobRunner({
  ledger: world.ledger,
  handlers: handlers(async (job, context) => {
    say(`began ${job.id}`);
    if (order.does === "block") {
      const began = Date.now();
      while (Date.now() - began < order.ms) continue;
      await storeEffect(world.db, job, "child", began);
      return { watermarks: [] };
    }
    return leavesEffect(world.db, "child", order.ms)(job, context);
  }),
  clock: systemClock,
  logger,
  ids: countedIds("child"),
  leaseMs: order.leaseMs,
});
const queue =
  order.redis === undefined
    ? createEmbeddedQueue({ ledger: world.ledger, clock: systemClock, logger, dataVersion: () => world.db.dataVersion() })
    : createBullmqQueue({ ...order.redis, clock: systemClock, logger, lockMs: order.leaseMs });
// Something must keep an embedded worker alive, as the platforms' connections do in the gateway.
const alive = setInterval(() => undefined, 1000);
process.once("SIGTERM", () => {
  void (async () => {
    await queue.close(order.graceMs);
    runner.stop();
    await world.close();
    clearInterval(alive);
    say("closed");
  })();
});
runner.start();
await queue.work(runner.run, { concurrency: order.concurrency });
const bullmqIsLoaded = Object.keys(createRequire(import.meta.url).cache).some((path) => path.includes("bullmq"));
say(`ready${bullmqIsLoaded ? " with bullmq" : ""}`);
