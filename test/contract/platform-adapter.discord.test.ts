/** Discord passes the adapter suite: its descriptor over the emulator of REST v10 and Gateway v10. Only waits are shortened. */
import { DiscordAdapter } from "../../adapters/discord/adapter.js";
import { standardTimings, type Timings } from "../../adapters/discord/timings.js";
import { adapterDeps } from "../support/adapter-io.js";
import { startDiscordEmulator, type DiscordEmulator } from "../support/discord/emulator.js";
import type { Failure } from "../support/discord/rest-server.js";
import { type Channel, snowflake, type Stored, type User } from "../support/discord/world.js";
import { describePlatformAdapter } from "./platform-adapter.contract.js";
import type { Act, Fault, Placed, PlatformDriver, Shown } from "./platform-adapter.descriptor.js";

const timings: Timings = {
  ...standardTimings,
  requestMs: 600,
  startMs: 5_000,
  reconnectMs: 20,
  loginMs: 50,
  reconnectMaxMs: 100,
  catchUpMs: 2_000,
};
const createRoute = "POST /channels/:channel/messages";
const editRoute = "PATCH /channels/:channel/messages/:message";
const wrongToken = "MTIzNDU2Nzg5.Wrong0.token-for-the-emulator";
/** How long nobody listens when connections are refused. */
const refusedMs = 250;

async function open(): Promise<PlatformDriver> {
  const emulator = await startDiscordEmulator({ heartbeatMs: 250 });
  const { world } = emulator;
  world.addedBy = world.amy.id;
  const make = (token: string): DiscordAdapter =>
    new DiscordAdapter({ settings: { token, enabled: true, apiUrl: emulator.apiUrl, thread: "never" }, deps: adapterDeps(), timings });
  return {
    adapter: make(emulator.token),
    again: () => make(emulator.token),
    withBadCredentials: () => make(wrongToken),
    botId: world.bot.id,
    secrets: [emulator.token, wrongToken],
    places: { dm: { chatId: world.dm.id }, group: { chatId: world.group.id }, thread: { chatId: world.thread.id } },
    act: (act) => Promise.resolve(perform(emulator, act)),
    async fail(fault, options = {}) {
      if (fault === "refused-connection") await emulator.refuseFor(refusedMs);
      else
        emulator.fail(options.on === "edit" ? editRoute : createRoute, {
          times: options.times ?? 1,
          ...plans[fault],
          ...(fault === "rate-limited" ? { retryAfter: (options.retryAfterMs ?? 1_000) / 1_000 } : {}),
        });
    },
    shown: () => emulator.sent().map(shown),
    sendAttempts: () => emulator.callsOf(createRoute).length,
    breakTransport() {
      emulator.gateway.drop();
      return Promise.resolve();
    },
    silenceTransport() {
      emulator.gateway.silence();
      return Promise.resolve();
    },
    signs: () => emulator.typing.map(({ channelId }) => ({ chatId: channelId })),
    reactions: (messageId) => [...(world.messages.get(messageId)?.reactions ?? [])],
    menu: () => world.commands.map((command) => command.name),
    stop: () => emulator.stop(),
  };
}

function shown(message: Stored): Shown {
  const [file] = message.files;
  const rows = message.components as { components: { label: string }[] }[];
  return {
    chatId: message.channelId,
    messageId: message.id,
    text: message.content,
    ...(message.replyTo === undefined ? {} : { replyTo: message.replyTo }),
    ...(file === undefined ? {} : { file }),
    ...(rows.length === 0 ? {} : { buttons: rows.flatMap((row) => row.components.map((button) => button.label)) }),
    history: message.history,
  };
}

