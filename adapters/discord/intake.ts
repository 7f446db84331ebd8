/**
 * The way of events into the inbox: in order within a chat, chats beside each other. While a chat's missed messages are
 * read, its new ones wait here, so that they do not overtake the older ones.
 */
import { errorText } from "../../src/domain/errors.js";
import type { InboundEvent } from "../../src/domain/message.js";
import type { Clock, Logger } from "../../src/ports/runtime.js";

export class Intake {
  readonly #deliver: (events: readonly InboundEvent[]) => Promise<void>;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #tails = new Map<string, Promise<void>>();
  readonly #gates = new Map<string, Promise<void>>();
  #gate: Promise<void> | undefined;
  #closed = false;
  #dead = false;

  constructor(options: {
    readonly deliver: (events: readonly InboundEvent[]) => Promise<void>;
    readonly logger: Logger;
    readonly clock: Clock;
  }) {
    this.#clock = options.clock;
    this.#deliver = options.deliver;
    this.#logger = options.logger;
  }

  /** Makes an event in its chat's turn and delivers it. Never throws; a failure is logged and the next event goes on. */
  accept(chatId: string, make: () => Promise<InboundEvent | undefined>): void {
    if (this.#closed) return;
    const before = this.#tails.get(chatId) ?? Promise.resolve();
    const now = before.then(() => this.#one(chatId, make));
    this.#tails.set(chatId, now);
    void now.then(() => {
      if (this.#tails.get(chatId) === now) this.#tails.delete(chatId);
    });
  }

  /** Delivers at once, past whatever waits: for the missed messages themselves. Rejects when the inbox does. */
  async pass(events: readonly InboundEvent[]): Promise<void> {
    if (!this.#closed && events.length > 0) await this.#deliver(events);
  }

  /** Holds every chat's new events until the returned function is called. */
  holdAll(): () => void {
    const { gate, open } = makeGate();
    this.#gate = gate;
    return () => {
      if (this.#gate === gate) this.#gate = undefined;
      open();
    };
  }

  /** Holds one chat's new events until the returned function is called. */
  hold(chatId: string): () => void {
    const { gate, open } = makeGate();
    this.#gates.set(chatId, gate);
    return () => {
      if (this.#gates.get(chatId) === gate) this.#gates.delete(chatId);
      open();
    };
  }

  /** Takes nothing more; resolves when what was taken is delivered, or after `limitMs`, which drops the rest. */
  async close(limitMs: number): Promise<void> {
    this.#closed = true;
    let cancel: () => void = () => undefined;
    const limit = new Promise<void>((resolve) => {
      cancel = this.#clock.after(limitMs, resolve);
    });
    await Promise.race([Promise.all(this.#tails.values()), limit]);
    cancel();
    this.#dead = true;
  }

  async #one(chatId: string, make: () => Promise<InboundEvent | undefined>): Promise<void> {
    try {
      await this.#gate;
      await this.#gates.get(chatId);
      const event = await make();
      // What is dropped here was not stored; the next start reads it again.
      if (event !== undefined && !this.#dead) await this.#deliver([event]);
    } catch (error) {
      // A rejecting inbox means that the process is stopping: the next start reads the message again.
      this.#logger.warn({ error: errorText(error), chatId }, "an event could not be taken in");
    }
  }
}

function makeGate(): { readonly gate: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { gate, open };
}
