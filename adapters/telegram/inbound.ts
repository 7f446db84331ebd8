/**
 * Telegram update -> inbound event. Pure and total: whatever comes in, nothing is thrown, and what cannot be read becomes
 * a message with `ignore: "unreadable"` or nothing. A thread id counts only with `is_topic_message`, and never when it is 1.
 */
import type {
  AccountRef,
  ButtonPress,
  ChatChange,
  ChatRef,
  InboundEdit,
  InboundEvent,
  InboundMessage,
  PartialAct,
  QuotedMessage,
  Route,
} from "../../src/domain/message.js";
import { accountOf, chatOf, originName, userRef, type Self } from "./accounts.js";
import { describeContent, readAttachments } from "./media.js";
import { quotedMessage } from "./quotes.js";
import { addressOf, bodyOf, type Body } from "./speech.js";
import { messageBones, parseUpdate, type TelegramChat, type TelegramMessage, type TelegramUpdate } from "./update.js";

/** Clients cut pasted text at 4096 units, at a line or word border if there is one: parts this long may have a rest. */
const longTextUnits = 3996;

/**
 * One event for an update, or undefined where there is nothing to store (channel posts, service messages, updates
 * without ids). `receivedAt` (epoch ms) stands in where Telegram sends no time.
 */
export function readUpdate(raw: unknown, self: Self, receivedAt: number): InboundEvent | undefined {
  const update = parseUpdate(raw);
  if (update === undefined) return unreadable(raw, self, receivedAt);
  if (update.message !== undefined) return readMessage(update.message, self);
  if (update.edited_message !== undefined) return readEdit(update.edited_message, self);
  if (update.callback_query !== undefined) return readButton(update.callback_query, self, receivedAt);
  if (update.my_chat_member !== undefined) return readMember(update.my_chat_member, self);
  return unreadable(raw, self, receivedAt);
}

/** The dedupe keys of this bot (gateway.md §1). */
export function keyOf(self: Self, kind: string, ...parts: readonly (string | number)[]): string {
  return ["telegram", self.id, kind, ...parts].join(":");
}

function readMessage(message: TelegramMessage, self: Self): InboundEvent | undefined {
  if (message.chat.type === "channel" || message.is_automatic_forward === true) return undefined;
  const account = accountOf(message);
  if (account === undefined) return undefined;
  const migrated = readMigration(message, account, self);
  if (migrated !== undefined) return migrated;

  const body = bodyOf(message, self);
  const replyTo = quotedMessage(message, self);
  const fields: InboundMessage = {
    ...base(self, chatOf(message.chat), account, message),
    kind: "message",
    key: keyOf(self, "message", message.chat.id, message.message_id),
    at: message.date * 1000,
    messageId: String(message.message_id),
    text: [body.text, describeContent(message)].filter((part) => part !== "").join("\n"),
    attachments: readAttachments(message),
    ...(replyTo === undefined ? {} : { replyTo }),
    route: routeOf(message, message.message_id),
  };
  if (account.id === self.id) return { ...fields, ignore: "own" };
  if (account.isBot) return body.mentioned ? { ...fields, literalMention: true, addressed: "mention" } : { ...fields, ignore: "bot" };
  if (fields.text === "" && fields.attachments.length === 0 && !body.mentioned) {
    return message.unsupported ? { ...fields, ignore: "unreadable" } : undefined; // undefined: a notice by Telegram itself
  }
  return { ...fields, ...intent(message, body, replyTo) };
}

/** What the person wants with it: whom it is for, which command, and whether there may be more to come. */
function intent(
  message: TelegramMessage,
  body: Body,
  replyTo: QuotedMessage | undefined,
): Pick<InboundMessage, "addressed" | "command" | "forwardedFrom" | "partial"> {
  const addressed = addressOf(message, body, replyTo);
  const partial = partialOf(message, body.command !== undefined);
  return {
    ...(addressed === undefined ? {} : { addressed }),
    ...(body.command === undefined ? {} : { command: body.command }),
    ...(message.forward_origin === undefined ? {} : { forwardedFrom: originName(message.forward_origin) }),
    ...(partial === undefined ? {} : { partial }),
  };
}

function partialOf(message: TelegramMessage, isCommand: boolean): PartialAct | undefined {
  if (isCommand) return undefined;
  if (message.media_group_id !== undefined) return { group: `album:${message.media_group_id}`, idleMs: 800 };
  if (message.forward_origin !== undefined) return { group: "forward", idleMs: 400 };
  if ((message.text?.length ?? 0) >= longTextUnits) return { group: "long-text", idleMs: 2000 };
  return undefined;
}

