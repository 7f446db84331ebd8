import fc from "fast-check";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readUpdate } from "../../../../adapters/telegram/inbound.js";
import type { InboundEvent, InboundMessage } from "../../../../src/domain/message.js";

const self = { id: "700123", username: "MnemeTestBot" };
const now = 1_764_450_100_000;

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../fixtures/telegram/${name}.json`, import.meta.url), "utf8"));
}

const read = (name: string): InboundEvent | undefined => readUpdate(fixture(name), self, now);

function message(name: string): InboundMessage {
  const event = read(name);
  if (event?.kind !== "message") throw new Error(`${name} is no message`);
  return event;
}

describe("Telegram messages", () => {
  it("reads a direct message in full", () => {
    expect(read("dm-text")).toEqual({
      kind: "message",
      platform: "telegram",
      botId: "700123",
      key: "telegram:700123:message:501:11",
      account: { id: "501", displayName: "Amy Adams", handle: "amy_a", isBot: false },
      chat: { id: "501", kind: "dm" },
      at: 1_764_450_000_000,
      messageId: "11",
      text: "hello, how are you?",
      addressed: "dm",
      attachments: [],
      route: { platform: "telegram", chatId: "501" },
    });
  });

  it("keeps ids beyond 32 bits exact", () => {
    expect(message("group-plain")).toMatchObject({
      account: { id: "6000000502" },
      chat: { id: "-1001234567890", kind: "group", title: "Friends" },
    });
  });

  it("turns entities into Markdown", () => {
    expect(message("dm-markup").text).toBe("**bold** and `code`\n```js\nlet x = 1;\n```\nsee [site](https://example.test/a_b)");
  });

  it("answers in groups as a reply, in direct messages not", () => {
    expect(message("group-mention").route).toEqual({ platform: "telegram", chatId: "-1001234567890", replyTo: "32" });
    expect(message("dm-text").route).not.toHaveProperty("replyTo");
  });

  it.each([
    ["dm-voice", { kind: "voice", mimeType: "audio/ogg", ref: { fileId: "AwACvoice" } }],
    ["dm-sticker", { kind: "sticker", name: "sticker 🔥.webp", mimeType: "image/webp" }],
    ["dm-animation", { kind: "video", name: "cat.mp4", mimeType: "video/mp4" }],
    ["album-part-1", { kind: "image", mimeType: "image/jpeg", size: 98000, ref: { fileId: "AgAClarge1" } }],
  ])("names the one attachment of %s", (name, attachment) => {
    expect(message(name).attachments).toEqual([expect.objectContaining(attachment)]);
  });

  it("IN-16: says the size of a large file and keeps its caption", () => {
    expect(message("dm-document-25mb")).toMatchObject({
      text: "summarise",
      attachments: [{ kind: "document", name: "report.pdf", size: 25_000_000 }],
    });
  });

  it.each([
    ["dm-poll", "[poll: Tea? (yes / no)]"],
    ["dm-contact", "[contact: Carla C, +491234]"],
    ["dm-venue", "[place: Cafe, Main St 1 48.1, 11.5]"],
  ])("puts %s into words", (name, text) => {
    expect(message(name).text).toBe(text);
  });

  it("stores what cannot be shown as unreadable, and notices by Telegram not at all", () => {
    expect(message("dm-story").ignore).toBe("unreadable");
    expect(read("group-member-joined")).toBeUndefined();
  });

  it("ignores channel posts, also those that Telegram copies into a group", () => {
    expect(read("channel-post")).toBeUndefined();
    expect(read("group-linked-channel-post")).toBeUndefined();
  });

  it("takes an anonymous administrator for the group, not for a bot", () => {
    expect(message("group-anonymous-admin")).toMatchObject({
      account: { id: "-1001234567890", isBot: false },
      addressed: "mention",
      text: "hi",
    });
  });

  it("AC-09: marks other bots", () => {
    expect(message("group-other-bot")).toMatchObject({ ignore: "bot", account: { isBot: true } });
  });
});

describe("being addressed", () => {
  it("strips its own mention in any letter case, with the comma behind it", () => {
    expect(message("group-mention")).toMatchObject({ addressed: "mention", text: "what's up?" });
  });

  it("strips its mention inside a sentence and keeps other people's", () => {
    expect(message("group-mention-inside")).toMatchObject({ addressed: "mention", text: "what does think of @bob?" });
  });

  it("knows a mention by account id", () => {
    expect(message("group-text-mention")).toMatchObject({ addressed: "mention", text: "and Bob: hi" });
  });

  it("takes a reply to itself as addressed", () => {
    expect(message("group-reply-to-bot")).toMatchObject({
      addressed: "reply",
      replyTo: { fromSelf: true, text: "once upon a time", messageId: "30" },
    });
  });

  it("IN-07: accepts its own name behind a command in any letter case", () => {
    expect(message("group-command-for-us")).toMatchObject({
      addressed: "command",
      command: { name: "new", args: "with args" },
      text: "/new with args",
    });
  });

  it("IN-07: leaves another bot's command alone, even in a reply to this bot", () => {
    const event = message("group-command-for-other");
    expect(event.addressed).toBeUndefined();
    expect(event.command).toBeUndefined();
  });

  it("reads a bare command in a group as a command that is not addressed", () => {
    const event = message("group-command-bare");
    expect(event).toMatchObject({ command: { name: "new", args: "" } });
    expect(event.addressed).toBeUndefined();
  });

  it("reads a command behind a mention", () => {
    expect(message("group-mention-then-command")).toMatchObject({ addressed: "mention", command: { name: "status", args: "" } });
  });

  it("reads commands in any letter case", () => {
    expect(message("dm-command")).toMatchObject({ command: { name: "search", args: "red shoes" }, text: "/search red shoes" });
  });

  it("takes commands and mentions in a forwarded message for quoted words", () => {
    const event = message("dm-forward");
    expect(event.command).toBeUndefined();
    expect(event).toMatchObject({
      forwardedFrom: "Bob",
      text: "/stop everything @MnemeTestBot",
      partial: { group: "forward", idleMs: 400 },
    });
  });
});

describe("topics", () => {
  it("DL-16: a message in a topic carries it, and so does its route", () => {
    expect(message("topic-message")).toMatchObject({ threadId: "42", route: { threadId: "42", chatId: "-1002234567890" } });
  });

  it("does not take the notice that opened a topic for a message replied to", () => {
    const event = message("topic-message");
    expect(event.replyTo).toBeUndefined();
    expect(event.addressed).toBeUndefined();
    expect(message("topic-reply")).toMatchObject({ addressed: "reply", replyTo: { text: "an answer" } });
  });

  it("IN-06: a thread id without is_topic_message is no topic", () => {
    const event = message("general-topic-reply");
    expect(event.threadId).toBeUndefined();
    expect(event.route).not.toHaveProperty("threadId");
    expect(event.replyTo).toMatchObject({ author: "Bob", text: "hey" });
  });

  it("DL-14: topic 1 (General) is never named", () => {
    expect(message("topic-one").route).not.toHaveProperty("threadId");
  });
});

describe("parts of one act", () => {
  it("IN-02: the parts of an album share a group and wait 800 ms", () => {
    const parts = [1, 2, 3].map((part) => message(`album-part-${part}`));
    expect(parts.map((part) => part.partial)).toEqual([1, 2, 3].map(() => ({ group: "album:13579", idleMs: 800 })));
    expect(parts.map((part) => part.text)).toEqual(["", "compare these", ""]);
  });

  it("IN-03: text of 3996 units or more may have a rest; shorter text, captions and commands do not wait", () => {
    const of = (text: string, extra: object = {}): InboundMessage["partial"] => {
      const event = readUpdate(
        {
          update_id: 1,
          message: {
            message_id: 1,
            date: 1,
            chat: { id: 5, type: "private" },
            from: { id: 5, is_bot: false, first_name: "A" },
            text,
            ...extra,
          },
        },
        self,
        now,
      );
      return event?.kind === "message" ? event.partial : undefined;
    };
    expect(of("x".repeat(3996))).toEqual({ group: "long-text", idleMs: 2000 });
    expect(of("x".repeat(3995))).toBeUndefined();
    expect(of(`/search ${"x".repeat(4080)}`, { entities: [{ type: "bot_command", offset: 0, length: 7 }] })).toBeUndefined();
  });
});

describe("quotes", () => {
  it("IN-05: carry the picture of the message replied to", () => {
    expect(message("dm-reply-to-photo").replyTo).toMatchObject({
      author: "Amy Adams",
      text: "my holiday",
      attachments: [{ kind: "image", ref: { fileId: "AgAClarge9" } }],
    });
  });

  it("hold the part that was chosen", () => {
    expect(message("dm-reply-quote").replyTo).toMatchObject({ text: "many parts", fromSelf: true });
  });

  it("reach into other chats", () => {
    expect(message("dm-external-reply").replyTo).toMatchObject({ author: "News", text: "breaking", attachments: [{ kind: "image" }] });
  });
});

describe("other events", () => {
  it("IN-01: an edit points at its message and is keyed by the time of the edit", () => {
    expect(read("dm-edited")).toMatchObject({
      kind: "edit",
      key: "telegram:700123:edit:501:11:1764450060",
      originalKey: "telegram:700123:message:501:11",
      text: "hello, how is it going?",
      at: 1_764_450_060_000,
    });
  });

  it("a pressed button keeps its topic, also under a message too old to be shown", () => {
    expect(read("button-pressed")).toMatchObject({
      kind: "button",
      key: "telegram:700123:callback:4382bfdwdsb323b2d9",
      data: "approve:7",
      at: now,
      threadId: "42",
      route: { threadId: "42" },
    });
    expect(read("button-pressed-old-message")).toMatchObject({ kind: "button", data: "approve:8", messageId: "61" });
  });

  it.each([
    ["bot-added", "bot-added"],
    ["bot-removed", "bot-removed"],
    ["dm-blocked", "unreachable"],
    ["dm-unblocked", "reachable"],
  ])("%s is the change %s", (name, type) => {
    expect(read(name)).toMatchObject({ kind: "chat", change: { type }, account: { id: "501" } });
  });

  it.each(["bot-made-administrator", "bot-restricted-still-member"])("%s changes nothing for us", (name) => {
    expect(read(name)).toBeUndefined();
  });

  it("DL-18: both notices of a migration are one act from the old id to the new", () => {
    const [to, from] = [read("group-migrated-to"), read("group-migrated-from")];
    expect(to).toMatchObject({ kind: "chat", chat: { id: "-4001" }, change: { type: "migrated", toChatId: "-1003334567890" } });
    expect(from).toMatchObject({ kind: "chat", chat: { id: "-4001" }, change: { type: "migrated", toChatId: "-1003334567890" } });
    expect(from?.key).toBe(to?.key);
  });
});

describe("whatever comes in", () => {
  it("never throws on any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        readUpdate(value, self, now);
        readUpdate({ update_id: 1, message: value }, self, now);
        readUpdate({ update_id: 1, callback_query: value }, self, now);
      }),
      { numRuns: 300 },
    );
  });

  it("never throws when any field of a real message is replaced, and what comes out is plain data", () => {
    const names = ["dm-markup", "topic-message", "dm-external-reply", "album-part-2", "dm-forward", "button-pressed", "bot-added"];
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.nat(60), fc.oneof(fc.jsonValue(), fc.constant(undefined)), (name, position, value) => {
        const update = fixture(name);
        replaceNth(update, position, value);
        const event = readUpdate(update, self, now);
        if (event !== undefined) expect(JSON.parse(JSON.stringify(event))).toEqual(event);
      }),
      { numRuns: 500 },
    );
  });

  it("stores a message with ids but without a usable body as unreadable", () => {
    const event = readUpdate(
      { update_id: 1, message: { message_id: 3, chat: { id: 501 }, from: { id: 501, first_name: "Amy" }, date: "yesterday" } },
      self,
      now,
    );
    expect(event).toMatchObject({ kind: "message", ignore: "unreadable", key: "telegram:700123:message:501:3", at: now });
  });

  it("one odd entity or field does not cost the message", () => {
    const event = readUpdate(
      {
        update_id: 1,
        message: {
          message_id: 3,
          date: 1,
          chat: { id: 501, type: "private" },
          from: { id: 501, first_name: "Amy", is_bot: false },
          text: "bold",
          entities: [{ type: 7 }, { type: "bold", offset: 0, length: 4 }],
          photo: "no",
          quote: 5,
        },
      },
      self,
      now,
    );
    expect(event).toMatchObject({ text: "**bold**", attachments: [] });
  });
});

/** Replaces the nth value (depth first) of a JSON tree. */
function replaceNth(tree: unknown, position: number, value: unknown): void {
  let left = position;
  const walk = (node: unknown): boolean => {
    if (typeof node !== "object" || node === null) return false;
    for (const key of Object.keys(node)) {
      const record = node as Record<string, unknown>;
      if (left === 0) {
        record[key] = value;
        return true;
      }
      left -= 1;
      if (walk(record[key])) return true;
    }
    return false;
  };
  walk(tree);
}
