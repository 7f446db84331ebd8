/** Two accounts of one person, across platforms: tell it once; a take-over that fails; parting; the race with a running turn. */
import { existsSync, readdirSync, readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Gateway } from "../../src/app/gateway.js";
import { createIds, systemClock } from "../../src/app/runtime.js";
import { createLinkingStore } from "../../src/storage/linking.js";
import {
  countRows,
  fullWorld,
  operatorId,
  quiet,
  startGateway,
  textsIn,
  until,
  world,
  type FullWorld,
  type World,
} from "../support/gateway.js";

const mal = 3001;
const slackDm = "D0AMY";
const noJoin = { MNEME__turns__joinMs: "0", MNEME__memory__nudgeInterval: "0", MNEME__memory__flushMinTurns: "0" };

function codeIn(text: string | undefined): string {
  const code = /[2-9A-HJ-NP-Z]{8}/.exec(text ?? "")?.[0];
  if (code === undefined) throw new Error(`no code in: ${text}`);
  return code;
}

function slackTexts(where: FullWorld, channel = slackDm): string[] {
  return where.slack
    .sent()
    .filter((message) => message.channel === channel)
    .map((message) => JSON.stringify(message));
}

async function sayOnSlack(where: FullWorld, text: string): Promise<string> {
  const heard = slackTexts(where).length;
  where.slack.say({ channel: slackDm, user: "U0AMY", text });
  await until(`an answer on Slack to ${text}`, () => slackTexts(where).length > heard);
  await quiet(where);
  return slackTexts(where).slice(heard).join("\n");
}

async function say(where: World, chat: number, text: string): Promise<string> {
  const heard = textsIn(where, chat).length;
  where.telegram.say(chat, text);
  await until(`an answer to ${text}`, () => textsIn(where, chat).length > heard);
  await quiet(where);
  return textsIn(where, chat).slice(heard).join("\n");
}

const personOf = async (gateway: Gateway, platform: string, id: string | number): Promise<string> =>
  (await gateway.parts.stores.access.account(platform, String(id)))?.personId ?? "";

/** Amy links her Telegram and her Slack account, both confirming. */
async function linkAmy(where: FullWorld): Promise<void> {
  const code = codeIn(await say(where, operatorId, "/link"));
  const question = await sayOnSlack(where, `/mneme link ${code}`.replace("/mneme ", "!"));
  expect(question).toContain(`telegram:${operatorId}`);
  await until("the question on Telegram", () => textsIn(where, operatorId).some((text) => text.includes("slack:U0AMY")));
  await sayOnSlack(where, "confirm");
  await say(where, operatorId, "confirm");
  await until("both are told", () => textsIn(where, operatorId).some((text) => text.includes("are linked: ")));
  await quiet(where);
}

const save = (target: string, content: string): object => ({ name: "memory", arguments: { action: "add", target, content } });

