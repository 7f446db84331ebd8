/**
 * Updates by webhook under the gateway's own HTTP server. Telegram gets its 200 only after the event is stored; anything
 * without the secret token is refused before its body is read.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { AdapterError, errorText } from "../../src/domain/errors.js";
import type { AdapterHealth } from "../../src/ports/platform-adapter.js";
import { connectionError, isBadToken } from "./failures.js";
import { atMost, pause, readBatch, type Intake, type IntakeDeps } from "./intake.js";
import { allowedUpdates } from "./update.js";

/** Updates are a few kilobytes; anything larger is not Telegram's. */
const maxBodyBytes = 1024 * 1024;

export interface WebhookDeps extends IntakeDeps {
  readonly url: string | undefined;
  readonly secret: string | undefined;
}

export class Webhook implements Intake {
  readonly #deps: WebhookDeps;
  readonly #stopping = new AbortController();
  #unmount: (() => void) | undefined;
  #watch: Promise<void> | undefined;
  #state: AdapterHealth["state"] = "starting";
  #detail: string | undefined;
  #lastAliveAt: number | undefined;

  constructor(deps: WebhookDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const { io, url, secret } = this.#deps;
    if (url === undefined || secret === undefined) {
      throw new AdapterError("adapter.setup", "telegram.mode webhook needs telegram.webhookUrl and telegram.webhookSecret");
    }
    this.#unmount = await io.http.mount(new URL(url).pathname, (request, response) => {
      this.#take(request, response, secret).catch((error: unknown) => this.#refuse(response, error));
    });
    try {
      await this.#register(url, secret);
    } catch (error) {
      this.#unmount();
      throw error;
    }
    this.#stopping.signal.throwIfAborted();
    this.#alive();
    this.#watch = this.#watchRegistration(url, secret).catch((error: unknown) => {
      this.#state = "failed";
      this.#deps.logger.error({ error: errorText(error) }, "the webhook's watch broke");
    });
  }

  /** The registration stays: Telegram keeps what arrives meanwhile and delivers it after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unmount?.();
    if (this.#watch !== undefined) await atMost(this.#deps.clock, this.#deps.timings.confirmMs, this.#watch);
    this.#state = "stopped";
  }

  health(): AdapterHealth {
    return {
      state: this.#state,
      lastAliveAt: this.#lastAliveAt,
      aliveWithinMs: 3 * this.#deps.timings.webhookCheckMs,
      ...(this.#detail === undefined ? {} : { detail: this.#detail }),
    };
  }

  #alive(): void {
    this.#lastAliveAt = this.#deps.clock.now();
    this.#state = "connected";
    this.#detail = undefined;
  }

  async #register(url: string, secret: string): Promise<void> {
    const { api, timings } = this.#deps;
    await api.call(
      "setWebhook",
      { url, secret_token: secret, allowed_updates: [...allowedUpdates], drop_pending_updates: false },
      { timeoutMs: timings.requestMs, signal: this.#stopping.signal },
    );
  }

  /** A webhook is silent when it works and when it is gone; so its registration is asked for, and set again when somebody took it. */
  async #watchRegistration(url: string, secret: string): Promise<void> {
    const { api, clock, timings, logger, io } = this.#deps;
    for (;;) {
      await pause(clock, timings.webhookCheckMs, this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      try {
        const info = await api.call("getWebhookInfo", {}, { timeoutMs: timings.requestMs, signal: this.#stopping.signal });
        if (info.url !== url) {
          logger.warn({}, "another program took the webhook away; it is set again");
          await this.#register(url, secret);
        }
        this.#alive();
        if (info.last_error_message !== undefined && (info.pending_update_count ?? 0) > 0)
          this.#detail = `Telegram reports: ${info.last_error_message}`;
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        if (isBadToken(error)) {
          this.#state = "failed";
          return io.failed(connectionError(error));
        }
        this.#state = "reconnecting";
        this.#detail = connectionError(error).message;
        logger.warn({ error: errorText(error) }, "the webhook's registration could not be checked");
      }
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse, secret: string): Promise<void> {
    if (request.method !== "POST") return answer(response, 405);
    if (!sameSecret(request.headers["x-telegram-bot-api-secret-token"], secret)) return answer(response, 403);
    const body = await readJson(request);
    if (body === undefined) return answer(response, 400);
    const { io, self, clock } = this.#deps;
    const events = readBatch([body.value], self, clock.now());
    if (events.length > 0) await io.deliver(events);
    this.#alive();
    answer(response, 200);
  }

  /** Not stored, so Telegram must send it again. */
  #refuse(response: ServerResponse, error: unknown): void {
    this.#deps.logger.warn({ error: errorText(error) }, "an update was not stored; Telegram will send it again");
    if (!response.headersSent) answer(response, 503);
  }
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status).end();
}

function sameSecret(given: string | string[] | undefined, secret: string): boolean {
  if (typeof given !== "string") return false;
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The parsed body; undefined when it is too large or no JSON. */
async function readJson(request: IncomingMessage): Promise<{ readonly value: unknown } | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString()) };
  } catch {
    return undefined; // a SyntaxError is JSON's way of saying no: answered with 400
  }
}
