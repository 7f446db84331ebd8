/**
 * What every implementation of ports/stores.ts promises. Called inside a `describe`; `open` gives fresh, empty stores
 * whose clock the test may move.
 */
import { describe, expect, it } from "vitest";
import { noUsage, type Entry } from "../../src/domain/transcript.js";
import type { InboundMessage } from "../../src/domain/message.js";
import type { Access } from "../../src/ports/access.js";
import type { Inbox, NewOutbox, Outbox } from "../../src/ports/mailbox.js";
import type { MemoryLog } from "../../src/ports/memory-log.js";
import type { NewTurn, Overlay, Sessions, TurnCommit, Turns } from "../../src/ports/stores.js";

export interface StoresUnderTest {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly access: Access;
  readonly memoryLog: MemoryLog;
  readonly overlay: Overlay;
  readonly clock: { time: number; now(): number };
}

const dayMs = 86_400_000;
const speaker = { platform: "chat", accountId: "amy", personId: "p1", role: "user", displayName: "Amy" } as const;

export function message(key: string, text = key, more: Partial<InboundMessage> = {}): InboundMessage {
  return {
    kind: "message",
    platform: "chat",
    botId: "bot",
    key,
    account: { id: "amy", displayName: "Amy", isBot: false },
    chat: { id: "c1", kind: "dm" },
    at: 1000,
    messageId: `m-${key}`,
    text,
    attachments: [],
    route: { platform: "chat", chatId: "c1" },
    ...more,
  };
}

export function reply(text: string, chatId = "c1", more: Partial<NewOutbox> = {}): NewOutbox {
  return { kind: "reply", route: { platform: "chat", chatId }, part: { plain: text, payload: { text } }, ...more };
}

async function session(stores: StoresUnderTest, id = "s1", key = "chat/dm/amy") {
  return stores.sessions.create(
    {
      id,
      key,
      spaceId: "p1",
      spaceKind: "person",
      personId: "p1",
      platform: "chat",
      chatId: "c1",
      chatKind: "dm",
      origin: "chat:dm:amy",
      route: { platform: "chat", chatId: "c1" },
    },
    stores.clock.now(),
  );
}

function newTurn(id: string, inboxIds: readonly number[] = [], more: Partial<NewTurn> = {}): NewTurn {
  return {
    id,
    sessionId: "s1",
    inboxIds,
    speaker,
    route: { platform: "chat", chatId: "c1" },
    user: { role: "user", content: `[10:00] hello from ${id}` },
    said: `hello from ${id}`,
    ...more,
  };
}

function commitOf(turnId: string, claim: number, more: Partial<TurnCommit> = {}): TurnCommit {
  return {
    turnId,
    claim,
    outcome: "answered",
    entries: [
      { role: "user", content: `[10:00] hello from ${turnId}` },
      { role: "assistant", content: `answer to ${turnId}` },
    ],
    outbox: [reply(`answer to ${turnId}`, "c1", { turnId })],
    inbox: [],
    usage: noUsage,
    model: "model",
    iterations: 1,
    counts: { memoryTurns: 1, skillIterations: 0 },
    decide: (counters) => ({ counters, intents: [] }),
    ...more,
  };
}

