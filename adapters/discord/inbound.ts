/**
 * Pure: Discord message -> InboundMessage or nothing. System messages (joins, pins, boosts) are nothing; our own and other
 * bots' messages are events with a reason, so that "why no answer" has an answer.
 */
import type {
  AccountRef,
  Addressed,
  Attachment,
  ChatRef,
  InboundEdit,
  InboundMessage,
  Json,
  QuotedMessage,
  Route,
} from "../../src/domain/message.js";
import { attachmentsOf } from "./attachments.js";
import { asFields, type Fields, fieldsOf, given, listOf, numberOf, textOf } from "./fields.js";
import { authorName, cleanName } from "./names.js";
import { chatOf, type Place } from "./place.js";
import { timeOf } from "./snowflake.js";
import { namesBot, type NameSource, readableText, type TextContext } from "./text-in.js";

export const platform = "discord";

export interface InboundContext {
  readonly botId: string;
  readonly place: Place;
  readonly names: NameSource;
  /** Setting `discord.thread` is `auto`: a mention in a channel is answered in a thread started from it. */
  readonly startThreads: boolean;
}

/** What a route's hint holds when the answer goes to a thread that may not exist yet. */
export type ThreadHint = { readonly thread: { readonly channelId: string; readonly messageId: string; readonly name: string } };

/** Message types a person writes: plain and reply (https://discord.com/developers/docs/resources/message#message-object-message-types). */
const spoken: ReadonlySet<number> = new Set([0, 19]);
/** Types of messages that are the bot's own answers to commands. */
const commandAnswers: ReadonlySet<number> = new Set([20, 23]);
/** What a person may type in one message, without and with Nitro; a text this near to it probably goes on in the next one. */
const inputLimits = [2_000, 4_000];
const nearLimit = 100;
const forwarded = 1;

export function keyOf(botId: string, kind: string, ...ids: readonly string[]): string {
  return [platform, botId, kind, ...ids].join(":");
}

/** A MESSAGE_CREATE, or a message from the history. Undefined when nobody said anything, or when it is no message at all. */
export function messageEvent(message: Fields, context: InboundContext): InboundMessage | undefined {
  const messageId = textOf(message, "id");
  const account = accountOf(message);
  if (messageId === undefined || account === undefined || !isSpeech(message, account, context.botId)) return undefined;

  const { place, botId } = context;
  const content = textOf(message, "content") ?? "";
  const texts: TextContext = { botId, guildId: place.guildId, names: context.names };
  const snapshot = snapshotOf(message);
  const said = saidIn(message, content, snapshot, texts);
  const replyTo = quoteOf(message, texts);
  const mentioned = namesBot(content, texts);
  const addressed = addressedBy(place, mentioned, replyTo);
  const command = addressed === undefined || account.isBot ? undefined : typedCommand(said);
  const ignore = ignoreReason(message, account, mentioned, botId);
  return {
    kind: "message",
    platform,
    botId,
    key: keyOf(botId, "message", messageId),
    account,
    ...whereTo(message, messageId, said, context, mentioned && ignore === undefined),
    at: timeOf(messageId) ?? 0,
    messageId,
    text: said,
    attachments: filesOf(message, snapshot, { channelId: place.id, messageId }),
    ...given("addressed", command !== undefined && place.kind !== "dm" ? "command" : addressed),
    ...given("command", command),
    ...given("replyTo", replyTo),
    ...given("forwardedFrom", snapshot === undefined ? undefined : forwardOrigin(message, context.names)),
    ...given("partial", partialOf(content, snapshot !== undefined)),
    ...given("ignore", ignore),
    ...given("literalMention", account.isBot && mentioned ? true : undefined),
  };
}

/** A MESSAGE_UPDATE in which a person changed the text. Link previews and our own edits give nothing. */
export function editEvent(message: Fields, context: InboundContext): InboundEdit | undefined {
  const messageId = textOf(message, "id");
  const account = accountOf(message);
  const edited = Date.parse(textOf(message, "edited_timestamp") ?? "");
  const content = message["content"];
  if (messageId === undefined || account === undefined || Number.isNaN(edited) || typeof content !== "string") return undefined;
  if (account.id === context.botId || !spoken.has(numberOf(message, "type") ?? 0)) return undefined;
  const { botId, place, names } = context;
  if (isEmpty(message)) return undefined;
  return {
    kind: "edit",
    platform,
    botId,
    key: keyOf(botId, "edit", messageId, String(edited)),
    originalKey: keyOf(botId, "message", messageId),
    account,
    chat: chatOf(place),
    at: edited,
    messageId,
    text: readableText(content, message, { botId, guildId: place.guildId, names }),
  };
}

/** A message as quoted context: the one replied to, or one of the history. */
export function quotedOf(message: Fields, texts: TextContext): QuotedMessage | undefined {
  const messageId = textOf(message, "id");
  const channelId = textOf(message, "channel_id");
  if (messageId === undefined || channelId === undefined || accountOf(message) === undefined) return undefined;
  const snapshot = snapshotOf(message);
  const text = textOf(message, "content") ?? otherText(message, snapshot);
  return {
    author: authorName(message),
    text: readableText(text ?? "", message, texts),
    attachments: filesOf(message, snapshot, { channelId, messageId }),
    messageId,
    fromSelf: textOf(fieldsOf(message, "author"), "id") === texts.botId,
  };
}

/** What people write, and the bot's own answers; joins, pins and the like are not. */
function isSpeech(message: Fields, account: AccountRef, botId: string): boolean {
  const type = numberOf(message, "type") ?? 0;
  return spoken.has(type) || (account.id === botId && commandAnswers.has(type));
}

