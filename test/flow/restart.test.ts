/** Connections that die, adapters that fail, and restarts in the middle of things. */
import { describe, expect, it } from "vitest";
import { countRows, fullWorld, operatorId, quickTelegram, quiet, startGateway, textsIn, until, world } from "../support/gateway.js";
import { spawnGateway } from "../support/gateway-process.js";

const groupId = -1_001_000_000_005;

describe("connections", () => {
  it("RC-01: a poll that hangs for ever is given up, said in the state meanwhile, and messages come again", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    const { gateway } = await startGateway(where, { MNEME__telegram__pollTimeoutSeconds: "1" }, quickTelegram);
    await until("polls", () => where.telegram.calls.filter((call) => call.method === "getUpdates").length >= 2);
    where.telegram.fail("getUpdates", { times: 1, never: "before" });
    await until("a poll hangs", () => where.telegram.calls.some((call) => call.method === "getUpdates" && call.outcome === "never"));

    where.telegram.say(operatorId, "hello?");
    await where.telegram.waitSent(1, 10_000);

    expect(textsIn(where)).toEqual(["Answer."]);
    await until("all is well again", () => gateway.parts.supervisor.states().every((state) => state.ok));
  });

  it("RC-02: a long turn in one chat does not hold up another", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    where.telegram.person(2002);
    await startGateway(where, { MNEME__access__users: "telegram:2002" });
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    where.model.answerWith((request) => (JSON.stringify(request.messages.at(-1)).includes("slow") ? { text: "Slow.", gate } : "Quick."));

    where.telegram.say(operatorId, "slow");
    await where.model.waitFor(1);
    for (const text of ["a", "b", "c"]) {
      const before = where.telegram.sent.length;
      where.telegram.say(2002, text);
      await where.telegram.waitSent(before + 1);
    }
    open();
    await where.telegram.waitSent(4);

    expect(textsIn(where, 2002)).toEqual(["Quick.", "Quick.", "Quick."]);
    expect(textsIn(where, operatorId)).toEqual(["Slow."]);
  });

  it("RC-07: a platform that fails does not disturb the others and comes back by itself", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    where.slack.fail("apps.connections.open", { times: 1, error: "internal_error" });
    where.discord.fail("GET /gateway/bot", { times: 3, status: 500 });
    const { gateway } = await startGateway(where);

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1);
    await until("all are back", () => gateway.parts.supervisor.states().every((state) => state.ok), 20_000);
    where.slack.say({ channel: "D0AMY", user: "U0AMY", text: "hello" });
    await where.slack.waitFor(() => where.slack.sent().length === 1, "an answer in Slack", 10_000);

    expect(textsIn(where)).toEqual(["Answer."]);
  }, 40_000);

  it("RC-07: an error of one client library is contained while the others answer", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    await startGateway(where);
    where.discord.raw("MESSAGE_CREATE", { id: 7, channel_id: null, author: "nobody" });
    where.discord.gateway.drop();
    where.slack.source.cut();

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1);

    expect(textsIn(where)).toEqual(["Answer."]);
  });

  it("RC-08: what was written while Discord's socket was down is answered once", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    const { discord } = where;
    await startGateway(where);
    discord.say({ in: discord.world.dm, text: "before" });
    await discord.waitFor(() => discord.sent().length === 1, "the first answer");
    await quiet(where);

    discord.gateway.forgetSessions();
    discord.say({ in: discord.world.dm, text: "in the gap", unseen: true });
    discord.gateway.drop(4009);
    await discord.waitFor(() => discord.sent().length === 2, "the answer to what came in the gap", 20_000);
    await quiet(where);

    expect(discord.sent().map((message) => message.content)).toEqual(["Answer.", "Answer."]);
    expect(where.model.requests).toHaveLength(2);
  }, 40_000);

  it("RC-11: another program with the same token makes the bot wait, not give up", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    where.telegram.fail("getUpdates", {
      times: 3,
      status: 409,
      description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    });
    const { log } = await startGateway(where, {}, quickTelegram);

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1, 15_000);

    expect(textsIn(where)).toEqual(["Answer."]);
    expect(log.lines.some((line) => /token/i.test(line.message + JSON.stringify(line.fields)))).toBe(true);
  }, 30_000);
});