export function storesContract(open: () => Promise<StoresUnderTest>): void {
  describe("inbox", () => {
    it("RC-04: stores an act once however often it is delivered, and counts the repeats", async () => {
      const { inbox } = await open();

      const first = await inbox.accept([message("a"), message("b"), message("a")]);
      const again = await inbox.accept([message("b"), message("c")]);

      expect(first.map((row) => row.event.key)).toEqual(["a", "b"]);
      expect(again.map((row) => row.event.key)).toEqual(["c"]);
      expect((await inbox.list({ limit: 10 })).map((row) => [row.event.key, row.repeats])).toEqual([
        ["c", 0],
        ["b", 1],
        ["a", 1],
      ]);
    });

    it("gives the work that the last process left, oldest first, and nothing that has a disposition", async () => {
      const stores = await open();
      const rows = await stores.inbox.accept([message("a"), message("b"), message("c"), message("d")]);
      const [a, b, c, d] = rows.map((row) => row.id);
      await session(stores);
      await stores.inbox.wait([d ?? 0]);
      await stores.inbox.settle([a ?? 0], "not-addressed");
      await stores.turns.begin(newTurn("t1", [b ?? 0]), 1);

      const left = await stores.inbox.open();

      expect(left.map((row) => [row.id, row.state])).toEqual([
        [c, "new"],
        [d, "waiting"],
      ]);
    });

    it("stores the answer with the disposition, once", async () => {
      const { inbox, outbox } = await open();
      const [row] = await inbox.accept([message("a")]);
      const ids = [row?.id ?? 0];

      const stored = await inbox.settle(ids, "command", { reason: "help", outbox: [reply("help text")] });
      const repeated = await inbox.settle(ids, "command", { outbox: [reply("help text")] });

      expect(stored).toHaveLength(1);
      expect(repeated).toEqual([]);
      expect(await outbox.heads(startAt, 10)).toHaveLength(1);
      expect((await inbox.list({ limit: 1 }))[0]).toMatchObject({ state: "done", disposition: "command", reason: "help" });
    });

    it("keeps no words of a message that was not admitted", async () => {
      const { inbox } = await open();
      const [row] = await inbox.accept([message("a", "my secret", { replyTo: { author: "x", text: "quoted", attachments: [] } })]);

      await inbox.settle([row?.id ?? 0], "not-admitted", { dropText: true });

      const [listed] = await inbox.list({ limit: 1 });
      expect(JSON.stringify(listed)).not.toMatch(/my secret|quoted/);
      expect(listed?.event.account.displayName).toBe("Amy");
    });

    it("lets an edit replace the text while the message waits, and not afterwards", async () => {
      const stores = await open();
      const [row] = await stores.inbox.accept([message("a", "teh")]);
      await session(stores);

      expect(await stores.inbox.replaceText("a", "the")).toBe(true);
      await stores.turns.begin(newTurn("t1", [row?.id ?? 0]), 1);

      expect(await stores.inbox.replaceText("a", "too late")).toBe(false);
      expect(await stores.inbox.replaceText("unknown", "x")).toBe(false);
      expect((await stores.inbox.list({ limit: 1 }))[0]?.event).toMatchObject({ text: "the" });
    });

    it("knows the newest message of each chat, newest chat first", async () => {
      const { inbox } = await open();
      await inbox.accept([
        message("a", "1", { at: 10, messageId: "10" }),
        message("b", "2", { at: 30, messageId: "30", chat: { id: "c2", kind: "group" } }),
        message("c", "3", { at: 20, messageId: "20" }),
        message("d", "4", { at: 15, messageId: "15" }),
        message("e", "5", { platform: "other" }),
      ]);

      expect(await inbox.lastSeen("chat", 5)).toEqual([
        { chatId: "c2", kind: "group", messageId: "30" },
        { chatId: "c1", kind: "dm", messageId: "20" },
      ]);
    });

    it("RC-04: still knows an act after its words were removed, and forgets it after 90 days", async () => {
      const { inbox, clock } = await open();
      const [row, other] = await inbox.accept([message("a", "words"), message("open", "still open")]);
      await inbox.settle([row?.id ?? 0], "answered");

      clock.time += 8 * dayMs;
      expect(await inbox.prune(clock.time)).toBe(1);
      expect(await inbox.accept([message("a", "words")])).toEqual([]);
      expect(JSON.stringify((await inbox.list({ limit: 9 })).find((found) => found.id === row?.id))).not.toContain("words");

      clock.time += 83 * dayMs;
      expect(await inbox.prune(clock.time)).toBe(1);
      expect((await inbox.open()).map((found) => found.id)).toEqual([other?.id]);
      expect(await inbox.accept([message("a")])).toHaveLength(1);
    });
  });

  describe("outbox", () => {
    it("sends in order within a chat and lets other chats go on", async () => {
      const { outbox } = await open();
      const [a1, a2, b1] = await outbox.add([reply("a1"), reply("a2"), reply("b1", "c2")]);

      expect((await outbox.heads(startAt, 10)).map((row) => row.id)).toEqual([a1, b1]);
      expect(await outbox.sending(a1 ?? 0)).toBe(true);
      expect(await outbox.sending(a1 ?? 0)).toBe(false);
      expect((await outbox.heads(startAt, 10)).map((row) => row.id)).toEqual([b1]);

      await outbox.result(a1 ?? 0, { state: "sent", sent: { chatId: "c1", messageId: "9" }, at: 5 });
      expect((await outbox.heads(startAt, 10)).map((row) => row.id)).toEqual([a2, b1]);
    });

    it("holds a chat back while its first part waits for a repeat", async () => {
      const { outbox } = await open();
      const [first, second] = await outbox.add([reply("1"), reply("2")]);
      await outbox.sending(first ?? 0);

      await outbox.result(first ?? 0, { state: "waiting", nextAt: startAt + 500, error: "429" });

      expect(await outbox.heads(startAt, 10)).toEqual([]);
      expect(await outbox.nextDue()).toBeLessThanOrEqual(startAt + 500);
      const [head] = await outbox.heads(startAt + 500, 10);
      expect(head).toMatchObject({ id: first, attempts: 1, error: "429" });
      await outbox.result(first ?? 0, { state: "refused", error: "too long" });
      expect((await outbox.heads(startAt, 10)).map((row) => row.id)).toEqual([second]);
    });

    it("keeps the delivery id over all attempts and follows a new route", async () => {
      const { outbox } = await open();
      const [id] = await outbox.add([
        reply("1", "c1", {
          route: { platform: "chat", chatId: "c1", threadId: "t" },
          takesOver: { chatId: "c1", messageId: "7" },
          silent: true,
        }),
      ]);
      const [before] = await outbox.heads(startAt, 1);
      await outbox.sending(id ?? 0);
      const route = { platform: "chat", chatId: "c1" };
      await outbox.result(id ?? 0, { state: "waiting", nextAt: startAt, error: "thread gone", route, dropTakeOver: true });

      const [after] = await outbox.heads(startAt, 1);

      expect(before).toMatchObject({ takesOver: { messageId: "7" }, silent: true, route: { threadId: "t" } });
      expect(after?.deliveryId).toBe(before?.deliveryId);
      expect(after?.route).toEqual(route);
      expect(after?.takesOver).toBeUndefined();
    });

    it("calls a part doubtful when the program ended while sending it, and says so once", async () => {
      const { outbox } = await open();
      const [first, second] = await outbox.add([reply("1"), reply("2")]);
      await outbox.sending(first ?? 0);

      const doubtful = await outbox.recover();

      expect(doubtful.map((row) => [row.id, row.state])).toEqual([[first, "unknown"]]);
      expect(await outbox.recover()).toEqual([]);
      expect((await outbox.heads(startAt, 10)).map((row) => row.id)).toEqual([second]);
      expect(await outbox.hasUnknown("chat", "c1", undefined)).toBe(true);
      expect(await outbox.hasUnknown("chat", "c1", "thread")).toBe(false);
      await outbox.noteUnknown("chat", "c1", undefined);
      expect(await outbox.hasUnknown("chat", "c1", undefined)).toBe(false);
    });

    it("never turns a confirmed part into anything else", async () => {
      const { outbox } = await open();
      const [id] = await outbox.add([reply("1", "c1", { turnId: "t1" })]);
      await outbox.sending(id ?? 0);
      await outbox.result(id ?? 0, { state: "sent", sent: { chatId: "c1", messageId: "9" }, at: 5 });

      await outbox.result(id ?? 0, { state: "unknown", error: "late timeout" });

      expect(await outbox.counts()).toEqual([expect.objectContaining({ platform: "chat", state: "sent", count: 1 })]);
      expect(await outbox.lastReply("chat", "c1", undefined)).toEqual([expect.objectContaining({ state: "sent", sentAt: 5 })]);
    });

    it("refuses or moves what waits when the chat is gone or has a new id", async () => {
      const { outbox } = await open();
      await outbox.add([reply("1"), reply("2"), reply("3", "c2")]);

      expect(await outbox.moveChat("chat", "c1", { newChatId: "c9" })).toBe(2);
      expect((await outbox.heads(startAt, 9)).map((row) => row.route.chatId)).toEqual(["c9", "c2"]);
      expect(await outbox.moveChat("chat", "c9", { refuse: "kicked" })).toBe(2);
      expect((await outbox.heads(startAt, 9)).map((row) => row.route.chatId)).toEqual(["c2"]);
    });

    it("gives all parts of the newest reply of a place, also when none arrived", async () => {
      const { outbox } = await open();
      await outbox.add([reply("old", "c1", { turnId: "t1" }), reply("1", "c1", { turnId: "t2" }), reply("2", "c1", { turnId: "t2" })]);
      await outbox.add([reply("notice", "c1", { kind: "notice" }), reply("elsewhere", "c2", { turnId: "t3" })]);

      expect((await outbox.lastReply("chat", "c1", undefined)).map((row) => row.part.plain)).toEqual(["1", "2"]);
      expect(await outbox.lastReply("chat", "c3", undefined)).toEqual([]);
      expect(await outbox.pendingOf("t2")).toBe(true);
      expect(await outbox.pendingOf("t9")).toBe(false);
    });

    it("removes the words of old parts but never a part that still waits", async () => {
      const { outbox, clock } = await open();
      const [done] = await outbox.add([reply("done"), reply("waits")]);
      await outbox.result(done ?? 0, { state: "sent", sent: { chatId: "c1", messageId: "1" }, at: 1 });

      expect(await outbox.prune(clock.time + 8 * dayMs)).toBe(1);
      expect(await outbox.prune(clock.time + 91 * dayMs)).toBe(1);
      expect((await outbox.heads(startAt + 91 * dayMs, 9)).map((row) => row.part.plain)).toEqual(["waits"]);
    });
  });

  describe("sessions", () => {
    it("has one active session of a key, whoever was faster", async () => {
      const stores = await open();

      const [first, second] = await Promise.all([session(stores, "s1"), session(stores, "s2")]);

      expect(second.id).toBe(first.id);
      expect((await stores.sessions.active("chat/dm/amy"))?.id).toBe(first.id);
      expect(await stores.sessions.byId("s2")).toBeUndefined();
    });

    it("ends a session together with the jobs this makes necessary, and makes room for the next", async () => {
      const stores = await open();
      await session(stores, "s1");

      await stores.sessions.end("s1", "new", 50, []);
      const next = await session(stores, "s2");

      expect(next.id).toBe("s2");
      expect(await stores.sessions.byId("s1")).toMatchObject({ endedAt: 50, endReason: "new" });
      expect((await stores.sessions.list("p1", 9)).map((row) => row.id).sort()).toEqual(["s1", "s2"]);
    });

    it("stores the frozen prompt, and marks it for rebuilding until it is frozen anew", async () => {
      const stores = await open();
      await session(stores, "s1");
      const frozen = { system: "You are …", tools: [], model: "m", promptVersion: 1, at: 5 };

      await stores.sessions.freeze("s1", frozen);
      await stores.sessions.rebuild({ personId: "p1" });
      expect(await stores.sessions.byId("s1")).toMatchObject({ frozen, needsRebuild: true });

      await stores.sessions.freeze("s1", frozen);
      expect((await stores.sessions.byId("s1"))?.needsRebuild).toBe(false);
    });

    it("finds idle sessions and lists sessions with title, first words and number of messages", async () => {
      const stores = await open();
      await session(stores, "s1");
      await stores.turns.begin(newTurn("t1"), stores.clock.time + 10);
      await stores.turns.commit(commitOf("t1", 1), stores.clock.time + 20);
      await stores.sessions.setTitle("s1", "Hello");

      expect((await stores.sessions.idle(stores.clock.time + 20, stores.clock.time + 20)).map((row) => row.id)).toEqual(["s1"]);
      expect(await stores.sessions.idle(stores.clock.time, stores.clock.time + 19)).toEqual([]);
      expect(await stores.sessions.list("p1", 5)).toEqual([
        expect.objectContaining({ title: "Hello", messageCount: 2, preview: "hello from t1" }),
      ]);
    });
  });

  describe("a chat with a new id", () => {
    it("keeps its sessions, space, admission, waiting parts and open events", async () => {
      const { access, inbox, outbox, sessions, clock } = await open();
      const old = { id: "-1", kind: "group", title: "Team" } as const;
      const { spaceId } = await access.noteChat("chat", old, 1);
      await access.admitChat("chat", "-1", true, "op", 1);
      const base = { spaceId, spaceKind: "group", platform: "chat", chatId: "-1", chatKind: "group" } as const;
      const route = { platform: "chat", chatId: "-1" };
      await sessions.create({ ...base, id: "s1", key: "chat/chat/-1", origin: "chat:chat:-1", route }, 1);
      await sessions.create({ ...base, id: "s2", key: "chat/chat/-1/5@amy", threadId: "5", origin: "chat:chat:-1", route }, 1);
      await sessions.create({ ...base, id: "s3", key: "chat/chat/-12", chatId: "-12", origin: "chat:chat:-12", route }, 1);
      await outbox.add([reply("waits", "-1")]);
      await inbox.accept([message("a", "hi", { chat: old, route })]);
      const early = await access.noteChat("chat", { id: "-100", kind: "group" }, 2);
      await sessions.create(
        { ...base, id: "s4", key: "chat/chat/-100", chatId: "-100", spaceId: early.spaceId, origin: "chat:chat:-100", route },
        2,
      );

      await sessions.migrateChat("chat", "-1", "-100");

      expect(await sessions.active("chat/chat/-100")).toMatchObject({ id: "s1", chatId: "-100", route: { chatId: "-100" } });
      expect((await sessions.active("chat/chat/-100/5@amy"))?.id).toBe("s2");
      expect((await sessions.active("chat/chat/-12"))?.id).toBe("s3");
      expect(await sessions.byId("s4")).toMatchObject({ endReason: "migrated", spaceId });
      expect((await access.noteChat("chat", { id: "-100", kind: "group" }, 3)).spaceId).toBe(spaceId);
      expect(await access.chat("chat", "-100")).toMatchObject({ admitted: true, title: "Team" });
      expect(await access.chat("chat", "-1")).toBeUndefined();
      expect((await outbox.heads(clock.time, 9))[0]?.route.chatId).toBe("-100");
      expect((await inbox.open())[0]?.event.chat.id).toBe("-100");
    });
  });

  turnsContract(open);
  knowledgeContract(open);
}

