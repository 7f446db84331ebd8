/** Commands about one's conversations, choices per chat, rights and usage, through the whole gateway. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { countRows, lastOf, operatorId, quiet, startGateway, textsIn, until, world, type Running, type World } from "../support/gateway.js";

const bob = 2002;
const group = -1_001_000_000_201;
const quietly = { MNEME__turns__joinMs: "0", MNEME__memory__nudgeInterval: "0", MNEME__memory__flushMinTurns: "0" };

async function started(overrides: Readonly<Record<string, string>> = {}, settings?: object): Promise<{ where: World; running: Running }> {
  const where = await world();
  // YAML reads JSON.
  if (settings !== undefined) writeFileSync(where.home.path("mneme.yaml"), JSON.stringify(settings));
  let n = 0;
  where.model.answerWith(() => `Answer ${(n += 1)}.`);
  where.telegram.person(operatorId, { first_name: "Amy" });
  where.telegram.person(bob, { first_name: "Bob" });
  where.telegram.group(group, "Team");
  const running = await startGateway(where, {
    ...quietly,
    MNEME__access__users: `telegram:${bob}`,
    MNEME__access__groups: `telegram:${group}`,
    ...overrides,
  });
  return { where, running };
}

async function say(where: World, chat: number, text: string, from?: number): Promise<string> {
  const heard = textsIn(where, chat).length;
  const name = `@${where.telegram.bot.username}`;
  const words = chat > 0 ? text : text.startsWith("/") ? text.replace(/^\/(\w+)/u, `/$1${name}`) : `${name} ${text}`;
  where.telegram.say(chat, words, from === undefined ? {} : { from });
  await until(`an answer to ${text}`, () => textsIn(where, chat).length > heard);
  await quiet(where);
  return textsIn(where, chat).slice(heard).join("\n");
}

describe("past conversations", () => {
  it("AC-08: /sessions lists, /resume goes on by title, number or id, only with one's own", async () => {
    const { where } = await started();
    await say(where, operatorId, "let us plan the garden");
    await say(where, operatorId, "/title Garden plan");
    await say(where, operatorId, "/new");
    await say(where, operatorId, "another subject");
    await say(where, bob, "hello");

    const list = await say(where, operatorId, "/sessions");
    const other = await say(where, bob, "/resume Garden plan");
    const resumed = await say(where, operatorId, "/resume garden PLAN");
    await say(where, operatorId, "and the roses?");

    expect(list).toContain("Garden plan");
    expect(list).toMatch(/another subject.*\(this one\)/u);
    expect(other).toContain("no conversation");
    expect(resumed).toContain("We go on with Garden plan");
    expect(where.model.requests.at(-1)?.raw).toContain("let us plan the garden");
    expect(where.model.requests.at(-1)?.raw).not.toContain("another subject");
  });

  it("/undo takes the last turn back: transcript and search agree afterwards", async () => {
    const { where, running } = await started();
    await say(where, operatorId, "the first thing");
    await say(where, operatorId, "the word is XYLOPHONE");

    const undone = await say(where, operatorId, "/undo");
    await say(where, operatorId, "go on");
    await say(where, operatorId, "/new");
    const found = await say(where, operatorId, "/search XYLOPHONE");

    expect(undone).toContain("XYLOPHONE");
    expect(where.model.requests.at(-1)?.raw).not.toContain("XYLOPHONE");
    expect(where.model.requests.at(-1)?.raw).toContain("the first thing");
    expect(found).toContain("No past conversation");
    expect(countRows(where, "select messages n from search_origins")).toBe(countRows(where, "select count(*) n from messages"));
    expect(running.log.lines.filter((line) => line.level === "error")).toEqual([]);
  });

  it("/undo names what the turn saved: that stays", async () => {
    const { where } = await started();
    where.model.push({ calls: [{ name: "memory", arguments: { action: "add", target: "user", content: "Plays the cello." } }] }, "Noted.");
    await say(where, operatorId, "I play. Plays the cello.");

    expect(await say(where, operatorId, "/undo")).toMatch(/stays[\s\S]*Plays the cello/u);
  });

  it("/retry answers the last message again in its place", async () => {
    const { where } = await started();
    await say(where, operatorId, "tell me a joke");

    await say(where, operatorId, "/retry");

    expect(lastOf(where)).toContain("tell me a joke");
    expect(where.model.requests.at(-1)?.body.messages.filter((message) => message.role === "user")).toHaveLength(1);
    expect(countRows(where, "select count(*) n from messages where role = 'user'")).toBe(1);
  });

  it("/private begins a conversation that is neither searched nor listed", async () => {
    const { where } = await started();
    await say(where, operatorId, "/private");
    await say(where, operatorId, "my secret is OCTOPUS");
    await say(where, operatorId, "/new");

    expect(await say(where, operatorId, "/search OCTOPUS")).toContain("No past conversation");
    expect(await say(where, operatorId, "/sessions")).not.toContain("OCTOPUS");
    expect(countRows(where, "select count(*) n from sessions where is_private = 1")).toBe(1);
  });

  it("/timezone changes the clock of the person's direct messages", async () => {
    const { where } = await started({ MNEME__timezone: "UTC" });
    expect(await say(where, bob, "/timezone Mars/Base")).toContain("do not know");
    expect(await say(where, bob, "/timezone asia/shanghai")).toContain("Asia/Shanghai");
    await say(where, bob, "hello");

    expect(where.model.requests.at(-1)?.raw).toContain("time zone Asia/Shanghai");
    expect(await say(where, bob, "/timezone")).toContain("Asia/Shanghai");
  });
});

describe("groups", () => {
  it("shows what was said before the bot was addressed, with names, once; it is not searchable", async () => {
    const { where } = await started();
    where.telegram.say(group, "the meeting is on Friday", { from: bob });
    where.telegram.say(group, "bring the PAPAYA", { from: operatorId });
    await until("both were seen", () => countRows(where, "select count(*) n from inbox where disposition = 'not-addressed'") === 2);

    await say(where, group, "when is it?", bob);
    const first = lastOf(where);
    await say(where, group, "thanks", bob);

    expect(first).toMatch(/Bob: the meeting is on Friday\nAmy: bring the PAPAYA/u);
    expect(lastOf(where)).not.toContain("Friday");
    expect(countRows(where, "select count(*) n from messages where said like '%PAPAYA%'")).toBe(0);
  });

  it("groups.contextMessages 0 keeps no word that was not addressed to the bot", async () => {
    const { where } = await started({ MNEME__groups__contextMessages: "0" });
    where.telegram.say(group, "the meeting is on Friday", { from: bob });
    await until("it was seen", () => countRows(where, "select count(*) n from inbox where disposition = 'not-addressed'") === 1);

    expect(countRows(where, "select count(*) n from inbox where event like '%Friday%'")).toBe(0);
  });

  it("/profile on lets the bot know its speaker in this group, for that message only, and off again", async () => {
    const { where } = await started();
    where.model.push({ calls: [{ name: "memory", arguments: { action: "add", target: "user", content: "Is a vegetarian." } }] }, "Noted.");
    await say(where, bob, "note it: Is a vegetarian.");
    await say(where, group, "what shall I eat?", bob);
    expect(where.model.requests.at(-1)?.raw).not.toContain("vegetarian");

    await say(where, group, "/profile on", bob);
    await say(where, group, "what shall I eat?", bob);
    expect(lastOf(where)).toContain("Is a vegetarian.");
    await say(where, group, "and me?", operatorId);
    expect(where.model.requests.at(-1)?.raw).not.toContain("vegetarian");
    await say(where, group, "/profile off", bob);
    await say(where, group, "and now?", bob);

    expect(where.model.requests.at(-1)?.raw).not.toContain("vegetarian");
    expect(
      countRows(
        where,
        "select count(*) n from messages m join sessions s on s.id = m.session_id where s.space_kind = 'group' and m.entry like '%vegetarian%'",
      ),
    ).toBe(0);
  });

  it("SE-15: one conversation for the chat, or one per member, never mixed with direct messages", async () => {
    for (const [scope, sees] of [
      ["chat", true],
      ["member", false],
    ] as const) {
      const { where } = await started({ MNEME__sessions__groupScope: scope });
      await say(where, operatorId, "privately: PLUM");
      await say(where, group, "my question is PEAR", operatorId);
      await say(where, group, "what was my last question?", bob);

      expect(where.model.requests.at(-1)?.raw.includes("PEAR")).toBe(sees);
      expect(where.model.requests.at(-1)?.raw).not.toContain("PLUM");
    }
  });
});

describe("choices, rights and usage", () => {
  it("/busy changes what a message does in this chat alone, at once and after a restart", async () => {
    const { where, running } = await started();
    expect(await say(where, operatorId, "/busy interrupt")).toContain("interrupt");
    await running.stop();
    await startGateway(where, { ...quietly, MNEME__access__users: `telegram:${bob}` });
    where.model.push({ text: "Too late.", headDelayMs: 5_000 }, "For the second.");
    const asked = where.model.requests.length;
    where.telegram.say(operatorId, "one");
    await where.model.waitFor(asked + 1);
    where.telegram.say(operatorId, "two");
    await until("the answer", () => textsIn(where, operatorId).includes("For the second."));

    expect(textsIn(where, operatorId)).not.toContain("Too late.");
    expect(await say(where, bob, "/busy")).toContain("queue");
  });

  it("/model chooses among the offered ones for this chat; chats: sets model and instructions", async () => {
    const { where } = await started(
      { MNEME__model__choices: "scripted-two" },
      { chats: { [`telegram:${group}`]: { model: "scripted-group", instructions: "Speak like a pirate." } } },
    );
    expect(await say(where, bob, "/model gold")).toContain("not offered");
    await say(where, bob, "/model scripted-two");
    await say(where, bob, "hello");
    expect(where.model.requests.at(-1)?.body.model).toBe("scripted-two");
    await say(where, operatorId, "hello");
    expect(where.model.requests.at(-1)?.body.model).toBe("scripted");
    await say(where, group, "hello", bob);

    expect(where.model.requests.at(-1)?.body.model).toBe("scripted-group");
    expect(where.model.requests.at(-1)?.raw).toContain("Speak like a pirate.");
    expect(await say(where, group, "/model scripted-two", bob)).toContain("Only operators");
  });

  it("chats: skills leaves only the named skills in index, tools and /skill of that chat", async () => {
    const { where } = await started({}, { chats: { [`telegram:${bob}`]: { skills: ["baking"] } } });
    const skill = (name: string) => ({
      name: "skill_manage",
      arguments: { action: "create", name, content: `---\nname: ${name}\ndescription: How ${name} goes.\n---\nDo it.` },
    });
    where.model.push({ calls: [skill("baking")] }, "Done.", { calls: [skill("welding")] }, "Done.");
    await say(where, bob, "save it");
    await say(where, bob, "and this");
    const refused = lastToolResult(where);
    await say(where, bob, "/new");
    await say(where, bob, "hello");

    expect(refused).toContain("may not be used in this chat");
    expect(where.model.requests.at(-1)?.raw).toContain("How baking goes.");
    expect(await say(where, bob, "/skill welding hello")).toContain("no skill called");
  });

  it("a tool that a role may not use is refused when it is called; the list is the same for everybody", async () => {
    const { where } = await started({ MNEME__access__roles__user__tools: "builtin,!memory" });
    where.model.push({ calls: [{ name: "memory", arguments: { action: "add", target: "memory", content: "The door is green." } }] }, "No.");

    await say(where, bob, "the door is green");

    expect(lastToolResult(where)).toContain("may not use memory");
    expect(countRows(where, "select count(*) n from memory_events")).toBe(0);
    expect(where.model.requests.at(-1)?.raw).toContain('"name":"memory"');
  });

  it("/usage shows tokens and cost; a budget that is used up refuses with a clear word, not the operator", async () => {
    const { where } = await started(
      { MNEME__budgets__person__tokens: "1" },
      { prices: { models: { scripted: { input: 1000, output: 1000 } } } },
    );
    await say(where, bob, "hello");
    expect(await say(where, bob, "hello again")).toContain("budget is used up");
    await say(where, operatorId, "hello");
    await say(where, operatorId, "hello again");

    const usage = await say(where, operatorId, "/usage");
    expect(usage).toMatch(/You today: [\d,]+, [\d,]+, [\d,]+; [\d.]+ USD/u);
    expect(await say(where, group, "/usage", bob)).toContain("direct message");
    expect(countRows(where, "select count(*) n from inbox where reason = 'budget used up'")).toBe(1);
  });

  it("sessions.reset idle ends a conversation that was quiet for too long", async () => {
    const { where, running } = await started({ MNEME__sessions__reset__mode: "idle", MNEME__sessions__reset__idleMinutes: "10" });
    await say(where, operatorId, "the old subject");
    await running.gateway.parts.db.write((tx) =>
      tx.run("update sessions set last_active_at = last_active_at - 700000, created_at = created_at - 700000"),
    );

    await say(where, operatorId, "something new");

    expect(where.model.requests.at(-1)?.raw).not.toContain("the old subject");
    expect(countRows(where, "select count(*) n from sessions where end_reason = 'idle'")).toBe(1);
  });
});

describe("/forget me", () => {
  it("ME-22: after a second word nothing is left in files, transcripts, search, log and inbox; others keep theirs", async () => {
    const { where, running } = await started();
    where.model.push({ calls: [{ name: "memory", arguments: { action: "add", target: "user", content: "Collects TURNIPS." } }] }, "Noted.");
    await say(where, bob, "Collects TURNIPS.");
    await say(where, group, "hear, hear: TURNIPS", bob);
    await running.gateway.parts.db.write((tx) => {
      const image = { type: "image", mimeType: "image/png", file: "media/2026-01-01/x/abc1.png" };
      const entry = "json_set(entry, '$.images', json(?))";
      tx.run(`update messages set entry = ${entry} where role = 'user' and account_id = ?`, [JSON.stringify([image]), String(bob)]);
    });
    mkdirSync(where.home.path("data", "media", "2026-01-01", "x"), { recursive: true });
    writeFileSync(where.home.path("data", "media", "2026-01-01", "x", "abc1.png"), "an image");
    await say(where, operatorId, "I keep my own");
    const person = (await running.gateway.parts.stores.access.account("telegram", String(bob)))?.personId ?? "";

    expect(await say(where, bob, "/forget me confirm")).toContain("first");
    expect(await say(where, bob, "/forget me")).toContain("for good");
    expect(existsSync(where.home.path("data", "people", person))).toBe(true);
    expect(await say(where, bob, "/forget me confirm")).toContain("is deleted");

    expect(existsSync(where.home.path("data", "people", person))).toBe(false);
    expect(existsSync(where.home.path("data", "media", "2026-01-01", "x", "abc1.png"))).toBe(false);
    const tables = [
      "messages where entry like '%TURNIP%' or said like '%TURNIP%'",
      "turns where said like '%TURNIP%' or user_entry like '%TURNIP%'",
      "inbox where event like '%TURNIP%'",
      "memory_events where after_text like '%TURNIP%' or evidence like '%TURNIP%'",
      "journal_entries where entry like '%TURNIP%'",
    ];
    for (const table of tables) expect(countRows(where, `select count(*) n from ${table}`), table).toBe(0);
    expect(countRows(where, `select count(*) n from sessions where person_id = '${person}'`)).toBe(0);
    expect(countRows(where, "select count(*) n from messages where said = 'I keep my own'")).toBe(1);
    expect(countRows(where, "select count(*) n from handovers") + countRows(where, "select count(*) n from prepared_handovers")).toBe(0);
    await say(where, bob, "hello again");
    expect(where.model.requests.at(-1)?.raw).not.toContain("TURNIP");
    expect(running.log.lines.filter((line) => line.level === "error")).toEqual([]);
  });
});

function lastToolResult(where: World): string {
  const messages = where.model.requests.at(-1)?.body.messages ?? [];
  return JSON.stringify(messages.findLast((message) => message.role === "tool")?.content ?? "");
}
