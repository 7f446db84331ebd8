/**
 * Our messages as Bot API arguments. Thread 1 (General) is never named, since Telegram refuses it; a deleted reply
 * target lets the message go without the reply.
 */
import type { Opts } from "telegraf/types";
import { DeliveryError } from "../../src/domain/errors.js";
import type { Button, OutboundMessage, RenderedPart, Route } from "../../src/domain/message.js";

/** What `render` puts into a part's payload. */
interface TextPayload {
  readonly text: string;
  readonly entities: NonNullable<Opts<"sendMessage">["entities"]>;
}

/** Chat ids are numbers on the wire; they fit (52 bits). */
export function chatNumber(chatId: string): number {
  const id = Number(chatId);
  if (!Number.isSafeInteger(id) || chatId === "") throw new DeliveryError("delivery.refused", "the chat id is no Telegram chat id");
  return id;
}

export function messageNumber(messageId: string): number {
  const id = Number(messageId);
  if (!Number.isSafeInteger(id) || id <= 0) throw new DeliveryError("delivery.refused", "the message id is no Telegram message id");
  return id;
}

/** Chat and thread: in every call that shows something in a chat. */
export function place(route: Pick<Route, "chatId" | "threadId">): { chat_id: number; message_thread_id?: number } {
  const thread = Number(route.threadId ?? 0);
  return { chat_id: chatNumber(route.chatId), ...(Number.isSafeInteger(thread) && thread > 1 ? { message_thread_id: thread } : {}) };
}

export function replyParameters(route: Route): { message_id: number; allow_sending_without_reply: true } | undefined {
  return route.replyTo === undefined ? undefined : { message_id: messageNumber(route.replyTo), allow_sending_without_reply: true };
}

/** Text and entities of a text message, and its buttons; buttons go in rows of at most three. */
export function textFields(
  message: Exclude<OutboundMessage, { kind: "file" }>,
): Pick<Opts<"sendMessage">, "text" | "entities" | "reply_markup"> {
  const keyboard =
    message.buttons === undefined || message.buttons.length === 0 ? {} : { reply_markup: { inline_keyboard: rows(message.buttons) } };
  if (message.kind === "plain") return { text: message.text, ...keyboard };
  const { text, entities } = payloadOf(message.part);
  return { text, ...(entities.length > 0 ? { entities } : {}), ...keyboard };
}

function payloadOf(part: RenderedPart): TextPayload {
  const payload = part.payload as Partial<TextPayload> | null;
  if (typeof payload !== "object" || payload === null || typeof payload.text !== "string") {
    throw new DeliveryError("delivery.markup-refused", "the part was not rendered for Telegram");
  }
  return { text: payload.text, entities: payload.entities ?? [] };
}

function rows(buttons: readonly Button[]): { text: string; callback_data: string }[][] {
  const all = buttons.map((button) => ({ text: button.label, callback_data: button.data }));
  const lines: (typeof all)[] = [];
  for (let at = 0; at < all.length; at += 3) lines.push(all.slice(at, at + 3));
  return lines;
}
