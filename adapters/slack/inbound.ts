/**
 * A Slack payload to an inbound event, or to nothing; pure. A mention in a channel arrives as `message` and as
 * `app_mention`: both must give the same event, so nothing here may depend on which of them it was.
 */
import type { Addressed, ChatRef, InboundEvent, InboundMessage, QuotedMessage } from "../../src/domain/message.js";
import { attachmentsOf } from "./attachments.js";
import { commandIn } from "./commands.js";
import { fieldsOf, listOf, textOf, type Fields } from "./fields.js";
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
  const isEvent = body["type"] === "event_callback";
  const event = isEvent ? fieldsOf(body, "event") : body;
  const source = event["subtype"] === "message_changed" ? fieldsOf(event, "message") : event;
  const dropped = isEvent && event["type"] === "message" && !isSpoken(source, event);
  if (dropped || isOwn(source, self)) return { people: [], channels: [] };
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
  const said = {
    text: readText(raw, self.userId, namesOf(reading.known)),
    attachments: attachmentsOf(event),
    ...sharedMessage(event, reading),
  };
  const account = author(event, authorId, reading);
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
    ...said,
    ...(addressed === undefined ? {} : { addressed }),
    // In a channel the answer opens a thread under the message, also when the gateway decides that it is addressed.
    route: routeOf(channelId, threadId ?? (chat.kind === "dm" ? undefined : ts), ts),
    ...(account.isBot ? fromBot(event, raw, self) : fromPerson(event, said, chat, addressed, reading)),
  };
}

/** Its own words, or another bot's: ignored unless they name this one. */
function fromBot(event: Fields, raw: string, self: Self): Pick<InboundMessage, "ignore" | "literalMention"> {
  if (isOwn(event, self)) return { ignore: "own" };
  return mentions(raw, self.userId) ? { literalMention: true } : { ignore: "bot" };
}

type Said = Pick<InboundMessage, "text" | "attachments" | "replyTo">;

function fromPerson(
  event: Fields,
  said: Said,
  chat: ChatRef,
  addressed: Addressed | undefined,
  reading: Reading,
): Pick<InboundMessage, "command" | "ignore" | "timeZone"> {
  const command = commandIn(said.text, reading.commands, {
    marked: textOf(event, "thread_ts") !== undefined || chat.kind === "dm" || addressed !== undefined,
    bare: addressed === "mention",
  });
  const empty = said.text === "" && said.attachments.length === 0 && said.replyTo === undefined && addressed !== "mention";
  const timeZone = reading.known.person(textOf(event, "user") ?? "")?.timeZone;
  return {
    ...(command === undefined ? {} : { command }),
    ...(empty ? { ignore: "unreadable" } : {}),
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

function author(event: Fields, authorId: string, reading: Reading): InboundMessage["account"] {
  const profile = textOf(fieldsOf(event, "bot_profile"), "name");
  const account = accountOf(reading, authorId, teamsOf(event), textOf(event, "username") ?? profile);
  const isBot = account.isBot || isOwn(event, reading.self) || event["bot_id"] !== undefined || event["subtype"] === "bot_message";
  return { ...account, isBot };
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
