/** Conversations: order, history, keys, backlog, and the prompt prefix to the byte, through the whole gateway. */
import { describe, expect, it } from "vitest";
import { countRows, lastOf, operatorId, quiet, startGateway, textsIn, until, world, type World } from "../support/gateway.js";
import { messageBytes } from "../support/scripted-model.js";

const bob = 2002;
const noJoin = { MNEME__turns__joinMs: "0" };

async function started(overrides: Readonly<Record<string, string>> = {}): Promise<World> {
  const where = await world();
  let n = 0;
  where.model.answerWith(() => `Answer ${(n += 1)}.`);
  where.telegram.person(operatorId, { first_name: "Amy" });
  where.telegram.person(bob, { first_name: "Bob" });
  await startGateway(where, { MNEME__access__users: `telegram:${bob}`, ...overrides });
  return where;
}

/** Messages that waited at Telegram while nobody asked for them. */
function late(where: World, chatId: number, words: readonly string[], minutes: number): void {
  const date = Math.floor(Date.now() / 1000) - minutes * 60;
  for (const text of words) where.telegram.say(chatId, text, { fields: { date } });
}

describe("conversations", () => {
  it("SE-01: the second of two quick messages is answered with the first answer in sight", async () => {
    const where = await started(noJoin);
    where.model.push({ text: "The first answer.", headDelayMs: 500 });

    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "two");
    await where.telegram.waitSent(2);

    expect(where.model.requests[1]?.raw).toContain("The first answer.");
    expect(where.model.requests).toHaveLength(2);
  });

  it("SE-05: a backlog is one turn that shows when each was said", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    late(where, operatorId, ["one", "two", "three", "four", "five"], 40);

    await startGateway(where);
    await where.telegram.waitSent(1);
    await quiet(where);

    expect(where.model.requests).toHaveLength(1);
    expect(lastOf(where).match(/\[sent [^\]]+40 min ago\]/g)).toHaveLength(5);
    expect(textsIn(where)).toEqual(["Answer."]);
  });

  it("SE-05: what is older than a day is not answered; the chat is told once", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    late(where, operatorId, ["one", "two", "three"], 25 * 60);

    await startGateway(where);
    await where.telegram.waitSent(1);
    await until("all done", () => countRows(where, "select count(*) n from inbox where disposition = 'expired'") === 3);
    await quiet(where);

    expect(where.model.requests).toHaveLength(0);
    expect(textsIn(where)).toEqual([expect.stringContaining("older than 24 hours") as string]);
  });

  it("SE-06: the third request holds both earlier answers", async () => {
    const where = await started(noJoin);

    for (const [index, text] of ["A", "B", "C"].entries()) {
      where.telegram.say(operatorId, text);
      await where.telegram.waitSent(index + 1);
    }

    const third = where.model.requests[2]?.body.messages ?? [];
    expect(third.filter((message) => message.role === "assistant").map((message) => message.content)).toEqual(["Answer 1.", "Answer 2."]);
  });

  it("SE-07: a model error that passes stores the words once", async () => {
    const where = await started();
    where.model.push({ fault: { kind: "status", status: 503 } });

    where.telegram.say(operatorId, "only once please");
    await where.telegram.waitSent(1, 15_000);
    where.telegram.say(operatorId, "next");
    await where.telegram.waitSent(2, 15_000);

    expect(where.model.requests.at(-1)?.raw.split("only once please")).toHaveLength(2);
    expect(textsIn(where)[0]).toMatch(/^Answer/);
  });

  it("SE-08: two people at once get each their own", async () => {
    const where = await started();
    where.model.answerWith(async (request) => {
      const said = JSON.stringify(request.messages.at(-1));
      const who = said.includes("Amy here") ? "Amy" : "Bob";
      const call = { name: "memory", arguments: { action: "add", target: "user", content: `Is called ${who} and likes it.` } };
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (request.messages.at(-1)?.role === "tool") return said.includes("Is called Amy") ? "Hello Amy." : "Hello Bob.";
      return { calls: [call] };
    });

    where.telegram.say(operatorId, "Amy here");
    where.telegram.say(bob, "Bob here");
    await where.telegram.waitSent(2);
    for (const id of [operatorId, bob]) where.telegram.say(id, "/memory list");
    await where.telegram.waitSent(4);

    expect(textsIn(where, operatorId)[0]).toBe("Hello Amy.");
    expect(textsIn(where, bob)[0]).toBe("Hello Bob.");
    expect(textsIn(where, operatorId)[1]).toContain("Is called Amy");
    expect(textsIn(where, operatorId)[1]).not.toContain("Bob");
    expect(textsIn(where, bob)[1]).toContain("Is called Bob");
    expect(textsIn(where, bob)[1]).not.toContain("Amy");
  });

  it("SE-10: two people's direct messages are two conversations", async () => {
    const where = await started();

    where.telegram.say(operatorId, "my number is 4711");
    await where.telegram.waitSent(1);
    where.telegram.say(bob, "what is the number?");
    await where.telegram.waitSent(2);

    expect(where.model.requests[1]?.raw).not.toContain("4711");
    expect(countRows(where, "select count(distinct key) n from sessions")).toBe(2);
  });

  it("SE-15: in a group the conversation is the chat's by default, each member's where it is set so, and never a direct message's", async () => {
    for (const scope of ["chat", "member"]) {
      const where = await started({ MNEME__sessions__groupScope: scope, MNEME__access__groups: "telegram:-1001000000003" });
      where.telegram.group(-1_001_000_000_003, "Team");
      const ask = (from: number, text: string): unknown =>
        where.telegram.say(-1_001_000_000_003, `@${where.telegram.bot.username} ${text}`, { from });
      where.telegram.say(operatorId, "in private: apple");
      await where.telegram.waitSent(1);
      ask(operatorId, "in public: pear");
      await where.telegram.waitSent(2);
      ask(bob, "what was the last question?");
      await where.telegram.waitSent(3);

      expect(where.model.requests[2]?.raw.includes("pear")).toBe(scope === "chat");
      expect(where.model.requests[1]?.raw).not.toContain("apple");
      expect(where.model.requests[2]?.raw).not.toContain("apple");
    }
  });
});

