/**
 * Slash commands, button presses and joining or leaving a channel; pure. A repeat of one act has the same `trigger_id`,
 * which makes the key; an `event_id` or envelope id would not do, since both may differ between repeats.
 */
import type { ButtonPress, ChatChange, InboundEvent, InboundMessage } from "../../src/domain/message.js";
import { slashCommand } from "./commands.js";
import { fieldsOf, listOf, textOf, type Fields } from "./fields.js";
import { accountOf, chatOf, keyOf, millis, namesOf, platform, type Reading } from "./place.js";
import { readText } from "./text-in.js";

/** How long Slack takes answers at a response address: 30 minutes (docs.slack.dev, "Handling user interaction"). */
const responseUrlMs = 30 * 60_000;

/** A slash command or a button press; anything else (modals, shortcuts: none are used) gives nothing. */
export function actEvent(body: Fields, reading: Reading): InboundEvent | undefined {
  if (textOf(body, "command") !== undefined) return slash(body, reading);
  if (body["type"] === "block_actions") return press(body, reading);
  return undefined;
}

function slash(body: Fields, reading: Reading): InboundMessage | undefined {
  const channelId = textOf(body, "channel_id");
  const userId = textOf(body, "user_id");
  const triggerId = textOf(body, "trigger_id");
  if (channelId === undefined || userId === undefined || triggerId === undefined) return undefined;
  const { self, now } = reading;
  const typed = readText(textOf(body, "text") ?? "", self.userId, namesOf(reading.known));
  const command = slashCommand(typed);
  const name = textOf(body, "channel_name");
  const timeZone = reading.known.person(userId)?.timeZone;
  const chat = chatOf(reading, channelId, undefined, name === "privategroup" ? undefined : name);
  return {
    kind: "message",
    platform,
    botId: self.userId,
    key: keyOf(self, "command", triggerId),
    account: accountOf(reading, userId, [textOf(body, "team_id")], textOf(body, "user_name")),
    chat,
    at: now,
    messageId: triggerId,
    text: `${textOf(body, "command") ?? ""} ${typed}`.trim(),
    addressed: chat.kind === "dm" ? "dm" : "command",
    command,
    attachments: [],
    route: { platform, chatId: channelId, hint: responseHint(body, now) },
    ...(timeZone === undefined ? {} : { timeZone }),
  };
}

function press(body: Fields, reading: Reading): ButtonPress | undefined {
  const action = listOf(body, "actions")[0] ?? {};
  const container = fieldsOf(body, "container");
  const message = fieldsOf(body, "message");
  const user = fieldsOf(body, "user");
  const channel = fieldsOf(body, "channel");
  const channelId = textOf(channel, "id") ?? textOf(container, "channel_id");
  const userId = textOf(user, "id");
  const data = textOf(action, "value");
  const messageId = textOf(container, "message_ts") ?? textOf(message, "ts");
  const trigger = textOf(body, "trigger_id") ?? textOf(action, "action_ts");
  if (channelId === undefined || userId === undefined || data === undefined || messageId === undefined || trigger === undefined)
    return undefined;
  const threadId = textOf(message, "thread_ts") ?? textOf(container, "thread_ts");
  const pressedAt = textOf(action, "action_ts");
  const { self, now } = reading;
  return {
    kind: "button",
    platform,
    botId: self.userId,
    key: keyOf(self, "button", trigger),
    account: accountOf(reading, userId, [textOf(user, "team_id")], textOf(user, "name")),
    chat: chatOf(reading, channelId, undefined, textOf(channel, "name")),
    ...(threadId === undefined ? {} : { threadId }),
    at: pressedAt === undefined ? now : millis(pressedAt),
    data,
    messageId,
    route: { platform, chatId: channelId, ...(threadId === undefined ? {} : { threadId }), hint: responseHint(body, now) },
  };
}

function responseHint(body: Fields, now: number): { readonly responseUrl?: string; readonly responseUntil?: number } {
  const url = textOf(body, "response_url");
  return url === undefined ? {} : { responseUrl: url, responseUntil: now + responseUrlMs };
}

/** The bot was added to a channel or taken out of one; other people's coming and going gives nothing. */
export function membershipEvent(event: Fields, reading: Reading): ChatChange | undefined {
  const channelId = textOf(event, "channel");
  const at = textOf(event, "event_ts");
  if (channelId === undefined || at === undefined) return undefined;
  const { self } = reading;
  const joined = event["type"] === "member_joined_channel";
  if (joined && event["user"] !== self.userId) return undefined;
  const actor = textOf(event, joined ? "inviter" : "actor_id") ?? self.userId;
  return {
    kind: "chat",
    platform,
    botId: self.userId,
    key: keyOf(self, "chat", self.teamId, channelId, at),
    account: accountOf(reading, actor, []),
    chat: chatOf(reading, channelId, undefined),
    at: millis(at),
    change: { type: joined ? "bot-added" : "bot-removed" },
  };
}