function saidIn(message: Fields, content: string, snapshot: Fields | undefined, texts: TextContext): string {
  return content === ""
    ? readableText(otherText(message, snapshot) ?? "", snapshot ?? message, texts)
    : readableText(content, message, texts);
}

function addressedBy(place: Place, mentioned: boolean, replyTo: QuotedMessage | undefined): Addressed | undefined {
  if (place.kind === "dm") return "dm";
  if (mentioned) return "mention";
  return replyTo?.fromSelf === true ? "reply" : undefined;
}

function ignoreReason(message: Fields, account: AccountRef, mentioned: boolean, botId: string): InboundMessage["ignore"] | undefined {
  if (account.id === botId) return "own";
  if (account.isBot && !mentioned) return "bot";
  return isEmpty(message) ? "unreadable" : undefined;
}

function filesOf(
  message: Fields,
  snapshot: Fields | undefined,
  home: { readonly channelId: string; readonly messageId: string },
): Attachment[] {
  return [...attachmentsOf(message, home), ...(snapshot === undefined ? [] : attachmentsOf(snapshot, home))];
}

function accountOf(message: Fields): AccountRef | undefined {
  const author = asFields(message["author"]);
  const id = author === undefined ? undefined : textOf(author, "id");
  if (author === undefined || id === undefined) return undefined;
  const handle = textOf(author, "username");
  const isBot = author["bot"] === true || author["system"] === true || textOf(message, "webhook_id") !== undefined;
  return { id, displayName: authorName(message), ...(handle === undefined ? {} : { handle: cleanName(handle, id) }), isBot };
}

/** Chat and route. With `auto`, a mention in a channel already belongs to its thread: a thread started from a message has the message's id. */
function whereTo(
  message: Fields,
  messageId: string,
  said: string,
  context: InboundContext,
  mentioned: boolean,
): { readonly chat: ChatRef; readonly route: Route } {
  const { place } = context;
  const chat = chatOf(place);
  if (context.startThreads && mentioned && place.canHoldThreads === true && asFields(message["thread"]) === undefined) {
    const name = threadName(said, authorName(message));
    const hint: ThreadHint = { thread: { channelId: place.id, messageId, name } };
    return {
      chat: {
        id: messageId,
        kind: "thread",
        parentId: place.id,
        ...(chat.containerId === undefined ? {} : { containerId: chat.containerId }),
        title: name,
      },
      route: { platform, chatId: messageId, hint: hint satisfies Json },
    };
  }
  return { chat, route: { platform, chatId: place.id, ...(place.kind === "dm" ? {} : { replyTo: messageId }) } };
}

/** A thread's name has 1 to 100 characters; the first line of the question is the best one there is. */
function threadName(said: string, author: string): string {
  const line = cleanName(said.split("\n").find((part) => part.trim() !== "") ?? "", `Question by ${author}`);
  return line.slice(0, 100);
}

function quoteOf(message: Fields, texts: TextContext): QuotedMessage | undefined {
  const referenced = asFields(message["referenced_message"]);
  return referenced === undefined ? undefined : quotedOf(referenced, texts);
}

function snapshotOf(message: Fields): Fields | undefined {
  if (numberOf(fieldsOf(message, "message_reference"), "type") !== forwarded) return undefined;
  const [first] = listOf(message, "message_snapshots");
  return first === undefined ? undefined : fieldsOf(first, "message");
}

function forwardOrigin(message: Fields, names: NameSource): string {
  const channel = textOf(fieldsOf(message, "message_reference"), "channel_id");
  const name = channel === undefined ? undefined : names.channelName(channel);
  return name === undefined ? "another chat" : `#${cleanName(name, "another chat")}`;
}

/** `/name args` typed as text: people do that where the menu does not offer the command. */
function typedCommand(said: string): { readonly name: string; readonly args: string } | undefined {
  const match = /^\/([A-Za-z][\w-]{0,31})(?:\s+([\s\S]*))?$/.exec(said);
  return match?.[1] === undefined ? undefined : { name: match[1].toLowerCase(), args: (match[2] ?? "").trim() };
}

function partialOf(content: string, isForward: boolean): InboundMessage["partial"] {
  if (isForward) return { group: "forward", idleMs: 400 };
  const near = inputLimits.some((limit) => content.length > limit - nearLimit - 1 && content.length <= limit);
  return near ? { group: "long-text", idleMs: 2_000 } : undefined;
}

/** A message that carries nothing at all. Nobody can send one: in a server it means that the content intent is missing. */
function isEmpty(message: Fields): boolean {
  if (textOf(message, "content") !== undefined || asFields(message["poll"]) !== undefined) return false;
  return ["attachments", "embeds", "sticker_items", "message_snapshots", "components"].every((key) => listOf(message, key).length === 0);
}

/** What a message without words of its own says: the forwarded one, a poll's question, an embed. */
function otherText(message: Fields, snapshot: Fields | undefined): string | undefined {
  const poll = textOf(fieldsOf(fieldsOf(message, "poll"), "question"), "text");
  const embeds = listOf(snapshot ?? message, "embeds").flatMap((embed) =>
    [textOf(embed, "title"), textOf(embed, "description")].filter((part) => part !== undefined),
  );
  return (
    (snapshot === undefined ? undefined : textOf(snapshot, "content")) ?? poll ?? (embeds.length === 0 ? undefined : embeds.join("\n"))
  );
}
