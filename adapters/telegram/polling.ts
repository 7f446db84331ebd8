/**
 * Our own getUpdates loop. A batch is delivered in one transaction and only then the offset moves, so what was not
 * stored comes again; a poll that outlives its time is cut and made anew on a fresh connection.
 */
import { AdapterError, errorText } from "../../src/domain/errors.js";
import type { AdapterHealth } from "../../src/ports/platform-adapter.js";
import { CallError } from "./api.js";
import { connectionError, isBadToken, refusalOf } from "./failures.js";
import { atMost, pause, readBatch, type Intake, type IntakeDeps } from "./intake.js";
import { allowedUpdates } from "./update.js";

export interface PollingDeps extends IntakeDeps {
  readonly pollTimeoutSeconds: number;
}

export class Polling implements Intake {
  readonly #deps: PollingDeps;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;
  #offset: number | undefined;
  #unconfirmed = false;
  #state: AdapterHealth["state"] = "starting";
  #detail: string | undefined;
  #lastAliveAt: number | undefined;

  constructor(deps: PollingDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const { api, timings, clock } = this.#deps;
    // Telegram refuses polls while a webhook is set; what waits there is kept and comes by polling.
    await api.call("deleteWebhook", { drop_pending_updates: false }, { timeoutMs: timings.requestMs, signal: this.#stopping.signal });
    this.#stopping.signal.throwIfAborted();
    this.#lastAliveAt = clock.now();
    this.#state = "connected";
    this.#loop = this.#run().catch((error: unknown) => {
      this.#state = "failed";
      this.#deps.logger.error({ error: errorText(error) }, "the polling loop broke");
    });
  }

  async stop(): Promise<void> {
    const { api, timings, clock, logger } = this.#deps;
    this.#stopping.abort();
    // A delivery that is under way may still end; its batch is then confirmed here and not sent again.
    if (this.#loop !== undefined) await atMost(clock, timings.confirmMs, this.#loop);
    if (this.#unconfirmed && this.#offset !== undefined) {
      await api
        .call("getUpdates", { offset: this.#offset, limit: 1, timeout: 0 }, { timeoutMs: timings.confirmMs })
        .catch((error: unknown) =>
          logger.info(
            { error: errorText(error) },
            "the last batch is unconfirmed and will come again; it is stored, so nothing is doubled",
          ),
        );
    }
    this.#state = "stopped";
  }

  health(): AdapterHealth {
    const { pollTimeoutSeconds, timings } = this.#deps;
    return {
      state: this.#state,
      lastAliveAt: this.#lastAliveAt,
      aliveWithinMs: 2 * (pollTimeoutSeconds * 1000 + timings.pollMarginMs) + timings.backoffMs,
      ...(this.#detail === undefined ? {} : { detail: this.#detail }),
    };
  }

  async #run(): Promise<void> {
    const { timings, clock, logger, io } = this.#deps;
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#poll();
        if (failures > 0) logger.info({ failures }, "polling works again");
        failures = 0;
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        if (isBadToken(error)) {
          this.#state = "failed";
          return io.failed(connectionError(error));
        }
        failures += 1;
        await this.#explain(error, failures);
        const wait = Math.min(timings.backoffMs * 2 ** (failures - 1), timings.backoffMaxMs);
        const hung = error instanceof CallError && error.progress.ended === "timeout";
        // A poll that was cut for its age is repeated at once; it has waited long enough.
        if (!hung || failures > 1) await pause(clock, refusalOf(error)?.retryAfterMs ?? wait, this.#stopping.signal);
      }
    }
  }

  async #poll(): Promise<void> {
    const { api, self, io, clock, timings, pollTimeoutSeconds } = this.#deps;
    const updates: readonly { readonly update_id?: unknown }[] = await api.call(
      "getUpdates",
      {
        timeout: pollTimeoutSeconds,
        limit: 100,
        allowed_updates: [...allowedUpdates],
        ...(this.#offset === undefined ? {} : { offset: this.#offset }),
      },
      { timeoutMs: pollTimeoutSeconds * 1000 + timings.pollMarginMs, signal: this.#stopping.signal },
    );
    this.#lastAliveAt = clock.now();
    this.#state = "connected";
    this.#detail = undefined;
    this.#unconfirmed = false;
    if (updates.length === 0) return;
    const last = Math.max(...updates.map((update) => (Number.isSafeInteger(update.update_id) ? Number(update.update_id) : -1)));
    if (last < 0) throw new AdapterError("adapter.lost", "Telegram sent updates without ids");
    const events = readBatch(updates, self, clock.now());
    if (events.length > 0) await io.deliver(events);
    this.#offset = last + 1;
    this.#unconfirmed = true;
  }

  /** Says why polling pauses: once when it begins, and in the health detail. */
  async #explain(error: unknown, failures: number): Promise<void> {
    this.#state = "reconnecting";
    this.#detail = connectionError(error).message;
    if (refusalOf(error)?.code === 409) this.#detail = await this.#conflict();
    if (failures === 1) this.#deps.logger.warn({ error: errorText(error), detail: this.#detail }, "a poll failed; trying again");
  }

  async #conflict(): Promise<string> {
    const { api, timings } = this.#deps;
    try {
      const info = await api.call("getWebhookInfo", {}, { timeoutMs: timings.requestMs, signal: this.#stopping.signal });
      if (info.url !== undefined && info.url !== "") return `another program has set a webhook for this bot: ${new URL(info.url).host}`;
      return "another program polls with the same bot token; stop it, or use another bot";
    } catch (error) {
      return `polling conflicts with another program (${errorText(error)})`;
    }
  }
}
