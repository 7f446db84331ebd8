/**
 * The running gateway: start order, upkeep, and an end that loses nothing. What the last process left is taken up
 * before the first new message is.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { errorText } from "../domain/errors.js";
import type { ActJoiner } from "../gateway/acts.js";
import type { Channels } from "../gateway/channels.js";
import type { Delivery } from "../gateway/delivery.js";
import type { Lanes } from "../gateway/lanes.js";
import type { Pipeline } from "../gateway/pipeline.js";
import { unfinishedTurns } from "../gateway/recovery.js";
import type { Supervisor } from "../gateway/supervisor.js";
import type { MediaFiles } from "../media/media-files.js";
import type { Models } from "./models.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Database } from "../storage/database.js";
import type { FolderLock } from "../storage/data-folder.js";
import type { Stores } from "../storage/stores.js";
import type { Accounts } from "./accounts.js";
import type { Features } from "./features.js";
import type { HttpServer } from "./http.js";
import type { Jobs } from "./jobs.js";
import type { Learning } from "./learning.js";
import type { Monitor } from "./monitor.js";
import type { People } from "./people.js";

export interface GatewayParts {
  readonly config: GatewayConfig;
  readonly db: Database;
  readonly lock: FolderLock;
  readonly stores: Stores;
  readonly supervisor: Supervisor;
  readonly channels: Channels;
  readonly pipeline: Pipeline;
  readonly lanes: Lanes;
  readonly joiner: ActJoiner;
  readonly delivery: Delivery;
  readonly http: HttpServer;
  readonly model: Pick<Models, "warm">;
  readonly media: Pick<MediaFiles, "sweep">;
  readonly features: Features;
  readonly people: Pick<People, "upkeep">;
  readonly accounts: Pick<Accounts, "start" | "stop">;
  readonly learning: Learning;
  readonly jobs: Jobs;
  readonly monitor: Monitor;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long running jobs may take to end before they are handed back. */
const jobGraceMs = 10_000;
const pruneEveryMs = 3_600_000;
const checkpointEveryMs = 60_000;
const flushEveryMs = 60_000;
/** How often rows written by other processes (command line, workers) are looked for. */
const watchEveryMs = 500;

export class Gateway {
  readonly parts: GatewayParts;
  readonly #cancels = new Map<string, () => void>();
  #stopping: Promise<void> | undefined;
  #dataVersion = 0;

  constructor(parts: GatewayParts) {
    this.parts = parts;
  }

  async start(): Promise<void> {
    const { delivery, lanes, stores, pipeline, supervisor, channels, clock, config, logger, db } = this.parts;
    if (config.access.mode === "open") {
      logger.warn({}, "ACCESS IS OPEN: everybody who finds this bot may use it and its model. Set access.mode to pairing to change that.");
    }
    await this.parts.monitor.start();
    await delivery.recover();
    await this.parts.features.start();
    await this.parts.jobs.start();
    for (const turn of await unfinishedTurns({ turns: stores.turns, sessions: stores.sessions, channels, clock })) lanes.resume(turn);
    this.parts.accounts.start();
    await pipeline.recover();
    delivery.wake();
    this.#dataVersion = db.dataVersion();
    this.#every("prune", pruneEveryMs, async () => {
      await stores.inbox.prune(clock.now());
      await stores.outbox.prune(clock.now());
      await this.parts.media.sweep(config.media.keepDays);
      await this.parts.people.upkeep();
    });
    this.#every("checkpoint", checkpointEveryMs, async () => void (await db.checkpoint()));
    this.#every("flush", flushEveryMs, () => this.parts.learning.flushIdle());
    this.#every("watch", watchEveryMs, async () => {
      const version = db.dataVersion();
      if (version === this.#dataVersion) return;
      this.#dataVersion = version;
      delivery.wake();
    });
    await supervisor.start();
    void this.parts.monitor.warm();
    this.parts.model
      .warm()
      .catch((error: unknown) => logger.warn({ error: errorText(error) }, "the model client could not be loaded ahead"));
  }

  /** Stops intake, lets turns end for `graceMs`, leaves the rest to the next start, closes everything. */
  stop(graceMs = 20_000): Promise<void> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    const { supervisor, pipeline, joiner, lanes, delivery, http, db, lock } = this.parts;
    for (const cancel of this.#cancels.values()) cancel();
    // No new turn begins; what comes in until the adapters are down is stored and waits for the next start.
    lanes.hold();
    this.parts.accounts.stop();
    const intake = supervisor.stop();
    const watched = this.parts.monitor.stop();
    // Beside the turns, so that both fit into the time a service manager gives; what turns commit meanwhile waits for the next start.
    const jobs = this.parts.jobs.stop(jobGraceMs);
    joiner.flushAll();
    pipeline.stop();
    await pipeline.idle();
    await lanes.drain(graceMs);
    await intake;
    await jobs;
    await this.parts.features.stop();
    await delivery.stop(2_000);
    await http.close();
    await watched;
    await db.close();
    lock.release();
  }

  #every(name: string, ms: number, task: () => Promise<void>): void {
    const { clock, logger } = this.parts;
    this.#cancels.set(
      name,
      clock.after(ms, () => {
        task()
          .catch((error: unknown) => logger.warn({ task: name, error: errorText(error) }, "upkeep failed; trying again later"))
          .finally(() => {
            if (this.#stopping === undefined) this.#every(name, ms, task);
          });
      }),
    );
  }
}