function perform(emulator: DiscordEmulator, act: Act): Placed {
  const { world } = emulator;
  const where: Channel = "in" in act ? world[act.in] : world.dm;
  const placed = (message: Stored): Placed => ({ chatId: message.channelId, messageId: message.id, accountId: message.authorId });
  const say = (
    text: string,
    more: { by?: User; replyTo?: string; extra?: Record<string, unknown>; file?: { name: string; type: string; size?: number } } = {},
  ): Placed =>
    placed(
      emulator.say({
        in: where,
        text,
        ...(more.by === undefined ? {} : { by: more.by }),
        ...(more.replyTo === undefined ? {} : { replyTo: more.replyTo }),
        ...(more.extra === undefined ? {} : { extra: more.extra }),
        ...(more.file === undefined ? {} : { files: [{ ...more.file, content: new Uint8Array(1024) }] }),
      }),
    );
  const picture = { name: "picture.png", type: "image/png" };
  switch (act.type) {
    case "message":
      return say(act.text, { by: act.by === "bob" ? world.bob : world.amy });
    case "mention":
      return say(`<@${world.bot.id}> ${act.text}`);
    case "reply-to-bot":
      return say(act.text, { replyTo: emulator.say({ in: where, by: world.bot, text: "an answer", unseen: true }).id });
    case "reply-to-image": {
      const files = [{ ...picture, content: new Uint8Array(1024) }];
      return say(act.text, { replyTo: emulator.say({ in: where, by: world.bob, text: act.quoted, files, unseen: true }).id });
    }
    case "command": {
      const made = emulator.command({ in: where, name: act.name, args: act.args });
      return { chatId: where.id, messageId: made.id, accountId: world.amy.id };
    }
    case "image":
      return say(act.text, { file: picture });
    case "document":
      return say(act.text, { file: { name: "big.pdf", type: "application/pdf", size: act.size } });
    case "long-text": {
      const first = say("x".repeat(2_000));
      say(act.rest);
      return first;
    }
    case "forward": {
      // Discord names the channel a message was forwarded from, never its author.
      const from = world.channel({ type: 0, name: act.from, guildId: world.guildId });
      emulator.raw("CHANNEL_CREATE", world.wireChannel(from));
      const snapshot = {
        message: {
          type: 0,
          content: act.text,
          embeds: [],
          attachments: [],
          timestamp: new Date().toISOString(),
          edited_timestamp: null,
          flags: 0,
          mentions: [],
          mention_roles: [],
        },
      };
      return say("", {
        extra: {
          message_reference: { type: 1, channel_id: from.id, message_id: snowflake(), guild_id: world.guildId },
          message_snapshots: [snapshot],
        },
      });
    }
    case "markup":
      return say("some **bold** and `code` at [site](https://example.test/a_b)");
    case "mention-bob":
      return say(`<@${world.bob.id}> ${act.text}`);
    case "edit":
      emulator.edit(act.message.messageId, act.text);
      return act.message;
    case "own":
      return say(act.text, { by: world.bot });
    case "other-bot":
      return say(act.literal ? `<@${world.bot.id}> ${act.text}` : act.text, { by: world.otherBot });
    case "button":
      emulator.press({ messageId: act.message.messageId, data: act.data });
      return act.message;
    case "bot-added":
      return { chatId: emulator.addGuild(), messageId: "0", accountId: world.amy.id };
    case "bot-removed":
      emulator.removeGuild();
      return { chatId: world.guildId, messageId: "0", accountId: "unknown" };
    case "named":
      return say(act.text, { by: world.user("bob-too", act.name) });
    case "malformed": {
      const author = world.wireUser(world.amy.id);
      const odd: unknown[] = [
        null,
        7,
        [],
        {},
        { channel_id: 5 },
        { channel_id: world.dm.id },
        { channel_id: world.dm.id, id: "x", author: 3 },
        { channel_id: world.dm.id, channel_type: 1, id: snowflake(), author, content: 42, attachments: "none", mentions: 1 },
      ];
      for (const d of odd) for (const t of ["MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE", "MESSAGE_DELETE"]) emulator.raw(t, d);
      return { chatId: world.dm.id, messageId: "0", accountId: world.amy.id };
    }
    default:
      throw new Error(`Discord has no act ${act.type}`);
  }
}

const plans: Record<Exclude<Fault, "refused-connection">, Failure> = {
  "rate-limited": { status: 429 },
  "server-error": { status: 500 },
  "html-error": { status: 502, html: true },
  "lost-answer": { hangUp: "after" },
  silence: { silence: true },
  "markup-refused": {},
  "reply-gone": {
    status: 400,
    code: 50_035,
    errors: { message_reference: { _errors: [{ code: "REPLIES_UNKNOWN_MESSAGE", message: "Unknown message" }] } },
  },
  "thread-gone": {},
  "chat-gone": { status: 403, code: 50_007 },
  "chat-migrated": {},
  refused: {
    status: 400,
    code: 50_035,
    errors: { content: { _errors: [{ code: "BASE_TYPE_MAX_LENGTH", message: "Must be 2000 or fewer in length." }] } },
  },
};

describePlatformAdapter({
  name: "discord",
  open,
  withoutActs: {
    "command-for-other-bot": { skip: "an application command goes to its own application only" },
    album: { skip: "all files of one act come in one message" },
    unreachable: { skip: "Discord does not tell when a person blocks the bot" },
    reachable: { skip: "Discord does not tell when a person blocks the bot" },
    migrated: { skip: "chats keep their id" },
  },
  faults: {
    "refused-connection": "delivery.not-sent",
    "rate-limited": "delivery.rate-limited",
    "server-error": "delivery.not-sent",
    "html-error": "delivery.unknown",
    "lost-answer": "delivery.unknown",
    silence: "delivery.unknown",
    "markup-refused": { skip: "Discord shows markup it cannot read as text" },
    "reply-gone": "delivery.reply-gone",
    "thread-gone": { skip: "a thread is a chat of its own" },
    "chat-gone": "delivery.chat-gone",
    "chat-migrated": { skip: "chats keep their id" },
    refused: "delivery.refused",
  },
  limit: { max: 2_000, measure: (text) => text.length },
  without: {},
});
