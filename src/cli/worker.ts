/**
 * `mneme worker`: background jobs in a process of their own, taken from Redis. `--health` asks the ledger whether a worker
 * of this machine has been heard of lately, for a container's health check.
 */
import { hostname } from "node:os";
import { runGateway } from "../app/lifecycle.js";
import { createLogger } from "../app/logger.js";
import { createIds, systemClock } from "../app/runtime.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { inStores } from "./offline.js";

export interface WorkerOptions {
  readonly health?: boolean;
}

/** Workers say every 10 s that they live; three missed words are a failure. */
const heardWithinMs = 30_000;

export async function worker(context: CliContext, options: WorkerOptions): Promise<number> {
  return options.health === true ? health(context) : run(context);
}

async function run(context: CliContext): Promise<number> {
  const config = context.config();
  const logger = createLogger({ level: config.log.level, redactor: context.redactor(), destination: 1 });
  const [{ buildWorker }, { buildAdapters }] = await Promise.all([import("../app/worker.js"), import("../../adapters/registry.js")]);
  const clock = systemClock;
  const ids = createIds({ clock });
  const adapters = await buildAdapters(config, { clock, logger });
  const built = await buildWorker({ config, adapters, clock, ids, logger, name: `${hostname()}-${ids.next()}` });
  return runGateway({
    gateway: { start: () => built.start(), stop: () => built.stop(10_000) },
    logger,
    started: () => logger.info({ redis: true, data: config.data.dir }, "the worker is running"),
  });
}

async function health(context: CliContext): Promise<number> {
  const heard = await inStores(context, ({ jobs }) => jobs.workers(Date.now() - heardWithinMs));
  const mine = heard?.filter((entry) => entry.worker.startsWith(`${hostname()}-`)) ?? [];
  if (mine.length > 0) return exitCodes.ok;
  context.complain("No worker of this machine has been heard of in the last 30 seconds.");
  return exitCodes.failed;
}
