import { afterEach, describe, expect, it } from "vitest";
import type { InboundMessage, Route } from "../../../../src/domain/message.js";
import type { Rig } from "./rig.js";
import { rig } from "./rig.js";

let open: Rig | undefined;

async function started(options: Parameters<typeof rig>[0] = {}): Promise<Rig> {
  open = await rig(options);
  await open.adapter.start(open.io);
  return open;
}

afterEach(async () => {
  await open?.close();
  open = undefined;
});

const create = "POST /channels/:channel/messages";
const text = (content: string) => ({ kind: "plain", text: content }) as const;

async function commandIn({ emulator, io }: Rig, name = "search"): Promise<InboundMessage> {
  const made = emulator.command({ in: emulator.world.group, name, args: "red shoes" });
  const event = await io.waitFor((each) => each.key.endsWith(made.id));
  if (event.kind !== "message") throw new Error("no message");
  return event;
}

describe("sending on Discord", () => {
  it("FM-01: an answer of 2001 characters becomes two messages and loses nothing", async () => {
    const { adapter, emulator, route, options } = await started();
    const words = `${"word ".repeat(400)}end`;

    const parts = adapter.render(words.slice(0, 2_001).padEnd(2_001, "x"));
    for (const [index, part] of parts.entries())
      await adapter.send(route(emulator.world.dm.id), { kind: "part", part }, options(`part${index}`));

    const sent = emulator.sent().map((message) => message.content);
    expect(sent).toHaveLength(2);
    expect(sent.every((content) => content.length <= 2_000)).toBe(true);
    expect(sent.join(" ").match(/word/g)).toHaveLength(400);
  });

  it("FM-13: no send, edit, file or answer to a command can ping anybody", async () => {
    const all = await started();
    const { adapter, emulator, route, options } = all;
    const loud = "@everyone hi <@&123456789012345678> <@1200000000000000001>";
    const command = await commandIn(all);

    const sent = await adapter.send(route(emulator.world.group.id), text(loud), options("a1"));
    await adapter.edit(sent, text(`${loud}!`), options("a1").signal);
    await adapter.send(
      route(emulator.world.group.id),
      { kind: "file", name: "a.md", mimeType: "text/markdown", content: "x", caption: loud },
      options("a2"),
    );
    await adapter.send(command.route, text(loud), options("a3"));
    await adapter.send(command.route, text(loud), options("a4"));

    const messages = emulator.sent();
    expect(messages).toHaveLength(4);
    expect(messages.filter((message) => message.couldPing)).toEqual([]);
  });

  it("DL-04: every send carries its delivery id as an enforced nonce, so a repeat is the first message", async () => {
    const { adapter, emulator, route, options } = await started();
    emulator.fail(create, { hangUp: "after" });

    await expect(adapter.send(route(emulator.world.dm.id), text("once"), options("n1"))).rejects.toMatchObject({
      code: "delivery.unknown",
    });
    const repeated = await adapter.send(route(emulator.world.dm.id), text("once"), options("n1"));

    expect(emulator.sent()).toHaveLength(1);
    expect(repeated.messageId).toBe(emulator.sent()[0]?.id);
    expect(emulator.callsOf(create).every((call) => call.body["nonce"] === "n1" && call.body["enforce_nonce"] === true)).toBe(true);
  });

  it("DL-04: a doubtful message is found by its nonce, and absent only when that is certain", async () => {
    const { adapter, emulator, route, options } = await started();
    const target = route(emulator.world.dm.id);
    const from = Date.now();
    const sent = await adapter.send(target, text("hello"), options("n1"));

    expect(await adapter.findSent(target, "n1", from)).toEqual({ chatId: sent.chatId, messageId: sent.messageId });
    expect(await adapter.findSent(target, "n2", from)).toBe("absent");
    emulator.world.nonceInHistory = false;
    expect(await adapter.findSent(target, "n2", from)).toBe("unknown");
    emulator.world.dm.canView = false;
    expect(await adapter.findSent(target, "n2", from)).toBe("unknown");
  });

  it("DL-06: a rate limit in the middle of an answer says how long to wait, and the rest goes on in order", async () => {
    const { adapter, emulator, route, options } = await started();
    const target = route(emulator.world.group.id);
    const waits: (number | undefined)[] = [];

    for (let part = 1; part <= 5; part += 1) {
      if (part === 3) emulator.fail(create, { status: 429, retryAfter: 0.4 });
      await adapter.send(target, text(`part ${part}`), options(`p${part}`)).catch(async (error: unknown) => {
        waits.push((error as { retryAfterMs?: number }).retryAfterMs);
        await new Promise((resolve) => setTimeout(resolve, 400));
        await adapter.send(target, text(`part ${part}`), options(`p${part}`));
      });
    }

    expect(waits).toEqual([400]);
    expect(emulator.sent().map((message) => message.content)).toEqual([1, 2, 3, 4, 5].map((part) => `part ${part}`));
  });

  it("DL-06: an empty bucket is an answer of its own and never a hidden wait", async () => {
    const { adapter, emulator, route, options } = await started({ limits: { [create]: { limit: 2, windowMs: 60_000 } } });
    const target = route(emulator.world.group.id);
    await adapter.send(target, text("one"), options("b1"));
    await adapter.send(target, text("two"), options("b2"));
    const from = Date.now();

    const error: unknown = await adapter.send(target, text("three"), options("b3")).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: "delivery.rate-limited", retryable: true });
    expect((error as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(50_000);
    expect(Date.now() - from).toBeLessThan(1_000);
    expect(emulator.callsOf(create)).toHaveLength(2);
  });

  it.each([50_001, 50_013, 50_083, 50_007, 10_003])("DL-20: code %i means that nobody gets anything there", async (code) => {
    const { adapter, emulator, route, options } = await started();
    emulator.fail(create, { status: 403, code });

    await expect(adapter.send(route(emulator.world.group.id), text("x"), options("c1"))).rejects.toMatchObject({
      code: "delivery.chat-gone",
      retryable: false,
    });
  });

  it("DL-20: a locked or archived thread is not writable, an open one and a channel are", async () => {
    const { adapter, emulator } = await started();
    const { world } = emulator;
    const chat = { id: world.thread.id, kind: "thread", parentId: world.group.id } as const;

    expect(await adapter.writable(chat, undefined)).toBe(true);
    expect(await adapter.writable({ id: world.group.id, kind: "group" }, undefined)).toBe(true);
    emulator.setThread(world.thread, { locked: true });
    expect(await adapter.writable(chat, undefined)).toBe(false);
    emulator.setThread(world.thread, { locked: false, archived: true });
    expect(await adapter.writable(chat, undefined)).toBe(false);
    expect(await adapter.writable({ ...chat, id: "1300000000000000077" }, undefined)).toBe(false);
  });

  it("a refused token ends the adapter openly and not with a refusal of the message", async () => {
    const { adapter, emulator, io, route, options } = await started();
    emulator.token = "MTIz.another.token";

    await expect(adapter.send(route(emulator.world.dm.id), text("x"), options("t1"))).rejects.toMatchObject({ code: "delivery.not-sent" });

    expect(io.failures).toMatchObject([{ code: "adapter.auth" }]);
  });

  it("sends nothing and says so before it is started", async () => {
    open = await rig();

    await expect(open.adapter.send(open.route(open.emulator.world.dm.id), text("x"), open.options("s1"))).rejects.toMatchObject({
      code: "delivery.not-sent",
      retryable: true,
    });
    expect(open.emulator.calls).toEqual([]);
  });
});