function readMigration(message: TelegramMessage, account: AccountRef, self: Self): ChatChange | undefined {
  const from = message.migrate_from_chat_id ?? (message.migrate_to_chat_id === undefined ? undefined : message.chat.id);
  const to = message.migrate_to_chat_id ?? message.chat.id;
  if (from === undefined) return undefined;
  return {
    ...base(self, { ...chatOf(message.chat), id: String(from) }, account, { message_thread_id: undefined, is_topic_message: undefined }),
    kind: "chat",
    key: keyOf(self, "migrated", from, to), // the old and the new chat both say so: one act
    at: message.date * 1000,
    change: { type: "migrated", toChatId: String(to) },
  };
}

function readEdit(message: TelegramMessage, self: Self): InboundEdit | undefined {
  const account = accountOf(message);
  if (account === undefined || account.isBot || message.chat.type === "channel") return undefined;
  const editedAt = message.edit_date ?? message.date;
  return {
    ...base(self, chatOf(message.chat), account, message),
    kind: "edit",
    key: keyOf(self, "edit", message.chat.id, message.message_id, editedAt),
    at: editedAt * 1000,
    messageId: String(message.message_id),
    originalKey: keyOf(self, "message", message.chat.id, message.message_id),
    text: bodyOf(message, self).text,
  };
}

function readButton(query: NonNullable<TelegramUpdate["callback_query"]>, self: Self, receivedAt: number): ButtonPress | undefined {
  const { message, data } = query;
  if (message === undefined || data === undefined || message.chat.type === "channel") return undefined;
  return {
    ...base(self, chatOf(message.chat), userRef(query.from), message),
    kind: "button",
    key: keyOf(self, "callback", query.id),
    at: receivedAt,
    data,
    messageId: String(message.message_id),
    route: routeOf(message, undefined),
  };
}

function readMember(member: NonNullable<TelegramUpdate["my_chat_member"]>, self: Self): ChatChange | undefined {
  if (member.chat.type === "channel") return undefined;
  const isIn = ({ status, is_member }: typeof member.new_chat_member): boolean =>
    status === "restricted" ? is_member === true : status !== "left" && status !== "kicked";
  const [was, is] = [isIn(member.old_chat_member), isIn(member.new_chat_member)];
  if (was === is) return undefined; // made administrator, rights changed: nothing for us
  const dm = member.chat.type === "private";
  const type = is ? (dm ? "reachable" : "bot-added") : dm ? "unreachable" : "bot-removed";
  return {
    ...base(self, chatOf(member.chat), userRef(member.from), { message_thread_id: undefined, is_topic_message: undefined }),
    kind: "chat",
    key: keyOf(self, "member", member.chat.id, member.date, member.new_chat_member.status),
    at: member.date * 1000,
    change: { type },
  };
}

function unreadable(raw: unknown, self: Self, receivedAt: number): InboundMessage | undefined {
  const message = messageBones(raw);
  if (message === undefined || message.from.is_bot) return undefined;
  const chat = chatOf({
    id: message.chat.id,
    type: message.chat.type ?? (message.chat.id < 0 ? "supergroup" : "private"),
    title: undefined,
  });
  return {
    ...base(self, chat, userRef(message.from), { message_thread_id: undefined, is_topic_message: undefined }),
    kind: "message",
    key: keyOf(self, "message", message.chat.id, message.message_id),
    at: receivedAt,
    messageId: String(message.message_id),
    text: "",
    attachments: [],
    route: { platform: "telegram", chatId: chat.id },
    ignore: "unreadable",
  };
}

interface Threaded {
  readonly message_thread_id?: number | undefined;
  readonly is_topic_message?: boolean | undefined;
}

function base(self: Self, chat: ChatRef, account: AccountRef, threaded: Threaded) {
  return { platform: "telegram", botId: self.id, account, chat, ...threadOf(threaded) };
}

function threadOf(message: Threaded): { threadId?: string } {
  const { message_thread_id: thread, is_topic_message: topical } = message;
  return topical === true && thread !== undefined && thread !== 1 ? { threadId: String(thread) } : {};
}

function routeOf(message: Threaded & { readonly chat: TelegramChat }, replyTo: number | undefined): Route {
  return {
    platform: "telegram",
    chatId: String(message.chat.id),
    ...threadOf(message),
    ...(replyTo === undefined || message.chat.type === "private" ? {} : { replyTo: String(replyTo) }),
  };
}
