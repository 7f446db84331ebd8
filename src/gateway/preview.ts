/**
 * The growing answer: best-effort edits of one message while the model streams. It never owns the final text: at the
 * end its message is handed to delivery, which edits it into the first part. One call is in flight at a time.
 */
import { GatewayError, errorText } from "../domain/errors.js";
import type { ChatKind, RenderedPart, Route, SentRef } from "../domain/message.js";
import { isGroup } from "../domain/identity.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { PreviewRecord } from "../ports/stores.js";
import type { Channel } from "./channels.js";

export interface PreviewDeps {
  readonly channel: Channel;
  readonly route: Route;
  readonly chatKind: ChatKind;
  readonly deliveryId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Stores the record in the turn's row; rejects when the turn lost its claim. */
  readonly record: (record: PreviewRecord) => Promise<void>;
  /** A preview left by an earlier attempt of this turn. */
  readonly existing?: PreviewRecord;
}

/** Shown at the end of unfinished text. */
const cursor = " ▍";
const growth = 1.3;
/** How long the end of a turn waits for a running edit before it goes on. A first send is always waited for. */
const editGraceMs = 2_000;

export class Preview {
  readonly #deps: PreviewDeps;
  readonly #abort = new AbortController();
  #ref: SentRef | undefined;
  #text = "";
  #lastSent = "";
  #interval: number;
  #notBefore: number;
  #cancelTimer: (() => void) | undefined;
  #inFlight: Promise<void> | undefined;
  #sending = false;
  #closed = false;

  constructor(deps: PreviewDeps) {
    this.#deps = deps;
    const { previewMs, edits } = deps.channel.adapter.capabilities;
    this.#interval = isGroup(deps.chatKind) ? previewMs.group : previewMs.dm;
    this.#notBefore = deps.clock.now() + this.#interval;
    if (deps.existing?.state === "shown") this.#ref = deps.existing.ref;
    // A first send whose end nobody knows cannot be edited: showing another one would double it.
    if (!edits || deps.existing?.state === "sending") this.#closed = true;
  }

  /** True once something was shown, or may have been. */
  get shown(): boolean {
    return this.#ref !== undefined || this.#sending;
  }

  get text(): string {
    return this.#text;
  }

  /** The whole visible text so far. */
  show(text: string): void {
    this.#text = text;
    this.#schedule();
  }

  /** Forgets text that was not shown yet: the answer begins anew. */
  reset(): void {
    this.#text = "";
  }

  /** Ends previews and waits for what is in flight. Returns the message to take over, if one is there. */
  async settle(): Promise<SentRef | undefined> {
    this.#closed = true;
    this.#cancelTimer?.();
    if (this.#inFlight !== undefined) {
      let cancel: (() => void) | undefined;
      if (!this.#sending) cancel = this.#deps.clock.after(editGraceMs, () => this.#abort.abort());
      await this.#inFlight;
      cancel?.();
    }
    return this.#ref;
  }

  #schedule(): void {
    if (this.#closed || this.#inFlight !== undefined || this.#cancelTimer !== undefined) return;
    const wait = Math.max(0, this.#notBefore - this.#deps.clock.now());
    this.#cancelTimer = this.#deps.clock.after(wait, () => {
      this.#cancelTimer = undefined;
      this.#inFlight = this.#step().finally(() => {
        this.#inFlight = undefined;
        if (!this.#closed && this.#text.trim() !== "" && this.#text !== this.#lastSent) this.#schedule();
      });
    });
  }

  async #step(): Promise<void> {
    const { adapter, pacing } = this.#deps.channel;
    const text = this.#text;
    if (text.trim() === "") return;
    this.#notBefore = this.#deps.clock.now() + this.#interval;
    const part = firstPart(adapter.render(text + cursor));
    if (this.#closed || part === undefined || text === this.#lastSent) return;
    const wait = pacing.take(this.#deps.route.chatId, this.#deps.chatKind, "preview");
    if (wait > 0) {
      this.#notBefore = this.#deps.clock.now() + wait;
      return;
    }
    this.#interval = Math.min(adapter.capabilities.previewMs.max, this.#interval * growth);
    try {
      if (this.#ref === undefined) await this.#first(part);
      else await adapter.edit(this.#ref, { kind: "part", part, silent: true }, this.#abort.signal);
      this.#lastSent = text;
    } catch (error) {
      this.#failed(error);
    }
  }

  async #first(part: RenderedPart): Promise<void> {
    const { channel, route, deliveryId } = this.#deps;
    this.#sending = true;
    try {
      await this.#deps.record({ state: "sending" });
      const ref = await channel.adapter.send(route, { kind: "part", part, silent: true }, { deliveryId, signal: this.#abort.signal });
      this.#ref = ref;
      await this.#deps.record({ state: "shown", ref });
    } finally {
      this.#sending = false;
    }
  }

  #failed(error: unknown): void {
    const code = error instanceof GatewayError ? error.code : "internal";
    this.#deps.logger.debug({ code, error: errorText(error) }, "preview failed");
    if (code === "delivery.rate-limited" && error instanceof GatewayError) {
      const wait = error.retryAfterMs ?? 5_000;
      this.#deps.channel.pacing.block(this.#deps.route.chatId, this.#deps.chatKind, wait);
      this.#notBefore = this.#deps.clock.now() + wait;
      return;
    }
    // An ambiguous first send, refused markup, a lost claim: the final text alone is left.
    this.#closed = true;
  }
}

function firstPart(parts: readonly RenderedPart[]): RenderedPart | undefined {
  return parts[0];
}
