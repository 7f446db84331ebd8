/**
 * A Slack payload to an inbound event, or to nothing; pure. A mention in a channel arrives as `message` and as
 * `app_mention`: both must give the same event, so nothing here may depend on which of them it was.
 */
import type { Addressed, ChatRef, InboundEvent, InboundMessage, QuotedMessage } from "../../src/domain/message.js";
import { attachmentsOf } from "./attachments.js";
import { commandIn } from "./commands.js";
import { asFields, fieldsOf, listOf, textOf, type Fields } from "./fields.js";
import { actEvent, membershipEvent } from "./inbound-acts.js";
import { accountOf, chatOf, keyOf, messageKey, millis, namesOf, platform, routeOf, teamsOf, type Reading, type Self } from "./place.js";
import { idsIn, mentions, oneLine, readText } from "./text-in.js";

/** Message subtypes that are somebody speaking; all others (joins, topics, deletions …) are dropped knowingly. */
const spoken: ReadonlySet<string> = new Set(["", "file_share", "thread_broadcast", "me_message", "bot_message"]);

/** Translates one Events API, slash command or interaction body. */
export function toInbound(body: Fields, reading: Reading): InboundEvent | undefined {
  if (body["type"] !== "event_callback") return actEvent(body, reading);
  const event = fieldsOf(body, "event");
  switch (event["type"]) {
    case "message":
    case "app_mention":
      // A mention that an edit put in arrives as `app_mention` with `edited`, beside `message_changed`.
      return event["subtype"] === "message_changed" || (event["type"] === "app_mention" && event["edited"] !== undefined)
        ? edit(event, reading)
        : message(event, reading);
    case "member_joined_channel":
    case "channel_left":
    case "group_left":
      return membershipEvent(event, reading);
    default:
      return undefined;
  }
}

/** The people and channels to look up before `toInbound` is called; nothing for what is dropped anyway. */
export function idsNeeded(body: Fields, self: Self): { readonly people: string[]; readonly channels: string[] } {
  const event = body["type"] === "event_callback" ? fieldsOf(body, "event") : body;
  const inner = asFields(event["message"]);
  const source = event["subtype"] === "message_changed" && inner !== undefined ? inner : event;
  if (!isSpoken(source, event) && body["type"] === "event_callback" && event["type"] === "message") return { people: [], channels: [] };
  if (isOwn(source, self)) return { people: [], channels: [] };
  const named = idsIn(
    [textOf(source, "text") ?? "", ...listOf(source, "attachments").map((item) => textOf(item, "text") ?? "")].join("\n"),
  );
  const author = textOf(source, "user") ?? textOf(source, "user_id") ?? textOf(fieldsOf(event, "user"), "id");
  const channel = textOf(event, "channel") ?? textOf(event, "channel_id") ?? textOf(fieldsOf(event, "channel"), "id");
  const inDm = event["channel_type"] === "im" || channel?.startsWith("D") === true;
  return {
    people: unique([author, textOf(event, "inviter"), ...named.people]).filter((id) => id !== self.userId),
    channels: unique([...(inDm ? [] : [channel]), ...named.channels]),
  };
}

function unique(ids: readonly (string | undefined)[]): string[] {
  return [...new Set(ids.filter((id) => id !== undefined))];
}

function isSpoken(source: Fields, event: Fields): boolean {
  return event["subtype"] === "message_changed" || spoken.has(textOf(source, "subtype") ?? "");
}

function isOwn(message: Fields, self: Self): boolean {
  return message["user"] === self.userId || (self.botId !== undefined && message["bot_id"] === self.botId);
}

function message(event: Fields, reading: Reading): InboundMessage | undefined {
  const { self } = reading;
  const channelId = textOf(event, "channel");
  const ts = textOf(event, "ts");
  const authorId = textOf(event, "user") ?? textOf(event, "bot_id");
  if (channelId === undefined || ts === undefined || authorId === undefined || !isSpoken(event, event)) return undefined;

  const raw = textOf(event, "text") ?? "";
  const chat = chatOf(reading, channelId, textOf(event, "channel_type"));
  const addressed = addressedBy(event, raw, chat, self);
  const threadId = threadOf(event, ts, chat, addressed);
  const text = readText(raw, self.userId, namesOf(reading.known));
  const own = isOwn(event, self);
  const account = author(event, authorId, own, reading);
  const literalMention = account.isBot && !own && mentions(raw, self.userId);
  const attachments = attachmentsOf(event);
  const quoted = sharedMessage(event, reading);
  const command =
    own || account.isBot ? undefined : commandOf(text, chat, addressed, textOf(event, "thread_ts") !== undefined, reading.commands);
  const empty = text === "" && attachments.length === 0 && quoted === undefined && addressed !== "mention";
  const ignore = own ? "own" : account.isBot && !literalMention ? "bot" : empty ? "unreadable" : undefined;
  const timeZone = reading.known.person(authorId)?.timeZone;
  return {
    kind: "message",
    platform,
    botId: self.userId,
    key: messageKey(self, channelId, ts),
    account,
    chat,
    ...(threadId === undefined ? {} : { threadId }),
    at: millis(ts),
    messageId: ts,
    text,
    ...(addressed === undefined ? {} : { addressed }),
    ...(command === undefined ? {} : { command }),
    attachments,
    ...(quoted === undefined ? {} : quoted),
    // In a channel the answer opens a thread under the message, also when the gateway decides that it is addressed.
    route: routeOf(channelId, threadId ?? (chat.kind === "dm" ? undefined : ts), ts),
    ...(ignore === undefined ? {} : { ignore }),
    ...(literalMention ? { literalMention } : {}),
    ...(timeZone === undefined ? {} : { timeZone }),
  };
}