describe("answers to Discord commands", () => {
  it("DL-21: a command is deferred at once, before it is stored and whatever the model takes", async () => {
    const all = await started();
    const { emulator, io } = all;
    const release = io.hold();

    const made = emulator.command({ in: emulator.world.group, name: "search", args: "x" });
    await emulator.waitFor(() => made.acknowledgedAt !== undefined, "the command is deferred");

    expect((made.acknowledgedAt ?? 0) - made.at).toBeLessThan(1_000);
    expect(made.callbackType).toBe(5);
    expect(io.events).toEqual([]);
    release();
  });

  it("the first part fills in the deferred answer, later parts follow it", async () => {
    const all = await started();
    const { adapter, emulator, options } = all;
    const { route } = await commandIn(all);

    await adapter.send(route, text("first"), options("d1"));
    await adapter.send(route, text("second"), options("d2"));

    const sent = emulator.sent();
    expect(sent.map((message) => message.content)).toEqual(["first", "second"]);
    expect(sent[0]?.type).toBe(20);
    expect(emulator.callsOf(create)).toEqual([]);
    expect(emulator.calls.filter((call) => call.path.startsWith("/webhooks/")).every((call) => call.authorization === undefined)).toBe(
      true,
    );
  });

  it("an answer to a command can be changed and taken away again", async () => {
    const all = await started();
    const { adapter, emulator, options } = all;
    const { route } = await commandIn(all);

    const sent = await adapter.send(route, text("draft"), options("d1"));
    await adapter.edit(sent, text("final"), options("d1").signal);
    expect(emulator.sent()[0]?.content).toBe("final");
    for (const interaction of emulator.world.interactions.values()) interaction.expired = true;
    await adapter.edit(sent, text("still final"), options("d1").signal);

    expect(emulator.sent()[0]?.content).toBe("still final");
  });

  it("DL-21: when the token has run out the answer is a normal message", async () => {
    const all = await started();
    const { adapter, emulator, options } = all;
    const { route } = await commandIn(all);
    for (const interaction of emulator.world.interactions.values()) interaction.expired = true;

    await adapter.send(route, text("late"), options("d1"));

    expect(emulator.callsOf(create)).toHaveLength(1);
    expect(emulator.sent().at(-1)?.content).toBe("late");
  });

  it("DL-21: after 14 minutes the token is not even tried", async () => {
    const all = await started();
    const { adapter, emulator, options } = all;
    const { route } = await commandIn(all);
    const hint = route.hint as { interaction: { at: number } };
    const old: Route = { ...route, hint: { interaction: { ...hint.interaction, at: Date.now() - 14 * 60_000 } } };

    await adapter.send(old, text("late"), options("d1"));

    expect(emulator.calls.some((call) => call.path.startsWith("/webhooks/"))).toBe(false);
    expect(emulator.sent().at(-1)?.content).toBe("late");
  });

  it("DL-04: a follow-up whose answer was lost is found again instead of sent twice", async () => {
    const all = await started();
    const { adapter, emulator, options } = all;
    const { route } = await commandIn(all);
    await adapter.send(route, text("first"), options("d1"));
    emulator.fail("POST /webhooks/:application/:token", { hangUp: "after" });

    await expect(adapter.send(route, text("second"), options("d2"))).rejects.toMatchObject({ code: "delivery.unknown" });
    await adapter.send(route, text("second"), options("d2"));

    expect(emulator.sent().map((message) => message.content)).toEqual(["first", "second"]);
  });

  it.each([
    ["before anything was answered", []],
    ["after the first part", ["first"]],
    ["after both parts", ["first", "second"]],
  ])("a restart %s leaves each part there once", async (_when, before) => {
    const all = await started();
    const { adapter, emulator, io, options } = all;
    const { route } = await commandIn(all);
    for (const [index, part] of before.entries()) await adapter.send(route, text(part), options(`d${index}`));
    await adapter.stop();

    const next = all.again();
    await next.start(io);
    await next.send(route, text("first"), options("d0"));
    await next.send(route, text("second"), options("d1"));

    expect(emulator.sent().map((message) => message.content)).toEqual(["first", "second"]);
  });

  it("DL-22: a button is acknowledged when it comes in; a word about it is for the presser only", async () => {
    const { adapter, emulator, io, route, options } = await started();
    const sent = await adapter.send(
      route(emulator.world.group.id),
      { ...text("Link?"), buttons: [{ label: "Yes", data: "link:yes" }] },
      options("e1"),
    );

    const pressed = emulator.press({ messageId: sent.messageId, data: "link:yes" });
    const event = await io.waitFor((each) => each.kind === "button");
    if (event.kind !== "button") throw new Error("no button");
    await adapter.acknowledge(event, "noted");

    expect(pressed.callbackType).toBe(6);
    expect(emulator.sent().at(-1)).toMatchObject({ content: "noted", flags: 64 });
    for (const interaction of emulator.world.interactions.values()) interaction.expired = true;
    await expect(adapter.acknowledge(event, "too late")).resolves.toBeUndefined();
  });
});

