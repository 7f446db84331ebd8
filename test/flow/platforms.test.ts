/** Discord and Slack through the whole gateway: threads, late commands, limits, locked places, and all platforms at once. */
import { describe, expect, it } from "vitest";
import { countRows, fullWorld, operatorId, quiet, startGateway, textsIn, until, type FullWorld } from "../support/gateway.js";

async function started(overrides: Readonly<Record<string, string>> = {}): Promise<FullWorld> {
  const where = await fullWorld({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId);
  await startGateway(where, overrides);
  return where;
}

const send = "POST /channels/:channel/messages";
const long = (paragraphs: number): string =>
  Array.from({ length: paragraphs }, (_, index) => `Paragraph ${index}. ${"Some more words to fill it. ".repeat(12)}`).join("\n\n");

describe("one process with all three platforms", () => {
  it("answers a direct message on Telegram, a mention in Discord and a direct message in Slack", async () => {
    const where = await started();

    where.telegram.say(operatorId, "hello");
    where.discord.say({ in: where.discord.world.group, text: `<@${where.discord.world.bot.id}> hello` });
    where.slack.say({ channel: "D0AMY", user: "U0AMY", text: "hello" });
    await until("three answers", () => where.telegram.sent.length + where.discord.sent().length + where.slack.sent().length === 3, 15_000);
    await quiet(where);

    expect(textsIn(where)).toEqual(["Answer."]);
    expect(where.discord.sent(where.discord.world.group.id).map((message) => message.content)).toEqual(["Answer."]);
    expect(where.slack.sent().map((message) => message.channel)).toEqual(["D0AMY"]);
    expect(where.model.requests).toHaveLength(3);
  });
});

describe("Discord", () => {
  it("SE-09: in a thread the bot takes part in no mention is needed", async () => {
    const where = await started();
    const { discord } = where;
    discord.say({ in: discord.world.thread, text: `<@${discord.world.bot.id}> hello` });
    await discord.waitFor(() => discord.sent().length === 1, "the first answer");

    discord.say({ in: discord.world.thread, text: "and without a mention?" });
    await discord.waitFor(() => discord.sent().length === 2, "the second answer");

    expect(discord.sent().every((message) => message.channelId === discord.world.thread.id)).toBe(true);
  });

  it("DL-06: a 429 in the middle of a split answer loses nothing and keeps the order", async () => {
    const where = await started();
    const { discord } = where;
    const text = long(24);
    where.model.push(text);
    let posts = 0;
    discord.say({ in: discord.world.dm, text: "hello" });
    await discord.waitFor(() => (posts = discord.sent().length) >= 2, "two parts");
    discord.fail(send, { status: 429, retryAfter: 0.4 });
    await quiet(where, 20_000);

    const sent = discord.sent().map((message) => message.content);
    expect(posts).toBeGreaterThan(0);
    expect(sent.length).toBeGreaterThanOrEqual(4);
    expect(sent.every((part) => part.length <= 2_000)).toBe(true);
    expect(sent.join("").replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
  }, 40_000);

  it("DL-04: a send that was stored and never answered is not doubled on Discord", async () => {
    const where = await started();
    const { discord } = where;
    discord.fail(send, { hangUp: "after" });

    discord.say({ in: discord.world.dm, text: "hello" });
    await discord.waitFor(() => discord.sent().length === 1, "the answer");
    await quiet(where, 15_000);

    expect(discord.sent()).toHaveLength(1);
    expect(countRows(where, "select count(*) n from outbox where state = 'sent'")).toBe(1);
  }, 30_000);

  it("DL-20: in a locked thread the model is not asked", async () => {
    const where = await started();
    const { discord } = where;
    discord.setThread(discord.world.thread, { locked: true });

    discord.say({ in: discord.world.thread, text: `<@${discord.world.bot.id}> hello` });
    await until("it is settled", () => countRows(where, "select count(*) n from inbox where state = 'done'") === 1);

    expect(where.model.requests).toHaveLength(0);
    expect(discord.sent()).toHaveLength(0);
  });

  it("DL-21: an application command is deferred within a second and answered later, in place", async () => {
    const where = await started();
    const { discord } = where;

    const made = discord.command({ in: discord.world.group, name: "status" });
    await discord.waitFor(
      () => made.originalId !== undefined && (discord.world.messages.get(made.originalId)?.content ?? "") !== "",
      "the answer",
    );
    await quiet(where);

    expect((made.acknowledgedAt ?? Infinity) - made.at).toBeLessThan(1_000);
    expect(discord.world.messages.get(made.originalId ?? "")?.content).toContain("Status");
    expect(where.model.requests).toHaveLength(0);
  });

  it("FM-13: nothing the model writes can ping anybody", async () => {
    const where = await started();
    const { discord } = where;
    where.model.push(`@everyone hi <@&123> <@${discord.world.bob.id}> @here`);

    discord.say({ in: discord.world.group, text: `<@${discord.world.bot.id}> hello` });
    await discord.waitFor(() => discord.sent().length === 1, "the answer");

    expect(discord.sent()[0]?.couldPing).toBe(false);
  });
});

describe("Slack", () => {
  it("SE-09, DL-17: a mention is answered in a thread under it, and a reply there needs no mention", async () => {
    const where = await started();
    const { slack } = where;
    const { ts } = slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hello" });
    await slack.waitFor(() => slack.sent().length === 1, "the first answer");

    slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "and now?", threadTs: ts });
    await slack.waitFor(() => slack.sent().length === 2, "the second answer");
    await quiet(where);

    expect(slack.sent().map((message) => message.threadTs)).toEqual([ts, ts]);
    expect(where.model.requests[1]?.raw).toContain("Answer.");
  });

  it("DL-09: a mention that arrives as two events is one turn", async () => {
    const where = await started();
    where.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hello", mentionGapMs: 40 });
    await where.slack.waitFor(() => where.slack.sent().length === 1, "the answer");
    await until("both came", () => countRows(where, "select coalesce(sum(repeats), 0) n from inbox") === 1);
    await quiet(where);

    expect(where.model.requests).toHaveLength(1);
    expect(where.slack.sent()).toHaveLength(1);
  });

  it("DL-12: Slack has its acknowledgement long before a slow model answers", async () => {
    const where = await started();
    where.model.push({ text: "Slow.", headDelayMs: 1_500 });
    const { deliveries } = where.slack.say({ channel: "D0AMY", user: "U0AMY", text: "hello" });
    await where.slack.waitFor(() => where.slack.sent().length === 1, "the answer");

    expect(deliveries[0]?.acked).toBe(true);
    expect(deliveries[0]?.latencyMs ?? Infinity).toBeLessThan(1_000);
    expect(deliveries[0]?.attempts).toBe(1);
    expect(where.model.requests).toHaveLength(1);
  });

  it("DL-25: when edits are limited the final text does not wait longer than Slack asks", async () => {
    const where = await started();
    const { slack } = where;
    const text = "This answer grows slowly enough to be shown before its end, and it has an end.";
    where.model.push({ text, chunkSize: 4, delayMs: 120 });
    slack.fail("chat.update", { times: 1, retryAfter: 2 });

    slack.say({ channel: "D0AMY", user: "U0AMY", text: "hello" });
    await until("the full text", () => slack.sent()[0]?.text === text, 20_000);
    const limitedAt = slack.callsOf("chat.update")[0]?.at ?? 0;
    await quiet(where);

    expect(slack.sent()).toHaveLength(1);
    expect(slack.sent()[0]?.text).toBe(text);
    expect(Date.now() - limitedAt).toBeLessThan(8_000);
  }, 30_000);

  it.each(["!stop", "<@U0BOT> stop"])("SE-11: %s in a thread ends a turn that hangs", async (command) => {
    const where = await started();
    const { slack } = where;
    where.model.push({ fault: { kind: "hang" } });
    const { ts } = slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hello" });
    await where.model.waitFor(1);

    const askedAt = Date.now();
    slack.say({ channel: "C0GENERAL", user: "U0AMY", text: command, threadTs: ts });
    await slack.waitFor(() => slack.sent().some((message) => JSON.stringify(message).includes("Stopped")), "the confirmation");

    expect(Date.now() - askedAt).toBeLessThan(1_500);
  });
});