describe("the prompt prefix", () => {
  it("is equal to the byte from request to request and across a restart: system, tools and earlier messages", async () => {
    const where = await world();
    where.telegram.person(operatorId, { first_name: "Amy" });
    const call = { name: "memory", arguments: { action: "add", target: "user", content: "Likes jazz.", evidence: "I like jazz" } };
    where.model.push({ calls: [call], text: "Let me note that." }, "Noted.", "Two.", "Three.");
    const first = await startGateway(where);
    where.telegram.say(operatorId, 'I like jazz “really” \u{1F600} \\ " é');
    await where.telegram.waitSent(1);
    where.telegram.say(operatorId, "second");
    await where.telegram.waitSent(2);
    await quiet(where);

    await first.stop();
    await startGateway(where);
    where.telegram.say(operatorId, "third");
    await where.telegram.waitSent(3);

    const requests = where.model.requests;
    expect(requests).toHaveLength(4);
    for (let at = 1; at < requests.length; at += 1) {
      const [before, after] = [requests[at - 1], requests[at]];
      if (before === undefined || after === undefined) throw new Error("requests are missing");
      expect(JSON.stringify(after.body.tools)).toBe(JSON.stringify(before.body.tools));
      expect(JSON.stringify(after.body.messages[0])).toBe(JSON.stringify(before.body.messages[0]));
      expect(messageBytes(after).startsWith(messageBytes(before))).toBe(true);
    }
    expect(where.model.refused).toEqual([]);
  });

  it("ME-10: what is stored and sent again are the person's own words, byte for byte", async () => {
    const where = await started();
    const words = Array.from({ length: 10 }, (_, index) => `message ${index} \t— “odd”  \u{1F680} \\n  x`);

    for (const [index, text] of words.entries()) {
      where.telegram.say(operatorId, text);
      await where.telegram.waitSent(index + 1, 15_000);
    }

    const users = (where.model.requests.at(-1)?.body.messages ?? []).filter((message) => message.role === "user");
    expect(users.map((message) => message.content)).toEqual(words);
  });
});