function addressedBy(event: Fields, raw: string, chat: ChatRef, self: Self): Addressed | undefined {
  if (chat.kind === "dm") return "dm";
  if (event["type"] === "app_mention" || mentions(raw, self.userId)) return "mention";
  return event["parent_user_id"] === self.userId && textOf(event, "thread_ts") !== textOf(event, "ts") ? "reply" : undefined;
}

/** A mention in a channel opens a thread under itself; its follow-ups carry the same id, so both have one session. */
function threadOf(event: Fields, ts: string, chat: ChatRef, addressed: Addressed | undefined): string | undefined {
  const thread = textOf(event, "thread_ts");
  if (thread !== undefined && thread !== ts) return thread;
  return chat.kind !== "dm" && addressed === "mention" ? ts : undefined;
}

function author(event: Fields, authorId: string, own: boolean, reading: Reading): InboundMessage["account"] {
  const profile = textOf(fieldsOf(event, "bot_profile"), "name");
  const account = accountOf(reading, authorId, teamsOf(event), textOf(event, "username") ?? profile);
  const isBot = own || account.isBot || event["bot_id"] !== undefined || event["subtype"] === "bot_message";
  return { ...account, isBot };
}

function commandOf(
  text: string,
  chat: ChatRef,
  addressed: Addressed | undefined,
  inThread: boolean,
  known: readonly string[],
): ReturnType<typeof commandIn> {
  return commandIn(text, known, {
    marked: inThread || chat.kind === "dm" || addressed !== undefined,
    bare: addressed === "mention",
  });
}

/** A message that was forwarded, or whose link was pasted: quoted context. */
function sharedMessage(event: Fields, reading: Reading): { replyTo: QuotedMessage; forwardedFrom?: string } | undefined {
  const shared = listOf(event, "attachments").find((item) => item["is_share"] === true || item["is_msg_unfurl"] === true);
  if (shared === undefined) return undefined;
  const from = oneLine(textOf(shared, "author_name") ?? textOf(shared, "author_subname") ?? textOf(shared, "author_id") ?? "");
  const replyTo: QuotedMessage = {
    author: from,
    text: readText(textOf(shared, "text") ?? "", reading.self.userId, namesOf(reading.known)),
    attachments: attachmentsOf(shared),
    ...(typeof shared["ts"] === "string" ? { messageId: shared["ts"] } : {}),
    ...(shared["author_id"] === reading.self.userId ? { fromSelf: true } : {}),
  };
  return shared["is_share"] === true && from !== "" ? { replyTo, forwardedFrom: from } : { replyTo };
}

/** A changed text. Slack also sends `message_changed` for unfurls and own edits: those change nothing a person said. */
function edit(event: Fields, reading: Reading): InboundEvent | undefined {
  const { self } = reading;
  const changed = event["subtype"] === "message_changed" ? fieldsOf(event, "message") : event;
  const channelId = textOf(event, "channel");
  const ts = textOf(changed, "ts");
  const userId = textOf(changed, "user");
  const editedAt = textOf(fieldsOf(changed, "edited"), "ts");
  if (channelId === undefined || ts === undefined || userId === undefined || editedAt === undefined) return undefined;
  if (isOwn(changed, self) || changed["bot_id"] !== undefined) return undefined;
  const raw = textOf(changed, "text") ?? "";
  if (textOf(fieldsOf(event, "previous_message"), "text") === raw) return undefined;
  const chat = chatOf(reading, channelId, textOf(event, "channel_type"));
  const threadId = threadOf(changed, ts, chat, addressedBy({ ...changed, type: event["type"] }, raw, chat, self));
  return {
    kind: "edit",
    platform,
    botId: self.userId,
    key: keyOf(self, "edit", self.teamId, channelId, ts, editedAt),
    account: accountOf(reading, userId, teamsOf(changed)),
    chat,
    ...(threadId === undefined ? {} : { threadId }),
    at: millis(editedAt),
    messageId: ts,
    originalKey: messageKey(self, channelId, ts),
    text: readText(raw, self.userId, namesOf(reading.known)),
  };
}
