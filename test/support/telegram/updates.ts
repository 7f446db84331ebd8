/**
 * The bot's update queue: long polling with confirmation by offset, or a webhook with retries; never both. An update
 * stays until a later offset (or a 2xx of the webhook) confirms it, so a client that forgets gets it again.
 */
import { ApiError, bad, type TgUpdate } from "./model.js";

const kinds = [
  "message",
  "edited_message",
  "channel_post",
  "edited_channel_post",
  "inline_query",
  "chosen_inline_result",
  "callback_query",
  "shipping_query",
  "pre_checkout_query",
  "poll",
  "poll_answer",
  "my_chat_member",
  "chat_member",
  "chat_join_request",
  "message_reaction",
  "message_reaction_count",
  "chat_boost",
  "removed_chat_boost",
  "business_connection",
  "business_message",
  "edited_business_message",
  "deleted_business_messages",
  "purchased_paid_media",
];
const notByDefault = new Set(["chat_member", "message_reaction", "message_reaction_count"]);

interface Poll {
  readonly settle: (updates: TgUpdate[] | ApiError) => void;
  readonly limit: number;
}

export interface Webhook {
  readonly url: string;
  readonly secret: string | undefined;
  lastError: string | undefined;
  lastErrorAt: number | undefined;
}

export class UpdateQueue {
  readonly pending: TgUpdate[] = [];
  webhook: Webhook | undefined;
  /** Answers of the webhook, in order. */
  readonly deliveries: { status: number; updateId: number }[] = [];
  #allowed: ReadonlySet<string> = new Set(kinds.filter((kind) => !notByDefault.has(kind)));
  #nextId = 100_001;
  #poll: Poll | undefined;
  #delivering = false;
  #stopped = false;
  readonly #timers = new Set<NodeJS.Timeout>();

  get allowed(): ReadonlySet<string> {
    return this.#allowed;
  }

  /** True while a getUpdates call waits. */
  get polled(): boolean {
    return this.#poll !== undefined;
  }

  push(update: Omit<TgUpdate, "update_id">): TgUpdate | undefined {
    const kind = Object.keys(update).find((key) => kinds.includes(key));
    if (kind !== undefined && !this.#allowed.has(kind)) return undefined;
    const full: TgUpdate = { update_id: this.#nextId, ...update };
    this.#nextId += 1;
    this.pending.push(full);
    this.#wake();
    return full;
  }

  /** One getUpdates call. `onClose` hands out what to run when the client hangs up. */
  poll(params: Readonly<Record<string, unknown>>, onClose: (hangUp: () => void) => void): Promise<TgUpdate[]> {
    if (this.webhook !== undefined) {
      throw new ApiError(
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    }
    this.#poll?.settle(
      new ApiError(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"),
    );
    const limit = Math.min(Math.max(Number(params["limit"] ?? 100) || 100, 1), 100);
    const timeout = Math.min(Math.max(Number(params["timeout"] ?? 0) || 0, 0), 50);
    this.#allow(params["allowed_updates"]);
    this.#confirm(Number(params["offset"] ?? 0));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => poll.settle([]), timeout * 1000);
      const poll: Poll = {
        limit,
        settle: (result) => {
          clearTimeout(timer);
          this.#timers.delete(timer);
          if (this.#poll === poll) this.#poll = undefined;
          if (result instanceof ApiError) reject(result);
          else resolve(result);
        },
      };
      this.#timers.add(timer);
      this.#poll = poll;
      onClose(() => poll.settle([]));
      this.#wake();
    });
  }

  setWebhook(params: Readonly<Record<string, unknown>>, allowHttp: boolean): true {
    const url = String(params["url"] ?? "");
    if (url === "") return this.deleteWebhook(params);
    if (!url.startsWith("https://") && !(allowHttp && url.startsWith("http://127.0.0.1"))) {
      throw bad("bad webhook: An HTTPS URL must be provided for webhook");
    }
    const secret = params["secret_token"];
    if (secret !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(String(secret))) throw bad("secret token contains unallowed characters");
    this.#allow(params["allowed_updates"]);
    this.#poll?.settle(new ApiError(409, "Conflict: terminated by setWebhook request"));
    if (params["drop_pending_updates"] === true) this.pending.length = 0;
    this.webhook = { url, secret: secret === undefined ? undefined : String(secret), lastError: undefined, lastErrorAt: undefined };
    this.#wake();
    return true;
  }

  deleteWebhook(params: Readonly<Record<string, unknown>>): true {
    this.webhook = undefined;
    if (params["drop_pending_updates"] === true) this.pending.length = 0;
    return true;
  }

  webhookInfo(): object {
    const hook = this.webhook;
    return {
      url: hook?.url ?? "",
      has_custom_certificate: false,
      pending_update_count: this.pending.length,
      ...(hook?.lastError === undefined ? {} : { last_error_message: hook.lastError, last_error_date: hook.lastErrorAt }),
      allowed_updates: [...this.#allowed],
    };
  }

  stop(): void {
    this.#stopped = true;
    this.#poll?.settle([]);
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #allow(given: unknown): void {
    const list: unknown = typeof given === "string" ? JSON.parse(given) : given;
    if (!Array.isArray(list)) return;
    this.#allowed = list.length === 0 ? new Set(kinds.filter((kind) => !notByDefault.has(kind))) : new Set(list.map(String));
  }

  #confirm(offset: number): void {
    if (offset > 0) {
      while (this.pending[0] !== undefined && this.pending[0].update_id < offset) this.pending.shift();
    } else if (offset < 0) this.pending.splice(0, Math.max(this.pending.length + offset, 0));
  }

  #wake(): void {
    if (this.webhook !== undefined) void this.#deliver();
    else if (this.#poll !== undefined && this.pending.length > 0) this.#poll.settle(this.pending.slice(0, this.#poll.limit));
  }

  async #deliver(): Promise<void> {
    if (this.#delivering) return;
    this.#delivering = true;
    let wait = 50;
    while (!this.#stopped && this.webhook !== undefined && this.pending[0] !== undefined) {
      const hook = this.webhook;
      const update = this.pending[0];
      const status = await send(hook, update);
      this.deliveries.push({ status, updateId: update.update_id });
      if (status >= 200 && status < 300) {
        this.pending.shift();
        wait = 50;
        continue;
      }
      hook.lastError = status === 0 ? "Connection failed" : `Wrong response from the webhook: ${status}`;
      hook.lastErrorAt = Math.floor(Date.now() / 1000);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait);
        this.#timers.add(timer);
        timer.unref();
      });
      wait = Math.min(wait * 2, 1000);
    }
    this.#delivering = false;
  }
}

async function send(hook: Webhook, update: TgUpdate): Promise<number> {
  try {
    const answer = await fetch(hook.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(hook.secret === undefined ? {} : { "x-telegram-bot-api-secret-token": hook.secret }),
      },
      body: JSON.stringify(update),
      signal: AbortSignal.timeout(60_000),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}
