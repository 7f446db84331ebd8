/**
 * Threads: started from a question where the settings say so, and asked whether anybody can write in them.
 * A thread started from a message has the message's id, so an ambiguous start is settled by looking for that channel.
 */
import { DeliveryError } from "../../src/domain/errors.js";
import type { ChatRef, Route } from "../../src/domain/message.js";
import type { Api } from "./api.js";
import { apiCode, codes, deliveryErrorOf } from "./failures.js";
import { asFields, fieldsOf, textOf } from "./fields.js";

export interface Target {
  readonly chatId: string;
  readonly replyTo: string | undefined;
}

const remembered = 1_000;

export class Threads {
  readonly #api: Api;
  /** Threads known to exist, and channels to use instead where none could be started. */
  readonly #settled = new Map<string, Target>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Where a route's messages really go; starts the thread when the route asks for one. Throws DeliveryError when it cannot know. */
  async target(route: Route, signal: AbortSignal): Promise<Target> {
    const wanted = wantedThread(route);
    if (wanted === undefined) return { chatId: route.chatId, replyTo: route.replyTo };
    const known = this.#settled.get(route.chatId);
    if (known !== undefined) return known;
    const target = await this.#start(wanted, signal);
    this.#settled.set(route.chatId, target);
    const [oldest] = this.#settled.keys();
    if (this.#settled.size > remembered && oldest !== undefined) this.#settled.delete(oldest);
    return target;
  }

  /** Where a sign of life goes: never a reason to start a thread. */
  placeOf(route: Route): string {
    const wanted = wantedThread(route);
    if (wanted === undefined) return route.chatId;
    return this.#settled.get(route.chatId)?.chatId ?? wanted.channelId;
  }

  /** False when the thread is locked, archived or gone. A thread that is still to be started can be written to. */
  async writable(chat: ChatRef, startsThreads: boolean): Promise<boolean> {
    if (chat.kind !== "thread") return true;
    try {
      const thread = await this.#api.channel(chat.id);
      const metadata = fieldsOf(thread, "thread_metadata");
      return metadata["locked"] !== true && metadata["archived"] !== true;
    } catch (error) {
      const code = apiCode(this.#api.sdk, error);
      if (code === codes.unknownChannel) return startsThreads && chat.parentId !== undefined;
      if (code === codes.missingAccess) return false;
      return true; // nobody knows; the send itself will say so
    }
  }

  async #start(wanted: WantedThread, signal: AbortSignal): Promise<Target> {
    const thread = { chatId: wanted.messageId, replyTo: undefined };
    try {
      await this.#api.startThread(wanted.channelId, wanted.messageId, wanted.name, signal);
      return thread;
    } catch (error) {
      const failed = deliveryErrorOf(this.#api.sdk, error);
      if (apiCode(this.#api.sdk, error) === codes.threadExists || (await this.#exists(wanted.messageId))) return thread;
      if (failed.retryable || failed.code === "delivery.unknown") {
        // Nothing of the answer was sent yet, so trying again later cannot double it.
        throw new DeliveryError("delivery.not-sent", "the thread could not be started", {
          cause: failed,
          ...(failed.retryAfterMs === undefined ? {} : { retryAfterMs: failed.retryAfterMs }),
        });
      }
      return { chatId: wanted.channelId, replyTo: wanted.messageId };
    }
  }

  async #exists(threadId: string): Promise<boolean> {
    try {
      await this.#api.channel(threadId);
      return true;
    } catch (error) {
      if (apiCode(this.#api.sdk, error) === codes.unknownChannel) return false;
      throw new DeliveryError("delivery.not-sent", "it is not known whether the thread was started", { cause: error });
    }
  }
}

interface WantedThread {
  readonly channelId: string;
  readonly messageId: string;
  readonly name: string;
}

function wantedThread(route: Route): WantedThread | undefined {
  const held = fieldsOf(asFields(route.hint) ?? {}, "thread");
  const [channelId, messageId, name] = ["channelId", "messageId", "name"].map((key) => textOf(held, key));
  return channelId === undefined || messageId === undefined || name === undefined ? undefined : { channelId, messageId, name };
}
