/** Who may talk to the bot, through the whole gateway: fails closed, pairing, groups, buttons, bots. */
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/app/runtime.js";
import { countRows, fullWorld, operatorId, quiet, startGateway, textsIn, until, world, type World } from "../support/gateway.js";

const stranger = 2002;
const groupId = -1_001_000_000_002;

async function started(overrides: Readonly<Record<string, string>> = {}): Promise<World> {
  const where = await world({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId, { first_name: "Amy" });
  where.telegram.person(stranger, { first_name: "Bob" });
  where.telegram.group(groupId, "Team");
  await startGateway(where, overrides);
  return where;
}

function settled(where: World, n: number): Promise<void> {
  return until(`${n} settled`, () => countRows(where, "select count(*) n from inbox where state = 'done'") >= n);
}

function codeIn(text: string | undefined): string {
  const code = /[2-9A-HJ-NP-Z]{8}/.exec(text ?? "")?.[0];
  if (code === undefined) throw new Error(`no code in: ${text}`);
  return code;
}

describe("access", () => {
  it("AC-01: empty lists admit nobody: no model call, not a word, and nothing of the text is kept", async () => {
    const where = await started({ MNEME__access__mode: "allowlist", MNEME_OPERATORS: "" });

    where.telegram.say(stranger, "hello, my secret is 4711");
    await settled(where, 1);
    await quiet(where);

    expect(where.model.requests).toHaveLength(0);
    expect(where.telegram.sent).toHaveLength(0);
    expect(countRows(where, "select count(*) n from inbox where disposition = 'not-admitted'")).toBe(1);
    expect(countRows(where, "select count(*) n from inbox where event like '%4711%'")).toBe(0);
  });

  it("AC-01: open access works only when it is written out, and is said loudly at the start", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(stranger);
    const { log } = await startGateway(where, { MNEME_ACCESS_MODE: "open", MNEME_OPERATORS: "" });

    where.telegram.say(stranger, "hello");
    await where.telegram.waitSent(1);

    expect(textsIn(where)).toEqual(["Answer."]);
    expect(log.lines.some((line) => line.level === "warn" && line.message.includes("ACCESS IS OPEN"))).toBe(true);
  });

  it("AC-02: a list of groups does not admit a stranger's direct message", async () => {
    const where = await started({ MNEME__access__mode: "allowlist", MNEME__access__groups: `telegram:${groupId}` });

    where.telegram.say(stranger, "hello");
    where.telegram.say(groupId, `@${where.telegram.bot.username} hello`, { from: stranger });
    await where.telegram.waitSent(1);
    await settled(where, 2);

    expect(where.model.requests).toHaveLength(1);
    expect(textsIn(where, groupId)).toEqual(["Answer."]);
    expect(textsIn(where, stranger)).toEqual([]);
  });

  it("AC-03: a button pressed by somebody who is not admitted does nothing and is answered", async () => {
    const where = await started({ MNEME__access__mode: "allowlist" });
    where.telegram.say(operatorId, "hello");
    const [sent] = await where.telegram.waitSent(1);

    where.telegram.press(operatorId, sent?.message.message_id ?? 0, "confirm:1", stranger);
    await settled(where, 2);
    await where.telegram.waitFor((emulator) => emulator.calls.some((call) => call.method === "answerCallbackQuery"));

    expect(countRows(where, "select count(*) n from inbox where kind = 'button' and disposition = 'not-admitted'")).toBe(1);
    expect(where.model.requests).toHaveLength(1);
  });

  it("AC-03: commands of somebody who is not admitted are not carried out", async () => {
    const where = await started({ MNEME__access__mode: "allowlist" });

    for (const command of ["/status", "/memory list", "/approve ABCDEFGH", "/new"]) where.telegram.say(stranger, command);
    await settled(where, 4);

    expect(where.telegram.sent).toHaveLength(0);
    expect(countRows(where, "select count(*) n from inbox where disposition = 'not-admitted'")).toBe(4);
  });

  it("AC-06: six wrong codes in a row lock, even for the right one", async () => {
    const where = await started();
    where.telegram.say(stranger, "let me in");
    const code = codeIn((await where.telegram.waitSent(1))[0]?.message.text);

    for (let wrong = 0; wrong < 6; wrong += 1) where.telegram.say(operatorId, `/approve WRNG${wrong + 2}ABC`);
    where.telegram.say(operatorId, `/approve ${code}`);
    await until("eight answers", () => textsIn(where).length === 8);

    expect(textsIn(where, operatorId).at(-1)).toContain("too many wrong codes");
    where.telegram.say(stranger, "hello?");
    await settled(where, 9);
    expect(where.model.requests).toHaveLength(0);
  });

  it("AC-06: a code works once and only for the account it was given to", async () => {
    const where = await started();
    where.telegram.person(3003, { first_name: "Eve" });
    where.telegram.say(stranger, "let me in");
    const code = codeIn((await where.telegram.waitSent(1))[0]?.message.text);

    where.telegram.say(operatorId, `/approve ${code.toLowerCase()}`);
    await until("both told", () => textsIn(where).length === 3);
    where.telegram.say(operatorId, `/approve ${code}`);
    await until("used", () => textsIn(where, operatorId).length === 2);
    where.telegram.say(3003, code);
    where.telegram.say(stranger, "hello");
    await until("an answer", () => textsIn(where, stranger).includes("Answer."));
    await quiet(where);

    expect(textsIn(where, operatorId)[0]).toContain("Bob");
    expect(textsIn(where, operatorId)[1]).toContain("not known");
    expect(textsIn(where, stranger)[1]).toContain("You are admitted");
    expect(where.model.requests).toHaveLength(1);
  });

  it("AC-07: at most one code message in ten minutes; after an hour exactly one new code, which works", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    where.telegram.person(stranger, { first_name: "Bob" });
    let ahead = 0;
    const now = (): number => Date.now();
    Object.assign(systemClock, { now: () => now() + ahead });
    try {
      const { gateway } = await startGateway(where);
      where.telegram.say(stranger, "/start");
      where.telegram.say(stranger, "/start");
      await settled(where, 2);
      await quiet(where);
      expect(textsIn(where, stranger)).toHaveLength(1);
      const first = codeIn(textsIn(where, stranger)[0]);

      ahead = 3_700_000;
      where.telegram.say(stranger, "/start");
      await until("a new code", () => textsIn(where, stranger).length === 2);
      const second = codeIn(textsIn(where, stranger)[1]);
      expect((await gateway.parts.stores.access.codes(systemClock.now())).map((code) => code.code)).toEqual([second]);
      where.telegram.say(operatorId, `/approve ${first}`);
      where.telegram.say(operatorId, `/approve ${second}`);
      await until("told", () => textsIn(where, operatorId).length === 2);

      expect(textsIn(where, operatorId)[0]).toContain("not known");
      expect(textsIn(where, operatorId)[1]).toContain("admitted");
    } finally {
      Object.assign(systemClock, { now });
    }
  });

  it("admits a group by code: silence for others until then, guests after it, and no direct messages by that", async () => {
    const where = await started();
    where.telegram.member(groupId, "added", stranger);
    const code = codeIn((await where.telegram.waitSent(1))[0]?.message.text);
    where.telegram.say(groupId, `@${where.telegram.bot.username} hi`, { from: stranger });
    await settled(where, 2);
    expect(where.model.requests).toHaveLength(0);

    where.telegram.say(operatorId, `/approve ${code}`);
    await until("the group was told", () => textsIn(where, groupId).some((text) => text.includes("is admitted")));
    where.telegram.say(groupId, `@${where.telegram.bot.username} hi`, { from: stranger });
    await until("the answer", () => textsIn(where, groupId).includes("Answer."));
    where.telegram.say(stranger, "and here?");
    await until("a code for the person", () => textsIn(where, stranger).length === 1);

    expect(textsIn(where, stranger)[0]).toContain("Your code is");
    expect(where.model.requests).toHaveLength(1);
  });

  it("admits a group at once when an operator adds the bot", async () => {
    const where = await started();

    where.telegram.member(groupId, "added", operatorId);
    await where.telegram.waitSent(1);
    where.telegram.say(groupId, `@${where.telegram.bot.username} hi`, { from: stranger });
    await until("the answer", () => textsIn(where, groupId).includes("Answer."));

    expect(textsIn(where, groupId)[0]).toContain("Mention me");
  });

  it("hides operators' commands from others", async () => {
    const where = await started({ MNEME__access__users: `telegram:${stranger}` });

    where.telegram.say(stranger, "/help");
    where.telegram.say(operatorId, "/help");
    await where.telegram.waitSent(2);

    expect(textsIn(where, stranger)[0]).not.toContain("/approve");
    expect(textsIn(where, operatorId)[0]).toContain("/approve");
  });

  it("AC-09: the bot's own words and other bots start no turn on any platform", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.group(groupId, "Team");
    where.telegram.person(operatorId);
    await startGateway(where, { MNEME_ACCESS_MODE: "open" });
    const { discord, slack, telegram } = where;

    telegram.say(groupId, `@${telegram.bot.username} hello`, {
      from: 99,
      fields: { from: { id: 99, is_bot: true, first_name: "Parrot" } },
    });
    discord.say({ in: discord.world.group, by: discord.world.otherBot, text: `<@${discord.world.bot.id}> hello` });
    discord.say({ in: discord.world.group, by: discord.world.bot, text: "hello myself" });
    slack.say({ channel: "C0GENERAL", user: "U0ROBOT", text: "<@U0BOT> hello" });
    slack.say({ channel: "D0AMY", user: "U0BOT", text: "hello myself" });
    telegram.say(operatorId, "a person");
    await telegram.waitSent(1);
    await until("the bots were seen", () => countRows(where, "select count(*) n from inbox") >= 4);
    await quiet(where);

    expect(where.model.requests).toHaveLength(1);
    expect(discord.sent().filter((message) => message.content !== "hello myself")).toHaveLength(0);
    expect(slack.sent().filter((message) => message.text !== "hello myself")).toHaveLength(0);
  });
});
