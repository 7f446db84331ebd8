/** Slack passes the adapter suite over Socket Mode: its descriptor over the emulator. Waiting times are shortened, nothing else. */
import { SlackAdapter } from "../../adapters/slack/adapter.js";
import type { Timing } from "../../adapters/slack/timing.js";
import type { SlackSettings } from "../../config/schema.js";
import { adapterDeps } from "../support/adapter-io.js";
import { SlackEmulator, type Failure, type Spoken } from "../support/slack/emulator.js";
import type { SlackMessage } from "../support/slack/workspace.js";
import { describePlatformAdapter } from "./platform-adapter.contract.js";
import type { Act, Fault, Placed, PlaceName, PlatformDriver, Shown } from "./platform-adapter.descriptor.js";

const timing: Timing = {
  callMs: 1_000,
  namesMs: 300,
  helloMs: 3_000,
  pongMs: 600,
  aliveMs: 1_500,
  reconnectMs: { first: 20, longest: 200 },
  closeMs: 200,
  downloadIdleMs: 2_000,
};

const channels: Record<PlaceName, string> = { dm: "D0AMY", group: "C0GENERAL", thread: "C0GENERAL" };

async function open(): Promise<PlatformDriver> {
  const emulator = await new SlackEmulator({ redeliverMs: 500 }).start();
  const { botUser } = emulator.workspace;
  const make = (botToken: string): SlackAdapter => {
    const settings: SlackSettings = {
      botToken,
      appToken: emulator.appToken,
      signingSecret: undefined,
      enabled: true,
      mode: "socket",
      apiUrl: emulator.apiUrl,
      fileHost: emulator.fileHost,
    };
    return new SlackAdapter(settings, adapterDeps(), timing);
  };
  // Said before the app is there: an old message that others answer to.
  const root = emulator.workspace.nextTs();
  emulator.workspace.channels
    .get(channels.thread)
    ?.messages.push({ ts: root, user: "U0BOB", text: "a thread", reactions: new Map(), history: [] });
  return {
    adapter: make(emulator.botToken),
    again: () => make(emulator.botToken),
    withBadCredentials: () => make("xoxb-wrong-token"),
    botId: botUser.id,
    secrets: [emulator.botToken, emulator.appToken, "xoxb-wrong-token", emulator.signingSecret],
    places: { dm: { chatId: channels.dm }, group: { chatId: channels.group }, thread: { chatId: channels.thread, threadId: root } },
    act: (act) => Promise.resolve(perform(emulator, act, root)),
    fail: (fault, options = {}) => {
      const limited = fault === "rate-limited" ? { retryAfter: (options.retryAfterMs ?? 1_000) / 1000 } : {};
      emulator.fail(options.on === "edit" ? "chat.update" : "chat.postMessage", {
        times: options.times ?? 1,
        ...failures[fault],
        ...limited,
      });
    },
    shown: () => emulator.sent().map((message) => shown(emulator, message)),
    sendAttempts: () => emulator.callsOf("chat.postMessage").length + emulator.callsOf("files.completeUploadExternal").length,
    breakTransport() {
      emulator.source.cut();
      return Promise.resolve();
    },
    silenceTransport() {
      emulator.source.silence();
      return Promise.resolve();
    },
    signs: () =>
      emulator.callsOf("reactions.add").map(({ args }) => {
        const message = emulator.workspace.find(String(args["channel"]), String(args["timestamp"]));
        return { chatId: String(args["channel"]), ...(message?.threadTs === undefined ? {} : { threadId: message.threadTs }) };
      }),
    reactions: (messageId) =>
      [...emulator.workspace.channels.values()].flatMap(({ messages }) =>
        messages.filter(({ ts }) => ts === messageId).flatMap(({ reactions }) => [...reactions.keys()]),
      ),
    menu: () => [],
    stop: () => emulator.stop(),
  };
}

function shown(emulator: SlackEmulator, message: SlackMessage & { readonly channel: string }): Shown {
  const blocks = message.blocks ?? [];
  const texts = blocks
    .map((block) => (typeof block["text"] === "string" ? block["text"] : ((block["text"] as { text?: string } | undefined)?.text ?? "")))
    .filter((text) => text !== "");
  const file = message.files?.[0];
  const buttons = blocks
    .filter((block) => block["type"] === "actions")
    .flatMap((block) => block["elements"] as { text: { text: string } }[]);
  return {
    chatId: message.channel,
    messageId: file === undefined ? message.ts : `file:${file.id}`,
    ...(message.threadTs === undefined ? {} : { threadId: message.threadTs }),
    text: texts.length > 0 ? texts.join("\n") : message.text,
    ...(file === undefined
      ? {}
      : { file: { name: file.name, content: emulator.workspace.files.get(file.id)?.bytes.toString("utf8") ?? "" } }),
    ...(buttons.length === 0 ? {} : { buttons: buttons.map((button) => button.text.text) }),
    history: message.history.map(({ text }) => text),
  };
}

