/**
 * Starts, watches, restarts and stops the adapters, each on its own: one that fails is built up again with back-off
 * while the others go on. "Connected" is what the adapter's last proof of life says, not what a restart hoped for.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorText, GatewayError } from "../domain/errors.js";
import type { InboundEvent } from "../domain/message.js";
import type { AdapterHealth, AdapterIo, CommandMenuEntry, PlatformAdapter } from "../ports/platform-adapter.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Inbox } from "../ports/mailbox.js";

export interface SupervisorDeps {
  readonly adapters: readonly PlatformAdapter[];
  readonly inbox: Inbox;
  readonly receive: (events: readonly InboundEvent[]) => Promise<void>;
  readonly mount: (path: string, handler: (request: IncomingMessage, response: ServerResponse) => void) => Promise<() => void>;
  readonly menu: readonly CommandMenuEntry[];
  /** Whether the menu of this platform has to be registered (it changed), and that it now is. */
  readonly menuState: { changed(platform: string): Promise<boolean>; registered(platform: string): Promise<void> };
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PlatformState {
  readonly platform: string;
  readonly ok: boolean;
  readonly health: AdapterHealth;
  readonly lastEventAt: number | undefined;
  readonly restarts: number;
  readonly lastError: string | undefined;
}

interface Watched {
  readonly adapter: PlatformAdapter;
  state: "stopped" | "starting" | "running" | "waiting";
  failures: number;
  restarts: number;
  /** Numbers the starts, so that a late report of an earlier one is ignored. */
  generation: number;
  startedAt: number;
  lastEventAt: number | undefined;
  lastError: string | undefined;
  cancelRetry: (() => void) | undefined;
}

const firstRetryMs = 1_000;
const maxRetryMs = 60_000;
const watchEveryMs = 5_000;
/** How long a start may take before it counts as failed. */
const startLimitMs = 60_000;
const stopLimitMs = 6_000;

export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #watched: Watched[];
  #stopping = false;
  #cancelWatch: (() => void) | undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#watched = deps.adapters.map((adapter) => ({
      adapter,
      state: "stopped",
      failures: 0,
      restarts: 0,
      generation: 0,
      startedAt: 0,
      lastEventAt: undefined,
      lastError: undefined,
      cancelRetry: undefined,
    }));
  }

  /** Resolves when every adapter was tried once; one that failed is tried again in the background. */
  async start(): Promise<void> {
    this.#watch();
    await Promise.all(this.#watched.map((watched) => this.#start(watched)));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancelWatch?.();
    await Promise.all(
      this.#watched.map(async (watched) => {
        watched.cancelRetry?.();
        watched.generation += 1;
        await this.#stopAdapter(watched);
      }),
    );
  }

  states(): PlatformState[] {
    return this.#watched.map((watched) => {
      const health = watched.adapter.health();
      return {
        platform: watched.adapter.platform,
        ok: watched.state === "running" && health.state === "connected" && this.#alive(health),
        health,
        lastEventAt: watched.lastEventAt,
        restarts: watched.restarts,
        lastError: watched.lastError,
      };
    });
  }

  async #start(watched: Watched): Promise<void> {
    if (this.#stopping) return;
    const { adapter } = watched;
    watched.state = "starting";
    watched.generation += 1;
    const { generation } = watched;
    try {
      await withLimit(adapter.start(this.#io(watched, generation)), startLimitMs, this.#deps.clock);
      if (generation !== watched.generation) return;
      watched.state = "running";
      watched.startedAt = this.#deps.clock.now();
      watched.lastError = undefined;
      this.#deps.logger.info({ platform: adapter.platform }, "connected");
      void this.#registerMenu(adapter);
    } catch (error) {
      if (generation === watched.generation) await this.#failed(watched, error);
    }
  }

  #io(watched: Watched, generation: number): AdapterIo {
    const { inbox, receive, mount, clock } = this.#deps;
    const { platform } = watched.adapter;
    return {
      deliver: async (events) => {
        if (this.#stopping) throw new GatewayError("adapter.lost", "the gateway is stopping");
        await receive(events);
        watched.lastEventAt = clock.now();
      },
      lastSeen: (limit) => inbox.lastSeen(platform, limit),
      failed: (error) => {
        if (generation === watched.generation && !this.#stopping) void this.#failed(watched, error);
      },
      http: { mount },
    };
  }

  async #failed(watched: Watched, error: unknown): Promise<void> {
    if (watched.state === "waiting" || this.#stopping) return;
    const { clock, logger } = this.#deps;
    // A long healthy run starts the back-off anew.
    if (watched.startedAt > 0 && clock.now() - watched.startedAt > maxRetryMs) watched.failures = 0;
    watched.state = "waiting";
    watched.generation += 1;
    watched.failures += 1;
    watched.restarts += 1;
    watched.lastError = errorText(error);
    const wait = retryWait(watched.failures, error);
    logger.error({ platform: watched.adapter.platform, error: errorText(error), retryMs: wait }, "a platform is down; trying again");
    await this.#stopAdapter(watched);
    if (this.#stopping) return;
    watched.cancelRetry = clock.after(wait, () => void this.#start(watched));
  }

  async #stopAdapter(watched: Watched): Promise<void> {
    try {
      await withLimit(watched.adapter.stop(), stopLimitMs, this.#deps.clock);
    } catch (error) {
      this.#deps.logger.warn({ platform: watched.adapter.platform, error: errorText(error) }, "an adapter did not stop cleanly");
    }
  }

  #watch(): void {
    this.#cancelWatch = this.#deps.clock.after(watchEveryMs, () => {
      for (const watched of this.#watched) {
        const health = watched.adapter.health();
        if (watched.state === "running" && !this.#alive(health)) {
          void this.#failed(watched, new GatewayError("adapter.lost", "the connection shows no sign of life"));
        }
      }
      if (!this.#stopping) this.#watch();
    });
  }

  #alive(health: AdapterHealth): boolean {
    return health.lastAliveAt === undefined || this.#deps.clock.now() - health.lastAliveAt <= health.aliveWithinMs;
  }

  async #registerMenu(adapter: PlatformAdapter): Promise<void> {
    try {
      if (!(await this.#deps.menuState.changed(adapter.platform))) return;
      await adapter.setCommands(this.#deps.menu);
      await this.#deps.menuState.registered(adapter.platform);
    } catch (error) {
      this.#deps.logger.warn(
        { platform: adapter.platform, error: errorText(error) },
        "the command menu was refused; commands still work when typed",
      );
    }
  }
}

function retryWait(failures: number, error: unknown): number {
  if (error instanceof GatewayError && error.retryAfterMs !== undefined) return error.retryAfterMs;
  return Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 10));
}

function withLimit<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new GatewayError("adapter.lost", `took longer than ${ms} ms`)));
    work.then(resolve, reject).finally(cancel);
  });
}