describe("restarts", () => {
  it("RC-04: updates that come again after a restart are not answered again", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    const first = await startGateway(where);
    const updates = Array.from({ length: 5 }, (_, index) => where.telegram.say(operatorId, `message ${index}`));
    await where.telegram.waitSent(1);
    await quiet(where);
    await first.stop();
    const sent = where.telegram.sent.length;
    const asked = where.model.requests.length;

    for (const message of updates) where.telegram.inject({ message });
    await startGateway(where);
    await until("they came again", () => countRows(where, "select count(*) n from inbox where repeats > 0") === 5);
    await quiet(where);

    expect(where.telegram.sent).toHaveLength(sent);
    expect(where.model.requests).toHaveLength(asked);
  });

  it("RC-10: SIGTERM in the model call: after the start the answer comes in the same topic, once", async () => {
    const where = await world();
    where.telegram.group(groupId, "Team");
    where.telegram.topic(groupId, 42);
    where.telegram.person(operatorId);
    where.model.push({ fault: { kind: "hang" } });
    where.model.answerWith(() => "Answer.");
    const running = await startGateway(where);
    where.telegram.say(groupId, `@${where.telegram.bot.username} hello`, { from: operatorId, topic: 42 });
    await where.model.waitFor(1);

    await running.stop();
    await startGateway(where);
    await where.telegram.waitSent(1);
    await quiet(where);

    expect(textsIn(where)).toEqual(["Answer."]);
    expect(where.telegram.sent[0]?.message.message_thread_id).toBe(42);
    expect(where.model.requests[1]?.body.messages).toEqual(where.model.requests[0]?.body.messages);
  });

  it("RC-10: a real process lets a running answer end before it obeys SIGTERM", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    where.model.push({ text: "The whole answer.", headDelayMs: 1_000 });
    const process_ = await spawnGateway(where);
    where.telegram.say(operatorId, "hello");
    await where.model.waitFor(1, 10_000);

    const code = await process_.terminate();

    expect(code).toBe(0);
    expect(textsIn(where)).toEqual(["The whole answer."]);
    expect(where.model.requests).toHaveLength(1);
  }, 30_000);

  it("RC-10: what waits in the queue at SIGTERM is answered after the start", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    where.model.push({ fault: { kind: "hang" } });
    where.model.answerWith(() => "Answer.");
    const running = await startGateway(where, { MNEME__turns__joinMs: "0" });
    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "two");
    await until("it waits", () => countRows(where, "select count(*) n from inbox where turn_id is null and state = 'waiting'") === 1);

    await running.stop();
    await startGateway(where);
    await where.telegram.waitSent(2);
    await quiet(where);

    expect(where.model.requests).toHaveLength(3);
    expect(textsIn(where)).toEqual(["Answer.", "Answer."]);
  });

  it("RC-13: stopped and started three times, one message has one answer on every platform", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    for (let round = 0; round < 3; round += 1) await (await startGateway(where)).stop();
    await startGateway(where);

    where.telegram.say(operatorId, "hello");
    where.discord.say({ in: where.discord.world.dm, text: "hello" });
    where.slack.say({ channel: "D0AMY", user: "U0AMY", text: "hello" });
    await until("three answers", () => where.telegram.sent.length + where.discord.sent().length + where.slack.sent().length >= 3, 15_000);
    await quiet(where);

    expect([where.telegram.sent.length, where.discord.sent().length, where.slack.sent().length]).toEqual([1, 1, 1]);
    expect(where.model.requests).toHaveLength(3);
  }, 60_000);
});
