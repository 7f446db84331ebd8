/** Telegram passes the adapter suite: its descriptor over the Bot API emulator. The last poll's time limits are shortened, nothing else. */
import { TelegramAdapter, capabilities } from "../../adapters/telegram/adapter.js";
import type { Timings } from "../../adapters/telegram/intake.js";
import { adapterDeps } from "../support/adapter-io.js";
import { startTelegramEmulator, type Stored, type TelegramEmulator } from "../support/telegram/emulator.js";
import type { FaultPlan } from "../support/telegram/server.js";
import { describePlatformAdapter } from "./platform-adapter.contract.js";
import type { Act, Fault, Placed, PlaceName, PlatformDriver, Shown } from "./platform-adapter.descriptor.js";

const amy = 501;
const bob = 502;
const otherBot = 503;
const group = -1001000000000;
const basicGroup = -4000;
const topic = 42;

const timings: Timings = { requestMs: 500, pollMarginMs: 300, backoffMs: 50, backoffMaxMs: 400, webhookCheckMs: 200, confirmMs: 1_000 };

const idOf: Record<PlaceName, { chat: number; topic?: number }> = {
  dm: { chat: amy },
  group: { chat: group },
  thread: { chat: group, topic },
};

async function open(): Promise<PlatformDriver> {
  const emulator = await startTelegramEmulator();
  emulator.person(amy, { first_name: "Amy", username: "amy_a" });
  emulator.person(bob, { first_name: "Bob", username: "bob_b" });
  emulator.world.user(otherBot, { is_bot: true, first_name: "Other", username: "OtherTestBot" });
  emulator.group(group, "Friends");
  emulator.group(basicGroup, "Small", "group");
  emulator.topic(group, topic);
  const make = (token: string): TelegramAdapter =>
    new TelegramAdapter({
      ...adapterDeps(),
      settings: { token, enabled: true, apiRoot: emulator.url, mode: "polling", pollTimeoutSeconds: 1 },
      timings,
    });
  return {
    adapter: make(emulator.token),
    again: () => make(emulator.token),
    withBadCredentials: () => make("700123:WRONG-token_for-the-emulator"),
    botId: String(emulator.bot.id),
    secrets: [emulator.token, "WRONG-token_for-the-emulator", emulator.token.split(":")[1] ?? ""],
    places: {
      dm: { chatId: String(amy) },
      group: { chatId: String(group) },
      thread: { chatId: String(group), threadId: String(topic) },
    },
    act: (act) => Promise.resolve(perform(emulator, act)),
    async fail(fault, options = {}) {
      if (fault !== "refused-connection") return plan(emulator, fault, options);
      await emulator.down();
      setTimeout(() => void emulator.up(), 200);
    },
    shown: () => emulator.sent.map(shown),
    sendAttempts: () => emulator.calls.filter((call) => call.method === "sendMessage" || call.method === "sendDocument").length,
    breakTransport() {
      emulator.cut();
      return Promise.resolve();
    },
    async silenceTransport() {
      emulator.fail("getUpdates", { times: 1, never: "before" });
      // The poll that is open now ends with its normal answer; the one after it hangs.
      await emulator.waitFor(({ calls }) => calls.some((call) => call.outcome === "never"));
    },
    signs: () =>
      emulator.world.actions.map(({ chatId, threadId }) => ({
        chatId: String(chatId),
        ...(threadId === undefined ? {} : { threadId: String(threadId) }),
      })),
    reactions: (messageId) => emulator.world.rooms.get(amy)?.messages.get(Number(messageId))?.reactions ?? [],
    menu: () => [...emulator.world.commands.values()].flat().map((command) => command.command),
    stop: () => emulator.stop(),
  };
}

function shown({ message, history, file }: Stored): Shown {
  return {
    chatId: String(message.chat.id),
    messageId: String(message.message_id),
    ...(message.message_thread_id === undefined ? {} : { threadId: String(message.message_thread_id) }),
    text: message.text ?? message.caption ?? "",
    ...(message.reply_to_message === undefined ? {} : { replyTo: String(message.reply_to_message.message_id) }),
    ...(file === undefined ? {} : { file: { name: file.name, content: file.content.toString() } }),
    ...(message.reply_markup === undefined ? {} : { buttons: message.reply_markup.inline_keyboard.flat().map((button) => button.text) }),
    history,
  };
}

function placed(message: { chat: { id: number }; message_id: number; from?: { id: number }; message_thread_id?: number }): Placed {
  return {
    chatId: String(message.chat.id),
    messageId: String(message.message_id),
    accountId: String(message.from?.id ?? 0),
    ...(message.message_thread_id === undefined ? {} : { threadId: String(message.message_thread_id) }),
  };
}

