/** Combinations in which things go wrong together: hung sends and /stop, several speakers, limits, webhooks, languages. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import {
  countRows,
  fullWorld,
  lastOf,
  operatorId,
  quickTelegram,
  quiet,
  startGateway,
  textsIn,
  until,
  world,
  type World,
} from "../support/gateway.js";

const groupId = -1_001_000_000_007;
const bob = 2002;

async function started(overrides: Readonly<Record<string, string>> = {}): Promise<World> {
  const where = await world({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId, { first_name: "Amy" });
  where.telegram.person(bob, { first_name: "Bob" });
  where.telegram.group(groupId, "Team");
  await startGateway(
    where,
    { MNEME__access__groups: `telegram:${groupId}`, MNEME__access__users: `telegram:${bob}`, ...overrides },
    quickTelegram,
  );
  return where;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

describe("/stop under trouble", () => {
  it("SE-11: is confirmed within a second while the first send of a preview hangs, and the next message works", async () => {
    const where = await started();
    where.model.push({ text: "A long answer that goes on and on.", chunkSize: 3, delayMs: 250 });
    where.telegram.fail("sendMessage", { times: 1, never: "before" });
    where.telegram.say(operatorId, "hello");
    await where.telegram.waitFor(
      (emulator) => emulator.calls.some((call) => call.outcome === "never" && call.method === "sendMessage"),
      10_000,
    );

    const askedAt = Date.now();
    where.telegram.say(operatorId, "/stop");
    await until("the confirmation", () => textsIn(where).includes("Stopped."));
    const took = Date.now() - askedAt;
    where.telegram.say(operatorId, "next");
    await until("the next answer", () => textsIn(where).some((text) => text.endsWith("Answer.")), 15_000);

    expect(took).toBeLessThan(1_000);
  }, 30_000);

  it("in a group somebody else's turn is not stopped by a guest, but by an operator", async () => {
    const where = await started();
    where.telegram.person(3003, { first_name: "Eve" });
    where.model.push({ fault: { kind: "hang" } });
    where.telegram.say(groupId, `@${where.telegram.bot.username} hello`, { from: bob });
    await where.model.waitFor(1);

    where.telegram.say(groupId, `/stop@${where.telegram.bot.username}`, { from: 3003 });
    await where.telegram.waitSent(1);
    expect(textsIn(where)).toEqual(["There is nothing to stop."]);
    where.telegram.say(groupId, `/stop@${where.telegram.bot.username}`, { from: operatorId });
    await where.telegram.waitSent(2);

    expect(textsIn(where)[1]).toBe("Stopped.");
    await quiet(where);
  });

  it("typed twice, or with nothing running, says so", async () => {
    const where = await started();
    where.model.push({ fault: { kind: "hang" } });
    where.telegram.say(operatorId, "hello");
    await where.model.waitFor(1);

    where.telegram.say(operatorId, "/stop");
    await where.telegram.waitSent(1);
    await quiet(where);
    where.telegram.say(operatorId, "/stop");
    await where.telegram.waitSent(2);

    expect(textsIn(where)).toEqual(["Stopped.", "There is nothing to stop."]);
  });
});

describe("several speakers", () => {
  it("in a group each turn holds one speaker, headed with the name, in order", async () => {
    const where = await started();
    where.model.push({ text: "To Amy.", headDelayMs: 500 });
    const mention = `@${where.telegram.bot.username}`;

    where.telegram.say(groupId, `${mention} one`, { from: operatorId });
    await where.model.waitFor(1);
    where.telegram.say(groupId, `${mention} two`, { from: bob });
    where.telegram.say(groupId, `${mention} three`, { from: bob });
    await where.telegram.waitSent(2);
    await quiet(where);

    expect(where.model.requests).toHaveLength(2);
    expect(lastOf(where, 1)).toMatch(/^\[Amy · [0-9a-f]{6}\]\none$/);
    expect(lastOf(where, 2)).toMatch(/\[Bob · [0-9a-f]{6}\]\ntwo[\s\S]*\[Bob · [0-9a-f]{6}\]\nthree/);
    expect(textsIn(where)).toEqual(["To Amy.", "Answer."]);
  });

  it("an answer in a group is a reply to the message it answers", async () => {
    const where = await started();
    const asked = where.telegram.say(groupId, `@${where.telegram.bot.username} hello`, { from: bob });
    await where.telegram.waitSent(1);

    expect(where.telegram.sent[0]?.message.reply_to_message?.message_id).toBe(asked.message_id);
  });

  it("a message that is for nobody starts nothing", async () => {
    const where = await started();
    where.telegram.say(groupId, "just talking", { from: bob });
    await until("settled", () => countRows(where, "select count(*) n from inbox where disposition = 'not-addressed'") === 1);

    expect(where.model.requests).toHaveLength(0);
    expect(where.telegram.sent).toHaveLength(0);
  });
});

describe("limits per person", () => {
  it("says when somebody asks too much in ten minutes, and commands still work", async () => {
    const where = await started({ MNEME__turns__perPersonPer10Min: "2" });
    for (const [index, text] of ["one", "two", "three"].entries()) {
      where.telegram.say(operatorId, text);
      await where.telegram.waitSent(index + 1);
      await quiet(where);
    }
    where.telegram.say(operatorId, "/status");
    await where.telegram.waitSent(4);

    expect(textsIn(where)[2]).toContain("asked a lot");
    expect(textsIn(where)[3]).toContain("Status");
    expect(where.model.requests).toHaveLength(2);
  });

  it("runs at most so many turns of one person at a time, and all of them in the end", async () => {
    const where = await started({ MNEME__turns__perPerson: "1" });
    where.telegram.topic(groupId, 42);
    where.telegram.topic(groupId, 43);
    let open = 0;
    let most = 0;
    where.model.answerWith(async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, 150));
      open -= 1;
      return "Answer.";
    });

    const mention = `@${where.telegram.bot.username}`;
    where.telegram.say(operatorId, "one");
    where.telegram.say(groupId, `${mention} two`, { from: operatorId, topic: 42 });
    where.telegram.say(groupId, `${mention} three`, { from: operatorId, topic: 43 });
    await where.telegram.waitSent(3);

    expect(most).toBe(1);
  });
});

describe("the program's own words", () => {
  it("are in the language of the person's last messages, commands included", async () => {
    const where = await started();
    where.telegram.say(operatorId, "你好，今天天气怎么样？");
    await where.telegram.waitSent(1);
    where.telegram.say(operatorId, "/new");
    await where.telegram.waitSent(2);

    expect(textsIn(where)[1]).toMatch(/\p{Script=Han}/u);
  });
});

describe("over HTTP", () => {
  it("Telegram's webhook brings messages in once, and only with the secret", async () => {
    const port = await freePort();
    const where = await started({
      MNEME_HTTP_PORT: String(port),
      MNEME__telegram__mode: "webhook",
      MNEME__telegram__webhookUrl: `http://127.0.0.1:${port}/telegram`,
      MNEME__telegram__webhookSecret: "a-secret-word",
    });
    const forged = await fetch(`http://127.0.0.1:${port}/telegram`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        update_id: 1,
        message: {
          message_id: 1,
          date: 1,
          chat: { id: operatorId, type: "private" },
          from: { id: operatorId, is_bot: false, first_name: "x" },
          text: "forged",
        },
      }),
    });

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1, 10_000);
    await quiet(where);

    expect(forged.status).toBeGreaterThanOrEqual(400);
    expect(textsIn(where)).toEqual(["Answer."]);
    expect(JSON.stringify(where.model.requests.map((request) => request.raw))).not.toContain("forged");
  }, 30_000);

  it("Slack's signed events bring messages in once", async () => {
    const port = await freePort();
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    await startGateway(where, {
      MNEME_HTTP_PORT: String(port),
      MNEME__slack__mode: "http",
      SLACK_SIGNING_SECRET: where.slack.signingSecret,
    });
    where.slack.useHttp(`http://127.0.0.1:${port}/slack/events`);

    const { deliveries } = where.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hello" });
    await where.slack.waitFor(() => where.slack.sent().length === 1, "the answer", 10_000);
    await quiet(where);

    expect(where.slack.sent()).toHaveLength(1);
    expect(deliveries.every((delivery) => delivery.acked)).toBe(true);
    expect(where.model.requests).toHaveLength(1);
  }, 30_000);
});

describe("Slack's slash command", () => {
  it("/mneme stop in a channel stops the caller's turn in a thread there", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    await startGateway(where);
    where.model.push({ fault: { kind: "hang" } });
    where.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hello" });
    await where.model.waitFor(1);

    where.slack.slash({ channel: "C0GENERAL", user: "U0AMY", text: "stop" });
    await until("the confirmation", () => JSON.stringify([where.slack.responses, where.slack.sent()]).includes("Stopped"));
    await quiet(where);

    expect(countRows(where, "select count(*) n from turns where state = 'stopped'")).toBe(1);
  });
});

describe("what was steered in", () => {
  it("counts as the person's own words for what is saved in that turn", async () => {
    const where = await started({ MNEME__turns__joinMs: "0", MNEME__sessions__busyMode: "steer" });
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const add = (content: string, evidence: string) => ({
      calls: [{ name: "memory", arguments: { action: "add", target: "user", content, evidence } }],
    });
    where.model.push({ ...add("Has a cat.", "I have a cat"), gate, holdAt: 2 }, add("Has a dog.", "and a dog too"), "Noted.");
    where.telegram.say(operatorId, "I have a cat");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "and a dog too");
    await until("it was stored", () => countRows(where, "select count(*) n from inbox where state = 'waiting'") === 1);
    open();
    await where.telegram.waitSent(1);
    await quiet(where);
    where.telegram.say(operatorId, "/memory list");
    await where.telegram.waitSent(2);

    expect(textsIn(where).at(-1)).toMatch(/Has a cat\.[\s\S]*Has a dog\./);
  });
});

describe("previews", () => {
  it("an answer begun before a joined message is not shown after it", async () => {
    const where = await started({ MNEME__turns__joinMs: "5000" });
    where.model.push({
      text: "An answer to the first message alone.",
      chunkSize: 40,
      delayMs: 30,
      gate: new Promise(() => undefined),
      holdAt: 3,
    });
    where.model.push({ text: "An answer to both.", headDelayMs: 2_500 });
    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    await new Promise((resolve) => setTimeout(resolve, 200)); // the first words have come, nothing was shown yet
    where.telegram.say(operatorId, "two");
    await until("the answer", () => textsIn(where).includes("An answer to both."), 15_000);
    await quiet(where);

    const shown = JSON.stringify(where.telegram.sent.map((stored) => [stored.message.text, ...stored.history]));
    expect(shown).not.toContain("first message alone");
  }, 30_000);
});