describe("linked accounts", () => {
  it("tell it once: a preference told on Telegram holds on Slack after linking, and in no group", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId, { first_name: "Amy" });
    const { gateway } = await startGateway(where, noJoin);
    where.model.push({ calls: [save("user", "Prefers answers in rhyme.") as never] }, "Noted.");
    await say(where, operatorId, "I prefer answers in rhyme, please");
    await sayOnSlack(where, "hello");

    await linkAmy(where);
    await sayOnSlack(where, "how are you?");
    const after = where.model.requests.at(-1)?.raw ?? "";
    where.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hello everybody" });
    await until("the answer in the channel", () => slackTexts(where, "C0GENERAL").length === 1);

    expect(after).toContain("Prefers answers in rhyme.");
    expect(where.model.requests.at(-1)?.raw).not.toContain("rhyme");
    expect(await personOf(gateway, "telegram", operatorId)).toBe(await personOf(gateway, "slack", "U0AMY"));
  });

  it("keeps both originals, merges under the limit, and loses nothing that does not fit", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId, { first_name: "Amy" });
    const { gateway } = await startGateway(where, { ...noJoin, MNEME__memory__userCharLimit: "120" });
    await say(where, operatorId, "hi");
    await sayOnSlack(where, "hi");
    const people = [await personOf(gateway, "telegram", operatorId), await personOf(gateway, "slack", "U0AMY")] as const;
    const texts = [
      ["Likes green tea a lot.", "Lives in a small town near the sea."],
      ["Has a cat called Mo, who is old.", "Works with wood and with metal, mostly at night."],
    ];
    for (const [index, id] of people.entries()) {
      mkdirSync(where.home.path("data", "people", id), { recursive: true });
      writeFileSync(where.home.path("data", "people", id, "USER.md"), (texts[index] ?? []).join("\n§\n"));
    }

    await linkAmy(where);

    const folder = where.home.path("data", "people", people[0]);
    const all = readdirSync(folder)
      .map((name) => readFileSync(`${folder}/${name}`, "utf8"))
      .join("\n");
    for (const entry of texts.flat()) expect(all).toContain(entry);
    expect([...readFileSync(`${folder}/USER.md`, "utf8")].length).toBeLessThanOrEqual(120);
    expect(readFileSync(`${folder}/USER.overflow.md`, "utf8")).toContain("Works with wood");
    for (const id of people)
      expect(readdirSync(where.home.path("data", "people", id)).filter((name) => name.includes("before-link"))).toHaveLength(1);
    expect(textsIn(where, operatorId).at(-1)).toContain("did not fit");
  });

  it("/unlink gives an account back what it had and what its own conversations taught", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId, { first_name: "Amy" });
    const { gateway } = await startGateway(where, noJoin);
    where.model.push({ calls: [save("user", "Told on Telegram: sings.") as never] }, "Noted.");
    await say(where, operatorId, "I sing. Told on Telegram: sings.");
    where.model.push({ calls: [save("user", "Told on Slack: dances.") as never] }, "Noted.");
    await sayOnSlack(where, "I dance. Told on Slack: dances.");
    await linkAmy(where);
    where.model.push({ calls: [save("user", "Later on Slack: paints.") as never] }, "Noted.");
    await sayOnSlack(where, "I paint. Later on Slack: paints.");

    await sayOnSlack(where, "!unlink");

    const read = async (platform: string, id: string | number): Promise<string> =>
      readFileSync(where.home.path("data", "people", await personOf(gateway, platform, id), "USER.md"), "utf8");
    expect(await personOf(gateway, "telegram", operatorId)).not.toBe(await personOf(gateway, "slack", "U0AMY"));
    const slack = await read("slack", "U0AMY");
    expect(slack).toContain("dances");
    expect(slack).toContain("paints");
    expect(slack).not.toContain("sings");
    expect(await read("telegram", operatorId)).toContain("sings");
    await sayOnSlack(where, "what do you know?");
    expect(where.model.requests.at(-1)?.raw).not.toContain("sings");
  });

  it("a union that a crash cut short is finished at the next start, and nothing is doubled", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId, { first_name: "Amy" });
    const first = await startGateway(where, noJoin);
    where.model.push({ calls: [save("user", "Told on Telegram: sings.") as never] }, "Noted.");
    await say(where, operatorId, "Told on Telegram: sings.");
    where.model.push({ calls: [save("user", "Told on Slack: dances.") as never] }, "Noted.");
    await sayOnSlack(where, "Told on Slack: dances.");
    const { db } = first.gateway.parts;
    const store = createLinkingStore({ db, ids: createIds({ clock: systemClock }) });
    const sides = await Promise.all(
      (
        [
          ["telegram", String(operatorId), String(operatorId)],
          ["slack", "U0AMY", slackDm],
        ] as const
      ).map(async ([platform, accountId, chatId]) => ({
        platform,
        accountId,
        personId: await personOf(first.gateway, platform, accountId),
        route: { platform, chatId },
        confirmed: true,
        language: "en" as const,
      })),
    );
    const [from, to] = sides;
    if (from === undefined || to === undefined) throw new Error("no sides");
    await store.putRequest({ id: "ABCD2345", state: "open", from, to, expiresAt: Date.now() + 60_000 }, Date.now());
    await store.accept("ABCD2345");
    // The process dies after the people are one and before their files are.
    await store.unite("ABCD2345", Date.now());
    await first.stop();

    const { gateway } = await startGateway(where, noJoin);
    await until("both are told", () => textsIn(where, operatorId).some((text) => text.includes("are linked: ")));

    const text = readFileSync(where.home.path("data", "people", await personOf(gateway, "telegram", operatorId), "USER.md"), "utf8");
    expect(text.split("sings.")).toHaveLength(2);
    expect(text.split("dances.")).toHaveLength(2);
    expect(countRows(where, "select count(*) n from link_requests where state <> 'done'")).toBe(0);
  });

  it("a running turn is waited for: what it saves lands with the joined person", async () => {
    const where = await fullWorld({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId, { first_name: "Amy" });
    const { gateway } = await startGateway(where, noJoin);
    await sayOnSlack(where, "hello");
    const code = codeIn(await say(where, operatorId, "/link"));
    await sayOnSlack(where, `!link ${code}`);
    await until("the question on Telegram", () => textsIn(where, operatorId).some((text) => text.includes("slack:U0AMY")));
    await say(where, operatorId, "confirm");
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    where.model.push({ calls: [save("user", "Saved while being linked.") as never], gate, holdAt: 1 }, "Saved.");
    const asked = where.model.requests.length;
    where.slack.say({ channel: slackDm, user: "U0AMY", text: "Saved while being linked." });
    await where.model.waitFor(asked + 1);

    where.slack.say({ channel: slackDm, user: "U0AMY", text: "!link confirm" });
    await until("the second yes", () => slackTexts(where).some((text) => text.includes("as soon as no answer")));
    expect(await personOf(gateway, "telegram", operatorId)).not.toBe(await personOf(gateway, "slack", "U0AMY"));
    open();
    await until("both are told", () => textsIn(where, operatorId).some((text) => text.includes("are linked: ")));

    const person = await personOf(gateway, "telegram", operatorId);
    expect(readFileSync(where.home.path("data", "people", person, "USER.md"), "utf8")).toContain("Saved while being linked.");
  });
});