function perform(emulator: TelegramEmulator, act: Act): Placed {
  const where = "in" in act ? idOf[act.in] : idOf.dm;
  const common = { from: "by" in act && act.by === "bob" ? bob : amy, ...(where.topic === undefined ? {} : { topic: where.topic }) };
  const say = (text: string, extra: object = {}): Placed => placed(emulator.say(where.chat, text, { ...common, ...extra }));
  switch (act.type) {
    case "message":
      return say(act.text);
    case "mention":
      return say(`@${emulator.bot.username.toUpperCase()} ${act.text}`);
    case "reply-to-bot": {
      const ours = emulator.say(where.chat, "an answer", { ...common, from: emulator.bot.id });
      return say(act.text, { replyTo: ours.message_id });
    }
    case "reply-to-image": {
      const image = emulator.world.add(
        emulator.world.rooms.get(where.chat) ?? emulator.group(where.chat, ""),
        { from: emulator.world.user(bob), caption: act.quoted, ...emulator.photo() },
        { ours: false },
      );
      return say(act.text, { replyTo: image.message.message_id });
    }
    case "command":
      return say(act.in === "dm" ? `/${act.name} ${act.args}` : `/${act.name}@${emulator.bot.username.toLowerCase()} ${act.args}`);
    case "command-for-other-bot":
      return say(`/${act.name}@other_bot`);
    case "image":
      return say(act.text, { fields: emulator.photo() });
    case "document":
      return say(act.text, { fields: emulator.document("big.pdf", "application/pdf", Buffer.from("x"), act.size) });
    case "album":
      return placed(emulator.album(where.chat, act.images, { at: 1, text: act.text }, common)[0] ?? { chat: { id: 0 }, message_id: 0 });
    case "long-text": {
      const first = say("x".repeat(4096));
      say(act.rest);
      return first;
    }
    case "forward":
      return say(act.text, { fields: { forward_origin: { type: "hidden_user", sender_user_name: act.from, date: 1 } } });
    case "markup":
      return say("some bold and code at site", {
        entities: [
          { type: "bold", offset: 5, length: 4 },
          { type: "code", offset: 14, length: 4 },
          { type: "text_link", offset: 22, length: 4, url: "https://example.test/a_b" },
        ],
      });
    case "mention-bob":
      return say(`Bob ${act.text}`, { entities: [{ type: "text_mention", offset: 0, length: 3, user: emulator.world.user(bob) }] });
    case "edit":
      return placed(emulator.edit(Number(act.message.chatId), Number(act.message.messageId), act.text));
    case "own": {
      const own = emulator.world.add(emulator.group(where.chat, ""), { from: emulator.bot, text: act.text }, { ours: true }).message;
      emulator.inject({ message: own });
      return placed(own);
    }
    case "other-bot":
      return say(act.literal ? `@${emulator.bot.username} ${act.text}` : act.text, { from: otherBot });
    case "button":
      emulator.press(Number(act.message.chatId), Number(act.message.messageId), act.data, amy);
      return act.message;
    case "bot-added":
    case "bot-removed":
      emulator.member(where.chat, act.type === "bot-added" ? "added" : "removed", amy);
      return { chatId: String(where.chat), messageId: "0", accountId: String(amy) };
    case "unreachable":
    case "reachable":
      emulator.member(where.chat, act.type === "reachable" ? "unblocked" : "blocked", amy);
      return { chatId: String(where.chat), messageId: "0", accountId: String(amy) };
    case "migrated": {
      const newId = -1009999999999;
      emulator.migrate(basicGroup, newId);
      return { chatId: String(basicGroup), messageId: "0", accountId: String(amy), migratedTo: String(newId) };
    }
    case "named": {
      emulator.world.user(amy, { first_name: act.name });
      return say(act.text);
    }
    case "malformed": {
      const odd: unknown[] = [
        null,
        7,
        [],
        {},
        { chat: null },
        { message_id: 1, chat: { id: "x" } },
        { message_id: 2, date: 0, chat: { id: amy, type: "private" }, from: { id: amy }, text: 42, entities: "no" },
      ];
      for (const message of odd) emulator.inject({ message });
      emulator.inject({ callback_query: { id: 5 } });
      emulator.inject({ my_chat_member: { chat: 1 } });
      emulator.inject({
        message: {
          message_id: 3,
          chat: { id: amy, type: "private" },
          from: { id: amy, is_bot: false, first_name: "Amy" },
          date: "yesterday",
          text: "hi",
        },
      });
      return { chatId: String(amy), messageId: "3", accountId: String(amy) };
    }
  }
}

const plans: Record<Exclude<Fault, "refused-connection">, FaultPlan> = {
  "rate-limited": { status: 429, description: "Too Many Requests: retry after 2" },
  "server-error": { status: 500, description: "Internal Server Error" },
  "html-error": { html502: "before" },
  "lost-answer": { hangUp: "after" },
  silence: { never: "after" },
  "markup-refused": {
    status: 400,
    description: "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 4",
  },
  "reply-gone": { status: 400, description: "Bad Request: message to be replied not found" },
  "thread-gone": { status: 400, description: "Bad Request: message thread not found" },
  "chat-gone": { status: 403, description: "Forbidden: bot was blocked by the user" },
  "chat-migrated": {
    status: 400,
    description: "Bad Request: group chat was upgraded to a supergroup chat",
    parameters: { migrate_to_chat_id: -1001 },
  },
  refused: { status: 400, description: "Bad Request: message is too long" },
};

function plan(
  emulator: TelegramEmulator,
  fault: keyof typeof plans,
  options: { times?: number; on?: "send" | "edit"; retryAfterMs?: number },
): void {
  const method = options.on === "edit" ? "editMessageText" : "sendMessage";
  const limited = fault === "rate-limited" ? { parameters: { retry_after: (options.retryAfterMs ?? 1_000) / 1000 } } : {};
  emulator.fail(method, { times: options.times ?? 1, ...plans[fault], ...limited });
}

describePlatformAdapter({
  name: "telegram",
  open,
  withoutActs: {},
  faults: {
    "refused-connection": "delivery.not-sent",
    "rate-limited": "delivery.rate-limited",
    "server-error": "delivery.not-sent",
    "html-error": "delivery.unknown",
    "lost-answer": "delivery.unknown",
    silence: "delivery.unknown",
    "markup-refused": "delivery.markup-refused",
    "reply-gone": "delivery.reply-gone",
    "thread-gone": "delivery.thread-gone",
    "chat-gone": "delivery.chat-gone",
    "chat-migrated": "delivery.chat-migrated",
    refused: "delivery.refused",
  },
  limit: { max: capabilities.maxPartLength, measure: (text) => text.length },
  without: {},
});
