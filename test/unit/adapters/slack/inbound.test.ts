/** Recorded payloads to inbound events. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { usualCommands } from "../../../../adapters/slack/commands.js";
import type { Fields } from "../../../../adapters/slack/fields.js";
import { idsNeeded, toInbound } from "../../../../adapters/slack/inbound.js";
import type { Channel, Person, Reading } from "../../../../adapters/slack/place.js";
import { sessionKey } from "../../../../src/domain/identity.js";
import type { InboundEvent, InboundMessage } from "../../../../src/domain/message.js";

const folder = join(import.meta.dirname, "../../../fixtures/slack");
const fixture = (name: string): Fields => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as Fields;

const people: Record<string, Person> = {
  U0AMY: { name: "Amy", handle: "amy", isBot: false, teamId: "T0HOME", timeZone: "Europe/Berlin" },
  U0BOB: { name: "Bob", isBot: false, teamId: "T0HOME" },
};
const channels: Record<string, Channel> = {
  C0GENERAL: { name: "general", kind: "group", isPrivate: false },
  C0OPS: { name: "ops", kind: "group", isPrivate: false },
  G0TRIO: { name: "mpdm-amy--bob-1", kind: "group", isPrivate: true },
};
const reading: Reading = {
  self: { teamId: "T0HOME", userId: "U0BOT", botId: "B0BOT" },
  known: { person: (id) => people[id], channel: (id) => channels[id] },
  commands: usualCommands,
  now: 1_700_000_100_000,
};
const read = (name: string, change: (event: Record<string, unknown>) => void = () => undefined): InboundEvent | undefined => {
  const body = fixture(name) as Record<string, unknown>;
  change((body["event"] ?? body) as Record<string, unknown>);
  return toInbound(body, reading);
};
const message = (name: string, change?: (event: Record<string, unknown>) => void): InboundMessage => {
  const event = read(name, change);
  if (event?.kind !== "message") throw new Error(`${name} gives ${event?.kind ?? "nothing"}`);
  return event;
};

describe("what Slack sends", () => {
  it("IN-11, IN-12: a direct message is read with its link and signs", () => {
    expect(message("dm-text")).toMatchObject({
      text: "cpu > 80% && ok, see [this](https://ex.test/doc)",
      addressed: "dm",
      chat: { id: "D0AMY", kind: "dm" },
      account: { id: "U0AMY", displayName: "Amy", handle: "amy", isBot: false },
      timeZone: "Europe/Berlin",
      at: 1_700_000_001_000,
      route: { platform: "slack", chatId: "D0AMY", replyTo: "1700000001.000100" },
    });
    expect(message("dm-text").route.threadId).toBeUndefined();
    expect(message("dm-text").threadId).toBeUndefined();
  });

  it("DL-09: both events of one mention give the same event", () => {
    const first = message("channel-mention-as-message");

    expect(message("channel-mention-as-app-mention")).toEqual(first);
    expect(first).toMatchObject({ addressed: "mention", key: "slack:U0BOT:message:T0HOME:C0GENERAL:1700000002.000200" });
  });

  it("IN-13: the model sees names with ids beside them", () => {
    expect(message("channel-mention-as-message").text).toBe("ask @Bob (U0BOB) about #ops (C0OPS)");
  });

  it("SE-09: a mention in a channel and the follow-up in its thread have one session and one thread to answer in", () => {
    const mention = message("channel-mention-as-message");
    const reply = message("thread-reply");
    const key = (event: InboundMessage): string =>
      sessionKey(
        {
          platform: "slack",
          chat: event.chat,
          accountId: event.account.id,
          ...(event.threadId === undefined ? {} : { threadId: event.threadId }),
        },
        "chat",
      );

    expect(key(reply)).toBe(key(mention));
    expect(reply.addressed).toBeUndefined();
    expect(reply.route.threadId).toBe("1700000002.000200");
    expect(mention.route.threadId).toBe("1700000002.000200");
  });

  it("DL-17: whatever is said in a thread is answered in that thread", () => {
    expect(message("thread-reply").route).toMatchObject({ chatId: "C0GENERAL", threadId: "1700000002.000200" });
    expect(message("thread-broadcast").route.threadId).toBe("1700000002.000200");
  });

  it("a thread in a direct message is a session of its own", () => {
    const reply = message("dm-text", (event) => (event["thread_ts"] = "1700000000.000001"));

    expect(reply).toMatchObject({ threadId: "1700000000.000001", route: { threadId: "1700000000.000001" }, addressed: "dm" });
  });

  it("an answer in a thread that the bot began is addressed to it", () => {
    expect(message("thread-reply-under-bot-message")).toMatchObject({ addressed: "reply", threadId: "1700000000.000050" });
  });

  it("IN-08: a message with a file is a message, external files without an address and gone files left out", () => {
    expect(message("file-share")).toMatchObject({
      text: "see file",
      attachments: [
        {
          kind: "document",
          name: "plan.pdf",
          mimeType: "application/pdf",
          size: 48_211,
          ref: { fileId: "F0PLAN", url: "https://files.slack.com/files-pri/T0HOME-F0PLAN/download/plan.pdf" },
        },
        { kind: "document", name: "Budget", ref: { fileId: "F0DRIVE", external: true } },
      ],
    });
  });

  it.each(["channel-join", "message-deleted", "message-changed-by-unfurl", "other-member-added"])(
    "IN-08: %s is dropped knowingly",
    (name) => {
      expect(read(name)).toBeUndefined();
    },
  );

  it.each(["file_share", "thread_broadcast", "me_message"])("IN-08: the subtype %s is somebody speaking", (subtype) => {
    expect(message("dm-text", (event) => (event["subtype"] = subtype)).ignore).toBeUndefined();
  });

  it("IN-01: an edit names the message it changes", () => {
    expect(read("message-changed")).toMatchObject({
      kind: "edit",
      text: "tea at six",
      messageId: "1700000006.000600",
      originalKey: "slack:U0BOT:message:T0HOME:D0AMY:1700000006.000600",
      key: "slack:U0BOT:edit:T0HOME:D0AMY:1700000006.000600:1700000060.000000",
    });
  });

  it("a mention put in by an edit is an edit, with the same key in both its forms", () => {
    const edited = { user: "U0AMY", ts: "1700000060.000000" };
    const asMention = read("channel-mention-as-app-mention", (event) => (event["edited"] = edited));
    const asChange = toInbound(
      {
        ...fixture("message-changed"),
        event: {
          type: "message",
          subtype: "message_changed",
          channel: "C0GENERAL",
          channel_type: "channel",
          message: { ...(fixture("channel-mention-as-message")["event"] as object), edited },
          previous_message: { text: "ask" },
        },
      },
      reading,
    );

    expect(asMention?.kind).toBe("edit");
    expect(asChange?.key).toBe(asMention?.key);
  });

  it("AC-09: its own words are marked as its own", () => {
    expect(message("own-message")).toMatchObject({ ignore: "own", account: { isBot: true } });
  });

  it("AC-09: another bot is ignored unless it names this one", () => {
    expect(message("other-bot-message")).toMatchObject({ ignore: "bot", account: { id: "B0CI", displayName: "CI", isBot: true } });
    const named = message("other-bot-message", (event) => (event["text"] = "<@U0BOT> build failed"));
    expect(named).toMatchObject({ literalMention: true });
    expect(named.ignore).toBeUndefined();
    expect(named.command).toBeUndefined();
  });

  it("somebody of another workspace is marked as such", () => {
    expect(message("slack-connect-mention").account).toMatchObject({ id: "U0GUEST", foreignTeam: true });
    expect(message("dm-text").account.foreignTeam).toBeUndefined();
  });

  it("another workspace of the same organisation is not foreign", () => {
    const grid: Reading = {
      ...reading,
      self: { ...reading.self, enterpriseId: "E0" },
      known: { ...reading.known, person: () => ({ name: "Gil", isBot: false, teamId: "T0OTHER", enterpriseId: "E0" }) },
    };

    expect(toInbound(fixture("slack-connect-mention"), grid)?.account.foreignTeam).toBeUndefined();
  });

  it("a group DM is private and needs a mention", () => {
    expect(message("group-dm-mention")).toMatchObject({
      chat: { kind: "group", isPrivate: true, containerId: "T0HOME" },
      addressed: "mention",
    });
    expect(message("group-dm-mention", (event) => (event["text"] = "no mention")).addressed).toBeUndefined();
  });

  it("a forwarded message is quoted, not spoken", () => {
    expect(message("forwarded-message")).toMatchObject({
      text: "what do you make of it?",
      forwardedFrom: "Bob Brown",
      replyTo: { author: "Bob Brown", text: "meeting at nine & ten", messageId: "1699990000.000100" },
    });
  });

  it("a slash command carries its name, its words and an address for the answer", () => {
    expect(message("slash-command")).toMatchObject({
      key: "slack:U0BOT:command:13.37.abc",
      addressed: "command",
      command: { name: "stop", args: "now please" },
      chat: { id: "C0GENERAL", kind: "group", title: "general" },
      route: { chatId: "C0GENERAL", hint: { responseUrl: "https://hooks.slack.com/commands/T0HOME/1/x" } },
    });
    expect(message("slash-command").route.replyTo).toBeUndefined();
  });

  it("!stop in a thread and @bot stop are the command", () => {
    expect(message("thread-reply", (event) => (event["text"] = "!stop")).command).toEqual({ name: "stop", args: "" });
    expect(message("channel-mention-as-message", (event) => (event["text"] = "<@U0BOT> stop")).command).toEqual({ name: "stop", args: "" });
    expect(message("thread-reply", (event) => (event["text"] = "stop")).command).toBeUndefined();
  });

  it("AC-03: a pressed button carries who pressed it and where", () => {
    expect(read("button-press")).toMatchObject({
      kind: "button",
      key: "slack:U0BOT:button:13.38.def",
      data: "link:yes",
      messageId: "1700000020.002000",
      threadId: "1700000002.000200",
      account: { id: "U0AMY" },
      route: { chatId: "C0GENERAL", threadId: "1700000002.000200" },
    });
    expect(read("button-press", (body) => ((body["user"] as Record<string, unknown>)["team_id"] = "T0OTHER"))?.account.foreignTeam).toBe(
      true,
    );
  });

  it("being added to a channel names who did it", () => {
    expect(read("bot-added")).toMatchObject({
      kind: "chat",
      change: { type: "bot-added" },
      account: { id: "U0AMY" },
      chat: { id: "C0GENERAL" },
    });
  });

  it("without any name known the ids stand for them, and the place is still right", () => {
    const nobody: Reading = { ...reading, known: { person: () => undefined, channel: () => undefined } };

    expect(toInbound(fixture("channel-mention-as-app-mention"), nobody)).toMatchObject({
      text: "ask @U0BOB about #C0OPS",
      chat: { id: "C0GENERAL", kind: "group" },
      account: { id: "U0AMY", displayName: "U0AMY" },
    });
  });

  it("names what must be looked up, and nothing for what is dropped", () => {
    expect(idsNeeded(fixture("channel-mention-as-message"), reading.self)).toEqual({
      people: ["U0AMY", "U0BOB"],
      channels: ["C0GENERAL", "C0OPS"],
    });
    expect(idsNeeded(fixture("dm-text"), reading.self)).toEqual({ people: ["U0AMY"], channels: [] });
    expect(idsNeeded(fixture("slash-command"), reading.self)).toEqual({ people: ["U0AMY"], channels: ["C0GENERAL"] });
    expect(idsNeeded(fixture("button-press"), reading.self)).toEqual({ people: ["U0AMY"], channels: ["C0GENERAL"] });
    for (const name of ["own-message", "channel-join", "message-deleted"])
      expect(idsNeeded(fixture(name), reading.self)).toEqual({ people: [], channels: [] });
  });

  it("no payload with a field of a wrong kind makes it throw", () => {
    const names = readdirSync(folder).map((file) => file.replace(".json", ""));
    const odd = fc.constantFrom<unknown>(null, 7, "", [], {}, [null], { ts: 1 }, true);
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.nat(30), odd, (name, at, value) => {
        const body = fixture(name) as Record<string, unknown>;
        const target = (body["event"] ?? body) as Record<string, unknown>;
        const keys = Object.keys(target);
        const key = keys[at % keys.length];
        if (key !== undefined) target[key] = value;
        idsNeeded(body, reading.self);
        const event = toInbound(body, reading);
        expect(JSON.parse(JSON.stringify(event ?? null))).toEqual(event ?? null);
      }),
      { numRuns: 400 },
    );
  });
});
