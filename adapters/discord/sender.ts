/**
 * Everything that goes out: each call once, each failure as a DeliveryError. A repeat with the same delivery id is safe:
 * Discord gives back the first message for a nonce it has seen in that channel.
 */
import type { DeliveryError } from "../../src/domain/errors.js";
import type { OutboundMessage, Route, SentRef } from "../../src/domain/message.js";
import type { SendOptions } from "../../src/ports/platform-adapter.js";
import type { Clock, Logger } from "../../src/ports/runtime.js";
import type { Api, MessageBody } from "./api.js";
import { editBody, messageBody } from "./body.js";
import { CommandReplies } from "./command-replies.js";
import { apiCode, codes, deliveryErrorOf, isInteractionGone, isUnauthorized } from "./failures.js";
import { asFields, type Fields, fieldsOf, textOf } from "./fields.js";
import { type InteractionRef, refOfRoute } from "./interactions.js";
import { compareIds, idAt } from "./snowflake.js";
import { Threads } from "./threads.js";

/** Clocks differ: a message may carry an id a little older than our own time of sending. */
const clockSkewMs = 60_000;
const searchPages = 3;
const pageSize = 100;
/** EPHEMERAL: only the person who pressed sees it. */
const onlyForYou = 1 << 6;

export class Sender {
  readonly replies: CommandReplies;
  readonly threads: Threads;
  readonly #api: Api;
  readonly #botId: string;
  readonly #logger: Logger;
  readonly #unauthorized: (cause: unknown) => void;

  constructor(options: {
    readonly api: Api;
    readonly botId: string;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly unauthorized: (cause: unknown) => void;
  }) {
    this.#api = options.api;
    this.#botId = options.botId;
    this.#logger = options.logger;
    this.#unauthorized = options.unauthorized;
    this.replies = new CommandReplies(options);
    this.threads = new Threads(options.api);
  }

  send(route: Route, message: OutboundMessage, options: SendOptions): Promise<SentRef> {
    return this.#guarded(async () => {
      const body = messageBody(message);
      const command = refOfRoute(route, "interaction");
      if (command !== undefined) {
        const messageId = await this.replies.send(command, route.chatId, body, options.deliveryId, options.signal);
        if (messageId !== undefined) return { chatId: route.chatId, messageId, hint: { interaction: { ...command } } };
      }
      const target = await this.threads.target(route, options.signal);
      const messageId = await this.#api.createMessage(target.chatId, addressed(body, target.replyTo, options.deliveryId), options.signal);
      return { chatId: target.chatId, messageId };
    });
  }

  /** An answer to a command is edited with its token while that lives: it works where the bot is no member. */
  edit(sent: SentRef, message: OutboundMessage, signal: AbortSignal): Promise<void> {
    return this.#guarded(async () => {
      const body = editBody(message);
      const command = refOfSent(sent);
      if (command !== undefined && this.replies.isUsable(command)) {
        try {
          await this.#api.editCommandMessage(command, sent.messageId, body, signal);
          return;
        } catch (error) {
          if (!isInteractionGone(this.#api.sdk, error)) throw error;
        }
      }
      await this.#api.editMessage(sent.chatId, sent.messageId, body, signal);
    });
  }

  remove(sent: SentRef, signal: AbortSignal): Promise<void> {
    return this.#guarded(async () => {
      try {
        await this.#api.deleteMessage(sent.chatId, sent.messageId, signal);
      } catch (error) {
        if (apiCode(this.#api.sdk, error) !== codes.unknownMessage) throw error;
      }
    });
  }

  /** `undefined` takes back the reactions this bot has put there. */
  react(chatId: string, messageId: string, emoji: string | undefined, signal: AbortSignal): Promise<void> {
    return this.#guarded(async () => {
      if (emoji !== undefined) {
        await this.#api.react(chatId, messageId, emoji, true, signal);
        return;
      }
      const message = await this.#api.message(chatId, messageId, signal);
      const reactions = Array.isArray(message["reactions"]) ? message["reactions"].map((item) => asFields(item) ?? {}) : [];
      for (const reaction of reactions.filter((item) => item["me"] === true)) {
        const { name, id } = { name: textOf(fieldsOf(reaction, "emoji"), "name"), id: textOf(fieldsOf(reaction, "emoji"), "id") };
        if (name !== undefined) await this.#api.react(chatId, messageId, id === undefined ? name : `${name}:${id}`, false, signal);
      }
    });
  }

  type(route: Route, signal: AbortSignal): Promise<void> {
    return this.#guarded(() => this.#api.type(this.threads.placeOf(route), signal));
  }

  /** The press was acknowledged when it came in; a text is shown to the person who pressed. Too late is fine. */
  async answerPress(route: Route, text: string | undefined): Promise<void> {
    const ref = refOfRoute(route, "press");
    if (ref === undefined || text === undefined || text === "") return;
    const { body, files } = messageBody({ kind: "plain", text });
    await this.#guarded(async () => {
      try {
        await this.#api.followUp(ref, { body: { ...body, flags: onlyForYou }, files });
      } catch (error) {
        if (!isInteractionGone(this.#api.sdk, error)) throw error;
      }
    });
  }

  /** By the nonce in the channel's history. `absent` only when every message of ours since then is known to be another one. */
  async findSent(route: Route, deliveryId: string, sentAfter: number): Promise<SentRef | "absent" | "unknown"> {
    const chatId = this.threads.placeOf(route);
    let nameless = false;
    let after = idAt(sentAfter - clockSkewMs);
    try {
      for (let page = 0; page < searchPages; page += 1) {
        const found = await this.#api.messages(chatId, { after, limit: pageSize });
        for (const message of found.filter((candidate) => textOf(fieldsOf(candidate, "author"), "id") === this.#botId)) {
          const messageId = textOf(message, "id");
          const nonce = nonceOf(message);
          if (nonce === deliveryId && messageId !== undefined) return { chatId, messageId };
          nameless ||= nonce === undefined;
        }
        if (found.length < pageSize) return nameless ? "unknown" : "absent";
        after = newest(found, after);
      }
    } catch (error) {
      const failed = deliveryErrorOf(this.#api.sdk, error);
      this.#logger.debug({ code: failed.code, chatId }, "a doubtful message could not be looked up");
    }
    return "unknown";
  }

  async #guarded<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      if (isUnauthorized(this.#api.sdk, error)) this.#unauthorized(error);
      const failed: DeliveryError = deliveryErrorOf(this.#api.sdk, error);
      throw failed;
    }
  }
}

/** A reply whose target is gone stays a plain message: the answer matters more than the arrow. */
function addressed({ body, files }: MessageBody, replyTo: string | undefined, deliveryId: string): MessageBody {
  return {
    body: {
      ...body,
      nonce: deliveryId,
      enforce_nonce: true,
      ...(replyTo === undefined ? {} : { message_reference: { message_id: replyTo, fail_if_not_exists: false } }),
    },
    files,
  };
}

function refOfSent(sent: SentRef): InteractionRef | undefined {
  return sent.hint === undefined ? undefined : refOfRoute({ platform: "discord", chatId: sent.chatId, hint: sent.hint }, "interaction");
}

function nonceOf(message: Fields): string | undefined {
  const nonce = message["nonce"];
  return typeof nonce === "string" || typeof nonce === "number" ? String(nonce) : undefined;
}

function newest(messages: readonly Fields[], otherwise: string): string {
  const ids = messages.map((message) => textOf(message, "id")).filter((id) => id !== undefined);
  return ids.reduce((latest, id) => (compareIds(id, latest) > 0 ? id : latest), otherwise);
}
