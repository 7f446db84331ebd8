/**
 * `mneme worker`: takes jobs from Redis and speaks to people only through outbox rows, which the gateway sends. It opens
 * the database beside the gateway and takes nothing while the schema is not its own.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { GatewayConfig } from "../../config/schema.js";
import { ConfigError } from "../domain/errors.js";
import type { PlatformAdapter } from "../ports/platform-adapter.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import { openDatabase } from "../storage/database.js";
import { buildCore } from "./core.js";
import { workerJobs, type Jobs } from "./jobs.js";

export interface WorkerDeps {
  readonly config: GatewayConfig;
  /** Built, never started: a worker only renders for them. */
  readonly adapters: readonly PlatformAdapter[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Under which it says that it lives. */
  readonly name: string;
}

export interface Worker {
  start(): Promise<void>;
  stop(graceMs: number): Promise<void>;
  health: Jobs["health"];
}

export async function buildWorker(deps: WorkerDeps): Promise<Worker> {
  const { config, clock, ids, logger } = deps;
  const { url } = config.redis;
  if (url === undefined)
    throw new ConfigError(
      "config.invalid",
      "mneme worker needs Redis: set REDIS_URL (or redis.url). Without it `mneme start` does the jobs itself.",
    );
  const file = join(config.data.dir, "mneme.db");
  if (!existsSync(file)) {
    throw new ConfigError(
      "config.invalid",
      `There is no database in ${config.data.dir} yet. Start the gateway once, or give the worker the gateway's folder with --data.`,
    );
  }
  const db = await openDatabase({ file, logger, clock, migrate: false });
  const schema = await db.schemaVersion();
  const platforms = new Map(deps.adapters.map((adapter) => [adapter.platform, adapter]));
  const core = buildCore({
    config,
    db,
    clock,
    ids,
    logger,
    operators: [],
    render: (platform, markdown) => platforms.get(platform)?.render(markdown) ?? [],
  });
  const jobs = workerJobs({
    config,
    db,
    clock,
    ids,
    logger,
    url,
    name: deps.name,
    ledger: core.ledger,
    handlers: core.handlers,
    refusal: async () =>
      (await db.schemaVersion()) === schema ? undefined : "the database has another schema now; start this worker again",
  });
  return {
    // MCP servers are the gateway's: a review may use none of their tools.
    start: () => jobs.start(),
    stop: async (graceMs) => {
      await jobs.stop(graceMs);
      await core.features.stop();
      await db.close();
    },
    health: () => jobs.health(),
  };
}