const startAt = 1_800_000_000_000;

function turnsContract(open: () => Promise<StoresUnderTest>): void {
  describe("turns", () => {
    it("SE-01: has one running turn per session", async () => {
      const stores = await open();
      await session(stores);
      await stores.turns.begin(newTurn("t1"), 1);

      await expect(stores.turns.begin(newTurn("t2"), 2)).rejects.toMatchObject({ code: "turn.outdated" });

      expect((await stores.turns.unfinished()).map((turn) => turn.id)).toEqual(["t1"]);
    });

    it("SE-04: never takes a message that another turn holds or that has its disposition", async () => {
      const stores = await open();
      const rows = await stores.inbox.accept([message("a"), message("b")]);
      const ids = rows.map((row) => row.id);
      await session(stores);
      await stores.inbox.settle([ids[0] ?? 0], "stopped");

      await expect(stores.turns.begin(newTurn("t1", ids), 1)).rejects.toMatchObject({ code: "turn.outdated" });

      expect(await stores.turns.unfinished()).toEqual([]);
      expect((await stores.inbox.open()).map((row) => row.id)).toEqual([ids[1]]);
    });

    it("SE-06: stores transcript, reply, dispositions, counters and jobs in one step", async () => {
      const stores = await open();
      const rows = await stores.inbox.accept([message("a"), message("b")]);
      const [a, b] = rows.map((row) => row.id);
      await session(stores);
      await stores.turns.begin(newTurn("t1", [a ?? 0]), 1);
      await stores.turns.join("t1", 1, { inboxIds: [b ?? 0], user: { role: "user", content: "[10:00] a b" }, said: "a b" });
      const seen: unknown[] = [];

      const ids = await stores.turns.commit(
        commitOf("t1", 1, {
          entries: [
            { role: "user", content: "[10:00] a b" },
            { role: "assistant", content: "ok" },
          ],
          inbox: [
            { id: a ?? 0, disposition: "answered" },
            { id: b ?? 0, disposition: "joined" },
          ],
          usage: { inputTokens: 10, cachedTokens: 4, outputTokens: 2, exact: false },
          iterations: 3,
          decide(counters) {
            seen.push(counters);
            return { counters: { memoryTurns: 0, skillIterations: 7 }, intents: [] };
          },
        }),
        stores.clock.time,
      );

      expect((await stores.sessions.entries("s1")).map((row) => [row.entry.role, row.text, row.author])).toEqual([
        ["user", "a b", "Amy"],
        ["assistant", "ok", undefined],
      ]);
      expect((await stores.outbox.heads(startAt, 9)).map((row) => row.id)).toEqual(ids);
      expect((await stores.inbox.list({ limit: 9 })).map((row) => row.disposition)).toEqual(["joined", "answered"]);
      expect(seen).toEqual([{ memoryTurns: 1, skillIterations: 0 }]);
      expect(await stores.turns.recent("s1", 5)).toEqual([
        expect.objectContaining({
          id: "t1",
          state: "answered",
          iterations: 3,
          usage: { inputTokens: 10, cachedTokens: 4, outputTokens: 2, exact: false },
          inboxIds: [a, b],
        }),
      ]);
      await stores.turns.begin(newTurn("t2"), 2);
      await stores.turns.commit(
        commitOf("t2", 1, { decide: (counters) => ({ counters: (seen.push(counters), counters), intents: [] }) }),
        stores.clock.time,
      );
      expect(seen[1]).toEqual({ memoryTurns: 1, skillIterations: 7 });
      expect(await stores.turns.countSince({ personId: "p1" }, 0)).toBe(2);
      expect(await stores.turns.countSince({ sessionId: "s1" }, 2)).toBe(1);
    });

    it("SE-02: writes nothing for a turn that was taken over or has ended", async () => {
      const stores = await open();
      const [row] = await stores.inbox.accept([message("a")]);
      await session(stores);
      await stores.turns.begin(newTurn("t1", [row?.id ?? 0]), 1);
      const taken = await stores.turns.takeOver("t1", true);
      expect(taken).toMatchObject({ claim: 2, attempts: 2 });
      const outdated = { code: "turn.outdated" };
      const entry: Entry = { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "send", arguments: "{}" }] };

      await expect(
        stores.turns.commit(commitOf("t1", 1, { inbox: [{ id: row?.id ?? 0, disposition: "answered" }] }), 9),
      ).rejects.toMatchObject(outdated);
      await expect(stores.turns.assistant("t1", 1, entry)).rejects.toMatchObject(outdated);
      await expect(stores.turns.preview("t1", 1, { state: "sending" })).rejects.toMatchObject(outdated);
      await expect(stores.turns.join("t1", 1, { inboxIds: [], user: { role: "user", content: "x" }, said: "x" })).rejects.toMatchObject(
        outdated,
      );
      expect(await stores.sessions.entries("s1")).toEqual([]);
      expect(await stores.outbox.nextDue()).toBeUndefined();

      await stores.turns.commit(
        commitOf("t1", 2, { outcome: "stopped", entries: [], outbox: [], inbox: [{ id: row?.id ?? 0, disposition: "stopped" }] }),
        9,
      );
      await expect(stores.turns.commit(commitOf("t1", 2), 9)).rejects.toMatchObject(outdated);
      await expect(stores.turns.takeOver("t1", false)).rejects.toMatchObject(outdated);
      await expect(stores.turns.takeOver("nothing", false)).rejects.toMatchObject({ code: "turn.not-found" });
      expect((await stores.turns.byId("t1"))?.state).toBe("stopped");
    });

    it("leaves everything as it was when the decision about counters throws", async () => {
      const stores = await open();
      await session(stores);
      await stores.turns.begin(newTurn("t1"), 1);

      const failing = stores.turns.commit(
        commitOf("t1", 1, {
          decide: () => {
            throw new Error("a bug");
          },
        }),
        2,
      );

      await expect(failing).rejects.toThrow("a bug");
      expect((await stores.turns.byId("t1"))?.state).toBe("running");
      expect(await stores.sessions.entries("s1")).toEqual([]);
    });

    it("hands back a message that the commit does not name", async () => {
      const stores = await open();
      const rows = await stores.inbox.accept([message("a"), message("b")]);
      const ids = rows.map((row) => row.id);
      await session(stores);
      await stores.turns.begin(newTurn("t1", ids), 1);

      await stores.turns.commit(commitOf("t1", 1, { inbox: [{ id: ids[0] ?? 0, disposition: "answered" }] }), 2);

      expect((await stores.inbox.open()).map((row) => [row.id, row.state])).toEqual([[ids[1], "waiting"]]);
    });

    it("SE-07: continues from the journal, runs no call twice and knows which outcome is unknown", async () => {
      const stores = await open();
      await session(stores);
      await stores.turns.begin(newTurn("t1"), 1);
      const calls = [
        { id: "c1", name: "send", arguments: "{}" },
        { id: "c2", name: "send", arguments: "{}" },
        { id: "c3", name: "read", arguments: "{}" },
      ];
      const entry: Entry = { role: "assistant", content: "", toolCalls: calls };
      await stores.turns.assistant("t1", 1, entry);
      expect(await stores.turns.startCall("t1", 1, calls[0]!)).toBe("run");
      await stores.turns.finishCall("t1", 1, "c1", "done");
      expect(await stores.turns.startCall("t1", 1, calls[1]!)).toBe("run");

      const again = await stores.turns.takeOver("t1", true);

      expect(await stores.turns.startCall("t1", again.claim, calls[0]!)).toEqual({ result: "done" });
      expect(await stores.turns.startCall("t1", again.claim, calls[1]!)).toBe("started");
      await stores.turns.finishCall("t1", again.claim, "c3", "read it");
      expect(await stores.turns.journal("t1")).toEqual([
        entry,
        { role: "tool", callId: "c1", name: "send", content: "done" },
        { role: "tool", callId: "c3", name: "read", content: "read it" },
      ]);
    });

    it("tells calls apart when the model counts its ids anew in every message", async () => {
      const stores = await open();
      await session(stores);
      await stores.turns.begin(newTurn("t1"), 1);
      const call = { id: "call_0", name: "send", arguments: "{}" };
      await stores.turns.assistant("t1", 1, { role: "assistant", content: "", toolCalls: [call] });
      await stores.turns.startCall("t1", 1, call);
      await stores.turns.finishCall("t1", 1, "call_0", "first");

      await stores.turns.assistant("t1", 1, { role: "assistant", content: "", toolCalls: [call] });

      expect(await stores.turns.startCall("t1", 1, call)).toBe("run");
    });

    it("remembers a preview message and that one may be on its way", async () => {
      const stores = await open();
      await session(stores);
      await stores.turns.begin(newTurn("t1"), 1);

      await stores.turns.preview("t1", 1, { state: "sending" });
      expect((await stores.turns.byId("t1"))?.preview).toEqual({ state: "sending" });
      await stores.turns.preview("t1", 1, { state: "shown", ref: { chatId: "c1", messageId: "5" } });
      expect((await stores.turns.unfinished())[0]?.preview).toEqual({ state: "shown", ref: { chatId: "c1", messageId: "5" } });
    });

    it("clears the note about a doubtful part with the reply that mentions it", async () => {
      const stores = await open();
      await session(stores);
      const [id] = await stores.outbox.add([reply("lost")]);
      await stores.outbox.sending(id ?? 0);
      await stores.outbox.recover();
      await stores.turns.begin(newTurn("t1"), 1);

      await stores.turns.commit(commitOf("t1", 1, { notesUnknown: true }), 2);

      expect(await stores.outbox.hasUnknown("chat", "c1", undefined)).toBe(false);
    });
  });
}