describe("a thread for each question", () => {
  const startRoute = "POST /channels/:channel/messages/:message/threads";

  async function question(all: Rig): Promise<InboundMessage> {
    const { emulator, io } = all;
    const said = emulator.say({ in: emulator.world.group, text: `<@${emulator.world.bot.id}> how are shoes made?\nplease` });
    const event = await io.waitFor((each) => each.kind === "message" && each.messageId === said.id);
    if (event.kind !== "message") throw new Error("no message");
    return event;
  }

  it("OP-09: the thread is named after the question and holds the answer", async () => {
    const all = await started({ thread: "auto" });
    const { adapter, emulator, options } = all;
    const { route, messageId, chat } = await question(all);

    await adapter.signOfLife(route, options("f0").signal);
    expect(emulator.typing.at(-1)?.channelId).toBe(emulator.world.group.id);
    const sent = await adapter.send(route, text("with care"), options("f1"));
    await adapter.send(route, text("and glue"), options("f2"));

    expect(sent.chatId).toBe(messageId);
    expect(emulator.sent().map((message) => message.channelId)).toEqual([messageId, messageId]);
    expect(emulator.callsOf(startRoute)).toHaveLength(1);
    expect(emulator.world.channels.get(messageId)?.name).toBe("how are shoes made?");
    emulator.say({ in: emulator.world.channels.get(messageId) ?? emulator.world.group, text: "thanks" });
    const next = await all.io.waitFor((each) => each.kind === "message" && each.text === "thanks");
    expect(next.chat.id).toBe(chat.id);
  });

  it("DL-26: a thread that was made although the call failed is found; there is one thread and one answer", async () => {
    const all = await started({ thread: "auto" });
    const { adapter, emulator, options } = all;
    const { route, messageId } = await question(all);
    emulator.fail(startRoute, { status: 500, html: true, afterEffect: true });

    const sent = await adapter.send(route, text("with care"), options("f1"));

    expect(sent.chatId).toBe(messageId);
    expect(emulator.callsOf(startRoute)).toHaveLength(1);
    expect(emulator.sent()).toHaveLength(1);
  });

  it("DL-26: when nothing was made the send may be repeated, and then there is one thread", async () => {
    const all = await started({ thread: "auto" });
    const { adapter, emulator, options } = all;
    const { route, messageId } = await question(all);
    emulator.fail(startRoute, { hangUp: "before" });

    await expect(adapter.send(route, text("with care"), options("f1"))).rejects.toMatchObject({
      code: "delivery.not-sent",
      retryable: true,
    });
    await adapter.send(route, text("with care"), options("f1"));

    expect(emulator.sent().map((message) => message.channelId)).toEqual([messageId]);
  });

  it("answers in the channel when it may not start threads", async () => {
    const all = await started({ thread: "auto" });
    const { adapter, emulator, options } = all;
    const { route, messageId } = await question(all);
    emulator.fail(startRoute, { status: 403, code: 50_013 });

    const sent = await adapter.send(route, text("here then"), options("f1"));

    expect(sent.chatId).toBe(emulator.world.group.id);
    expect(emulator.sent()[0]).toMatchObject({ replyTo: messageId });
  });

  it("reads what led to the question from the channel while the thread is not there yet", async () => {
    const all = await started({ thread: "auto" });
    const { adapter, emulator } = all;
    emulator.say({ in: emulator.world.group, by: emulator.world.bob, text: "I like shoes" });
    const { chat, messageId } = await question(all);

    expect(await adapter.writable(chat, undefined)).toBe(true);
    expect((await adapter.history(chat, undefined, messageId, 10)).map((message) => [message.author, message.text])).toEqual([
      ["Bob", "I like shoes"],
    ]);
  });
});