function perform(emulator: SlackEmulator, act: Act, root: string): Placed {
  const { botUser } = emulator.workspace;
  const place = "in" in act ? act.in : "dm";
  const channel = channels[place];
  const user = "by" in act && act.by === "bob" ? "U0BOB" : "U0AMY";
  const say = (text: string, more: Partial<Spoken> = {}): Placed => {
    const { ts } = emulator.say({ channel, user, text, ...(place === "thread" ? { threadTs: root } : {}), ...more });
    return { chatId: channel, messageId: ts, accountId: more.user ?? user, ...(place === "thread" ? { threadId: root } : {}) };
  };
  const nothing: Placed = { chatId: channel, messageId: "0", accountId: user };
  switch (act.type) {
    case "message":
      return say(act.text);
    case "mention":
      return say(`<@${botUser.id}> ${act.text}`);
    case "command":
      emulator.slash({ channel, user, text: `${act.name} ${act.args}` });
      return nothing;
    case "command-for-other-bot":
      return say(`!${act.name}`);
    case "image":
      return say(act.text, { subtype: "file_share", files: [emulator.addFile("photo.png", "image/png", Buffer.alloc(1024, 7))] });
    case "document":
      return say(act.text, {
        subtype: "file_share",
        files: [emulator.addFile("big.pdf", "application/pdf", Buffer.from("x"), { size: act.size })],
      });
    case "markup":
      return say("some *bold* and `code` at <https://example.test/a_b|site>");
    case "mention-bob":
      return say(`<@U0BOB> ${act.text}`);
    case "edit":
      emulator.change(act.message.chatId, act.message.messageId, act.text);
      return act.message;
    case "own":
      return say(act.text, { user: botUser.id });
    case "other-bot":
      return say(act.literal ? `<@${botUser.id}> ${act.text}` : act.text, { user: "U0ROBOT", subtype: "bot_message" });
    case "button":
      emulator.press({ channel: act.message.chatId, ts: act.message.messageId, user, value: act.data });
      return act.message;
    case "bot-added":
      emulator.event({
        type: "member_joined_channel",
        user: botUser.id,
        channel,
        channel_type: "C",
        team: emulator.workspace.teamId,
        inviter: user,
        event_ts: emulator.workspace.nextTs(),
      });
      return nothing;
    case "bot-removed":
      emulator.event({ type: "channel_left", channel, actor_id: user, event_ts: emulator.workspace.nextTs() });
      return nothing;
    case "named": {
      emulator.workspace.addUser({
        id: "U0NAMED",
        name: "named",
        realName: act.name,
        displayName: act.name,
        teamId: emulator.workspace.teamId,
        isBot: false,
      });
      return say(act.text, { user: "U0NAMED" });
    }
    case "malformed": {
      for (const frame of [
        "null",
        "7",
        "{}",
        "not json",
        '{"type":"events_api"}',
        '{"type":"events_api","envelope_id":"e1","payload":{}}',
        '{"type":"interactive","envelope_id":"e2","payload":{"type":"block_actions"}}',
        '{"type":"slash_commands","envelope_id":"e3","payload":{"command":7}}',
      ]) {
        emulator.source.raw(frame);
      }
      emulator.event({ type: "message" });
      emulator.event({ type: "message", channel: 5, ts: 7, user: [], text: {} });
      emulator.event({ type: "message", subtype: "message_changed", channel: "D0AMY", message: "x", ts: "1.2" });
      emulator.event({ type: "app_mention", channel: "C0GENERAL" });
      emulator.event({
        type: "message",
        channel: "D0AMY",
        channel_type: "im",
        user: "U0AMY",
        ts: "12.000001",
        text: null,
        files: "no",
        blocks: {},
        attachments: [1],
      });
      emulator.event({ type: "member_joined_channel", user: botUser.id });
      return nothing;
    }
    default:
      throw new Error(`Slack has no ${act.type}`);
  }
}

const failures: Record<Fault, Failure> = {
  "refused-connection": {},
  "rate-limited": {},
  "server-error": { status: 503, error: "service_unavailable" },
  "html-error": { status: 502, html: true },
  "lost-answer": { hangup: "after" },
  silence: { silent: true },
  "markup-refused": { error: "invalid_blocks" },
  "reply-gone": {},
  "thread-gone": { error: "thread_not_found" },
  "chat-gone": { error: "is_archived" },
  "chat-migrated": {},
  refused: { error: "msg_too_long" },
};

describePlatformAdapter({
  name: "slack",
  open,
  withoutActs: {
    "reply-to-bot": {
      skip: "Slack has threads instead of replies; a thread under the bot's message is in unit/adapters/slack/inbound.test.ts",
    },
    "reply-to-image": { skip: "Slack has threads instead of replies" },
    album: { skip: "Slack puts all files of a message into one event" },
    "long-text": { skip: "Slack's clients refuse a longer text instead of cutting it" },
    forward: {
      skip: "Slack puts the forwarded message and what is said about it into one event; shown in unit/adapters/slack/inbound.test.ts",
    },
    unreachable: { skip: "nobody can block an app on Slack" },
    reachable: { skip: "nobody can block an app on Slack" },
    migrated: { skip: "a Slack channel keeps its id" },
  },
  faults: {
    "refused-connection": { skip: "the emulator cannot refuse one call and take the next; shown in unit/adapters/slack/sending.test.ts" },
    "rate-limited": "delivery.rate-limited",
    "server-error": "delivery.not-sent",
    "html-error": "delivery.unknown",
    "lost-answer": "delivery.unknown",
    silence: "delivery.unknown",
    "markup-refused": "delivery.markup-refused",
    "reply-gone": { skip: "Slack has no replies" },
    "thread-gone": "delivery.thread-gone",
    "chat-gone": "delivery.chat-gone",
    "chat-migrated": { skip: "a Slack channel keeps its id" },
    refused: "delivery.refused",
  },
  limit: { max: 12_000, measure: (text) => text.length },
  without: {
    replies: { skip: "Slack has threads instead of replies" },
    menu: { skip: "Slack's one command is in the app manifest" },
  },
});