function knowledgeContract(open: () => Promise<StoresUnderTest>): void {
  describe("access", () => {
    it("creates a person and a space of the same id for a new account, admits nobody by itself, and refreshes names", async () => {
      const { access } = await open();

      const first = await access.ensureAccount("chat", { id: "amy", displayName: "Amy", handle: "amy" }, 5);
      const again = await access.ensureAccount("chat", { id: "amy", displayName: "Amy B." }, 6);

      expect(first).toMatchObject({ role: "guest", handle: "amy" });
      expect(first.admittedAt).toBeUndefined();
      expect(again).toEqual({ platform: "chat", accountId: "amy", personId: first.personId, displayName: "Amy B.", role: "guest" });
      expect((await access.ensureAccount("chat", { id: "bob", displayName: "Bob" }, 7)).personId).not.toBe(first.personId);
    });

    it("admits and removes an account and keeps a record of who did it", async () => {
      const { access } = await open();
      await access.ensureAccount("chat", { id: "amy", displayName: "Amy" }, 5);

      await access.admit("chat", "amy", "operator", "cli", 6);
      expect(await access.account("chat", "amy")).toMatchObject({ role: "operator", admittedAt: 6 });
      expect(await access.accounts({ role: "operator" })).toHaveLength(1);
      await access.admit("chat", "amy", undefined, "cli", 7);

      const removed = await access.account("chat", "amy");
      expect(removed?.role).toBe("guest");
      expect(removed?.admittedAt).toBeUndefined();
      expect((await access.audits(9)).map((row) => [row.act, row.subject, row.actor])).toEqual([
        ["remove", "chat:amy", "cli"],
        ["admit", "chat:amy", "cli"],
      ]);
    });

    it("admits an account by its id before it has ever written", async () => {
      const { access } = await open();
      await access.admit("chat", "zoe", "operator", "cli", 6);

      const zoe = await access.ensureAccount("chat", { id: "zoe", displayName: "Zoe" }, 7);

      expect(zoe).toMatchObject({ role: "operator", admittedAt: 6, displayName: "Zoe" });
    });

    it("gives a group one space for good; a public thread shares its channel's, a private one has its own", async () => {
      const { access } = await open();

      const group = await access.noteChat("chat", { id: "g", kind: "group", title: "Team", containerId: "w" }, 1);
      const thread = await access.noteChat("chat", { id: "t", kind: "thread", parentId: "g" }, 2);
      const hidden = await access.noteChat("chat", { id: "h", kind: "thread", parentId: "g", isPrivate: true }, 3);
      const again = await access.noteChat("chat", { id: "g", kind: "group" }, 4);

      expect(thread.spaceId).toBe(group.spaceId);
      expect(hidden.spaceId).not.toBe(group.spaceId);
      expect(again).toEqual({ ...group, admitted: false });
      expect(group.admitted).toBe(false);
    });

    it("admits a chat, a guild or a workspace by its id and marks chats that cannot be written to", async () => {
      const { access } = await open();
      await access.noteChat("chat", { id: "g", kind: "group", containerId: "w" }, 1);

      await access.admitChat("chat", "w", true, "op", 2);
      await access.markChat("chat", "g", "kicked");

      expect((await access.chat("chat", "w"))?.admitted).toBe(true);
      expect(await access.chat("chat", "g")).toMatchObject({ admitted: false, unreachable: "kicked", containerId: "w" });
      await access.markChat("chat", "g", undefined);
      expect((await access.chat("chat", "g"))?.unreachable).toBeUndefined();
    });

    it("keeps codes until they expire and counts wrong tries", async () => {
      const { access } = await open();
      const route = { platform: "chat", chatId: "c1" };
      const code = {
        code: "ABCD2345",
        subject: "account",
        platform: "chat",
        subjectId: "amy",
        label: "Amy",
        route,
        createdAt: 1,
        expiresAt: 100,
        shownAt: 1,
      } as const;
      await access.putCode(code);
      await access.putCode({ ...code, shownAt: 50 });

      expect(await access.codes(99)).toEqual([{ ...code, shownAt: 50 }]);
      expect(await access.codes(100)).toEqual([]);
      await access.dropCode(code.code);
      expect(await access.codes(1)).toEqual([]);
      await access.noteWrongTry("chat:bob", 10);
      await access.noteWrongTry("chat:bob", 20);
      expect(await access.wrongTries("chat:bob", 15)).toBe(1);
      expect(await access.wrongTries("chat:amy", 0)).toBe(0);
    });
  });

  describe("memory log", () => {
    const owner = { target: "user", id: "p1" } as const;
    const event = { owner, action: "add", after: "likes tea", fileHash: "h1", origin: "turn" } as const;

    it("stores the events of a change together with the file, or neither", async () => {
      const { memoryLog } = await open();
      let written = 0;

      const result = await memoryLog.change(owner, { none: true }, 5, (last) => {
        expect(last).toBeUndefined();
        return { events: [event], write: () => void (written += 1), result: "saved" };
      });
      const failing = memoryLog.change(owner, { none: true }, 6, () => ({
        events: [event],
        write: () => {
          throw new Error("disk");
        },
        result: "",
      }));

      await expect(failing).rejects.toThrow("disk");
      expect(result).toBe("saved");
      expect(written).toBe(1);
      expect(await memoryLog.events(owner, 9)).toEqual([{ ...event, id: expect.any(Number), at: 5 }]);
    });

    it("refuses the change of a turn or job that was taken over", async () => {
      const stores = await open();
      await session(stores);
      await stores.turns.begin(newTurn("t1"), 1);
      const work = () => ({ events: [event], result: 1 });

      expect(await stores.memoryLog.change(owner, { turnId: "t1", claim: 1 }, 5, work)).toBe(1);
      await stores.turns.takeOver("t1", false);

      await expect(stores.memoryLog.change(owner, { turnId: "t1", claim: 1 }, 5, work)).rejects.toMatchObject({ code: "turn.outdated" });
      await expect(stores.memoryLog.change(owner, { jobId: "j1", fence: 1 }, 5, work)).rejects.toMatchObject({ code: "turn.outdated" });
      await expect(stores.memoryLog.addPending("p1", { turnId: "t1", claim: 1 }, "x", undefined, "s1", 5)).rejects.toMatchObject({
        code: "turn.outdated",
      });
    });

    it("knows what undid what, and which events a job wrote", async () => {
      const { memoryLog } = await open();
      await memoryLog.change(owner, { none: true }, 5, () => ({ events: [{ ...event, jobId: "j1" }], result: 0 }));
      const [first] = await memoryLog.events(owner, 1);

      await memoryLog.change(owner, { none: true }, 6, () => ({
        events: [{ owner, action: "undo", before: "likes tea", fileHash: "h2", origin: "command", undoes: first?.id ?? 0 }],
        result: 0,
      }));

      const [undo, undone] = await memoryLog.events(owner, 9);
      expect(undone?.undoneBy).toBe(undo?.id);
      expect((await memoryLog.byJob("j1")).map((row) => row.id)).toEqual([first?.id]);
    });

    it("forgets a text in all events of its owner", async () => {
      const { memoryLog } = await open();
      await memoryLog.change(owner, { none: true }, 5, () => ({
        events: [
          event,
          { ...event, action: "outside", before: "a\n§\nlikes tea", after: "a", evidence: "I like tea" },
          { ...event, after: "other" },
        ],
        result: 0,
      }));

      await memoryLog.purge(owner, "likes tea");

      const events = await memoryLog.events(owner, 9);
      expect(JSON.stringify(events)).not.toContain("tea");
      expect(events.map((row) => [row.before, row.after])).toEqual([
        [undefined, "other"],
        [null, "a"],
        [undefined, null],
      ]);
    });

    it("keeps what was noted in a group until it is merged, once each", async () => {
      const { memoryLog } = await open();
      await memoryLog.addPending("p1", { none: true }, "likes tea", "I like tea", "s1", 5);
      await memoryLog.addPending("p1", { none: true }, "likes tea", undefined, "s1", 6);
      await memoryLog.addPending("p2", { none: true }, "likes tea", undefined, "s1", 7);

      const pending = await memoryLog.pending("p1");
      await memoryLog.dropPending(pending.map((row) => row.id));

      expect(pending).toEqual([{ id: expect.any(Number), content: "likes tea", evidence: "I like tea", at: 5 }]);
      expect(await memoryLog.pending("p1")).toEqual([]);
      expect(await memoryLog.pending("p2")).toHaveLength(1);
    });
  });

  describe("overlay", () => {
    it("keeps a setting until it is taken away", async () => {
      const { overlay } = await open();
      await overlay.set("chat:c1", "sessions.busyMode", "steer");
      await overlay.set("chat:c1", "sessions.busyMode", "interrupt");

      expect(await overlay.get("chat:c1", "sessions.busyMode")).toBe("interrupt");
      await overlay.set("chat:c1", "sessions.busyMode", undefined);
      expect(await overlay.get("chat:c1", "sessions.busyMode")).toBeUndefined();
    });
  });
}