describe("a take-over", () => {
  async function scene(): Promise<{ where: World; gateway: Gateway }> {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId, { first_name: "Amy" });
    where.telegram.person(mal, { first_name: "Mal" });
    const { gateway } = await startGateway(where, { ...noJoin, MNEME__access__users: `telegram:${mal}` });
    where.model.push({ calls: [save("user", "Keeps the key under the mat.") as never] }, "Noted.");
    await say(where, operatorId, "Keeps the key under the mat. That is me.");
    return { where, gateway };
  }

  it("fails when the victim is talked into sending the code: only an informed yes of both shares anything", async () => {
    const { where, gateway } = await scene();
    const code = codeIn(await say(where, mal, "/link"));

    const question = await say(where, operatorId, `/link ${code}`);
    await until("Mal is asked too", () => textsIn(where, mal).length === 2);
    await say(where, mal, "confirm");
    await say(where, mal, "/link confirm");
    await say(where, mal, "what is under the mat?");

    expect(question).toContain("Mal");
    expect(question).toContain(`telegram:${mal}`);
    expect(question).toMatch(/BOTH accounts share everything/);
    expect(await personOf(gateway, "telegram", mal)).not.toBe(await personOf(gateway, "telegram", operatorId));
    expect(where.model.requests.at(-1)?.raw).not.toContain("under the mat.");
  });

  it("fails with a made-up button, a used code, an old question, and a no", async () => {
    const { where, gateway } = await scene();
    const code = codeIn(await say(where, mal, "/link"));
    await say(where, operatorId, `/link ${code}`);
    await until("Mal is asked too", () => textsIn(where, mal).length === 2);
    const asked = where.telegram.sent.find(
      (stored) => stored.message.chat.id === mal && (stored.message.text ?? "").includes("Do you want"),
    );
    const hers = where.telegram.sent.find(
      (stored) => stored.message.chat.id === operatorId && (stored.message.text ?? "").includes("Do you want"),
    );
    where.telegram.press(mal, asked?.message.message_id ?? 0, `link:yes:${code}`, mal);
    where.telegram.press(operatorId, hers?.message.message_id ?? 0, `link:yes:${code}`, mal);
    await until("both presses", () => countRows(where, "select count(*) n from inbox where kind = 'button' and state = 'done'") === 2);
    expect(await say(where, mal, `/link ${code}`)).toContain("not known");
    expect(countRows(where, "select count(*) n from link_requests where state <> 'open'")).toBe(0);

    expect(await say(where, operatorId, "cancel")).toContain("cancelled");
    expect(await say(where, operatorId, "/link confirm")).toContain("Nothing is waiting");
    expect(await personOf(gateway, "telegram", mal)).not.toBe(await personOf(gateway, "telegram", operatorId));
  });

  it("AC-06: guessing link codes locks after five wrong ones, even for the right one", async () => {
    const { where } = await scene();
    const code = codeIn(await say(where, operatorId, "/link"));
    for (let n = 2; n < 7; n += 1) await say(where, mal, `/link WRNG${n}ABC`);

    expect(await say(where, mal, `/link ${code}`)).toContain("too many wrong codes");
    expect(countRows(where, "select count(*) n from link_requests")).toBe(0);
    expect(existsSync(where.home.path("data", "people"))).toBe(true);
  });

  it("raises nobody: each account keeps its own role", async () => {
    const { where, gateway } = await scene();
    const code = codeIn(await say(where, mal, "/link"));
    await say(where, operatorId, `/link ${code}`);
    await until("Mal is asked too", () => textsIn(where, mal).length === 2);
    await say(where, mal, "confirm");
    const hers = where.telegram.sent.find(
      (stored) => stored.message.chat.id === operatorId && (stored.message.text ?? "").includes("Do you want"),
    );
    where.telegram.press(operatorId, hers?.message.message_id ?? 0, `link:yes:${code}`, operatorId);
    await until("linked", () => textsIn(where, mal).some((text) => text.includes("are linked: ")));

    expect(await say(where, mal, "/approve ABCDEFGH")).toContain("do not know the command");
    expect(await personOf(gateway, "telegram", mal)).toBe(await personOf(gateway, "telegram", operatorId));
  });

  it("fails the other way round too: a code told to somebody is no yes", async () => {
    const { where, gateway } = await scene();
    const code = codeIn(await say(where, operatorId, "/link"));
    expect(await say(where, mal, `/link ${code}`)).toContain("Amy");
    await until("Amy is asked", () => textsIn(where, operatorId).some((text) => text.includes(`telegram:${mal}`)));
    await say(where, mal, "confirm");
    await say(where, operatorId, "hm, what is this?");

    expect(await personOf(gateway, "telegram", mal)).not.toBe(await personOf(gateway, "telegram", operatorId));
  });

  it("cannot begin from an account that is not admitted, in a group, or where linking is off", async () => {
    const { where } = await scene();
    where.telegram.person(4001, { first_name: "Gus" });
    where.telegram.group(-1_001_000_000_301, "Team");
    expect(await say(where, 4001, "/link")).toContain("I do not know you yet");
    where.telegram.say(-1_001_000_000_301, `/link@${where.telegram.bot.username}`, { from: operatorId });
    await until("the answer in the group", () => textsIn(where, -1_001_000_000_301).length === 1);
    expect(textsIn(where, -1_001_000_000_301)[0]).toContain("direct message");

    const other = await world({ model: { answer: () => "Answer." } });
    other.telegram.person(operatorId);
    await startGateway(other, { MNEME__access__linking: "off" });
    expect(await say(other, operatorId, "/link")).toContain("switched off");
  });

  it("with linking by operators two yeses wait for an operator's word", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    for (const [id, name] of [
      [operatorId, "Amy"],
      [mal, "Mal"],
      [3002, "Mal too"],
    ] as const)
      where.telegram.person(id, { first_name: name });
    const { gateway } = await startGateway(where, {
      ...noJoin,
      MNEME__access__linking: "operator",
      MNEME__access__users: `telegram:${mal},telegram:3002`,
    });
    const code = codeIn(await say(where, mal, "/link"));
    await say(where, 3002, `/link ${code}`);
    await until("both are asked", () => textsIn(where, mal).length === 2);
    await say(where, mal, "confirm");
    expect(await say(where, 3002, "confirm")).toContain("operator has to allow");
    expect(await say(where, mal, `/link approve ${code}`)).toContain("Only operators");
    expect(await personOf(gateway, "telegram", mal)).not.toBe(await personOf(gateway, "telegram", 3002));

    await say(where, operatorId, `/link approve ${code}`);
    await until("linked", () => textsIn(where, mal).some((text) => text.includes("are linked: ")));
    expect(await personOf(gateway, "telegram", mal)).toBe(await personOf(gateway, "telegram", 3002));
  });
});
