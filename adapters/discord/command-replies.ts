/**
 * Answers to application commands: the first part fills in the deferred answer, later parts are follow-ups.
 * The trap: follow-ups have no nonce, so a repeat after a lost answer first looks whether the message is there.
 */
import type { DeliveryError } from "../../src/domain/errors.js";
import type { Clock } from "../../src/ports/runtime.js";
import type { Api, MessageBody } from "./api.js";
import { contentOf } from "./body.js";
import { deliveryErrorOf, isInteractionGone } from "./failures.js";
import { fieldsOf, numberOf, textOf } from "./fields.js";
import type { InteractionRef } from "./interactions.js";

/** A token lives 15 minutes; the last one is left alone. */
const usableMs = 14 * 60_000;
const remembered = 1_000;
/** LOADING: the deferred answer still says "thinking". */
const loadingFlag = 1 << 7;

interface Answering {
  /** Delivery that fills in the deferred answer; undefined until one does. */
  owner: string | undefined;
  /** Follow-ups whose outcome is not known. */
  readonly doubtful: Set<string>;
  /** Messages that belong to a delivery: equal parts must not be taken for each other. */
  readonly claimed: Set<string>;
  /** False after a restart: what was sent before is not known. */
  readonly known: boolean;
}

export class CommandReplies {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #botId: string;
  readonly #answering = new Map<string, Answering>();

  constructor(options: { readonly api: Api; readonly clock: Clock; readonly botId: string }) {
    this.#api = options.api;
    this.#clock = options.clock;
    this.#botId = options.botId;
  }

  isUsable(ref: InteractionRef): boolean {
    return this.#clock.now() - ref.at < usableMs;
  }

  /** Notes that this process deferred the answer, so that nothing can have been sent to it yet. */
  deferred(ref: InteractionRef): void {
    this.#remember(ref.token, true);
  }

  /** Sends one part. Undefined: the token can no longer be used, nothing was sent. Throws as the library does. */
  async send(
    ref: InteractionRef,
    channelId: string,
    message: MessageBody,
    deliveryId: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (!this.isUsable(ref)) return undefined;
    const state = this.#answering.get(ref.token) ?? this.#remember(ref.token, false);
    try {
      const id = await this.#send(ref, channelId, state, message, deliveryId, signal);
      state.claimed.add(id);
      return id;
    } catch (error) {
      if (isInteractionGone(this.#api.sdk, error)) return undefined;
      throw error;
    }
  }

  async #send(
    ref: InteractionRef,
    channelId: string,
    state: Answering,
    message: MessageBody,
    deliveryId: string,
    signal: AbortSignal,
  ): Promise<string> {
    if (state.owner === undefined && !state.known) {
      const filled = await this.#filledIn(ref, state, message, signal);
      if (filled !== undefined) return filled;
    }
    if (state.owner === undefined || state.owner === deliveryId) return this.#fillIn(ref, state, message, deliveryId, signal);
    return this.#followUp(ref, channelId, state, message, deliveryId, signal);
  }

  async #fillIn(ref: InteractionRef, state: Answering, message: MessageBody, deliveryId: string, signal: AbortSignal): Promise<string> {
    state.owner = deliveryId;
    try {
      return await this.#api.editOriginal(ref, message, signal);
    } catch (error) {
      // Refused for good: the next part may have the place. Anything else is repeated by the same delivery.
      if (this.#classify(error).code === "delivery.refused") state.owner = undefined;
      throw error;
    }
  }

  async #followUp(
    ref: InteractionRef,
    channelId: string,
    state: Answering,
    message: MessageBody,
    deliveryId: string,
    signal: AbortSignal,
  ): Promise<string> {
    if (state.doubtful.has(deliveryId) || !state.known) {
      const there = await this.#find(ref, channelId, state, message, signal);
      if (there !== undefined) return there;
    }
    state.doubtful.add(deliveryId);
    try {
      const id = await this.#api.followUp(ref, message, signal);
      state.doubtful.delete(deliveryId);
      return id;
    } catch (error) {
      if (this.#classify(error).code !== "delivery.unknown") state.doubtful.delete(deliveryId);
      throw error;
    }
  }

  /** After a restart: the deferred answer, when it already holds this very part. */
  async #filledIn(ref: InteractionRef, state: Answering, message: MessageBody, signal: AbortSignal): Promise<string | undefined> {
    const original = await this.#api.original(ref, signal);
    if (((numberOf(original, "flags") ?? 0) & loadingFlag) !== 0) return undefined;
    state.owner = "before the restart";
    return textOf(original, "content") === contentOf(message) ? textOf(original, "id") : undefined;
  }

  /** Our own message with this content, sent since the command. */
  async #find(
    ref: InteractionRef,
    channelId: string,
    state: Answering,
    message: MessageBody,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const content = contentOf(message);
    if (content === undefined) return undefined;
    const since = await this.#api.messages(channelId, { after: ref.id, limit: 100 }, signal);
    const ours = since.filter(
      (candidate) => textOf(fieldsOf(candidate, "author"), "id") === this.#botId && textOf(candidate, "content") === content,
    );
    return ours
      .map((candidate) => textOf(candidate, "id"))
      .filter((id) => id !== undefined)
      .findLast((id) => !state.claimed.has(id));
  }

  #classify(error: unknown): DeliveryError {
    return deliveryErrorOf(this.#api.sdk, error);
  }

  #remember(token: string, known: boolean): Answering {
    const state: Answering = { owner: undefined, doubtful: new Set(), claimed: new Set(), known };
    this.#answering.set(token, state);
    const [oldest] = this.#answering.keys();
    if (this.#answering.size > remembered && oldest !== undefined) this.#answering.delete(oldest);
    return state;
  }
}
