/** Reviews through the whole gateway: after the reply, with the session's own bytes, seen as one line. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { operatorId, startGateway, until, world, type World } from "../support/gateway.js";
import { messageBytes, messageText, type WireRequest } from "../support/scripted-model.js";

const quick = { MNEME__learning__idleSeconds: "0", MNEME__turns__joinMs: "0" };
const saves = {
  calls: [
    {
      name: "memory",
      arguments: { action: "add", target: "user", content: "Works night shifts as a nurse.", evidence: "my night shift at the ward" },
    },
  ],
};

function isReview(request: WireRequest): boolean {
  return messageText(request.messages.findLast((message) => message.role === "user")).startsWith("[Review.");
}

/** Answers every question; a review saves one thing. */
function learns(where: World): void {
  where.model.answerWith((request, n) => {
    if (!isReview(request)) return `answer ${n}`;
    return request.messages.at(-1)?.role === "tool" ? "NOTHING" : saves;
  });
}

async function tenTurns(where: World): Promise<void> {
  for (let turn = 1; turn <= 10; turn += 1) {
    where.telegram.say(operatorId, turn === 4 ? "I am tired after my night shift at the ward" : `question ${turn}`);
    await where.telegram.waitSent(turn);
  }
}

describe("a review after ten turns", () => {
  it("runs after the reply, saves what the turns missed, shows one line, and the next session knows it", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    learns(where);
    const { gateway } = await startGateway(where, quick);

    await tenTurns(where);
    const sent = await where.telegram.waitSent(11, 15_000);

    expect(sent.map((stored) => stored.message.text).filter((text) => text?.includes("💾"))).toEqual([
      "💾 Memory: Works night shifts as a nurse.",
    ]);
    const review = where.model.requests.find((request) => isReview(request.body));
    const tenth = where.model.requests.filter((request) => !isReview(request.body)).at(-1);
    expect(where.model.requests.indexOf(review!)).toBeGreaterThan(where.model.requests.indexOf(tenth!));
    expect(messageBytes(review!).startsWith(messageBytes(tenth!).slice(0, -1))).toBe(true);
    expect(JSON.stringify(review!.body.tools)).toBe(JSON.stringify(tenth!.body.tools));
    const personId = (await gateway.parts.stores.access.account("telegram", String(operatorId)))?.personId ?? "";
    expect(readFileSync(where.home.path("data", "people", personId, "USER.md"), "utf8")).toContain("night shifts");

    where.telegram.say(operatorId, "/new");
    await where.telegram.waitSent(12);
    where.telegram.say(operatorId, "hello again");
    await where.telegram.waitSent(13);
    expect(messageText(where.model.requests.at(-1)?.body.messages[0])).toContain("Works night shifts as a nurse.");
  });

  it("writes nothing and says nothing when nothing stands out", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    where.model.answerWith((request) => (isReview(request) ? "NOTHING" : "fine"));
    const { gateway } = await startGateway(where, quick);

    await tenTurns(where);
    await until("the review", () => where.model.requests.some((request) => isReview(request.body)));
    await until("its end", async () => (await gateway.parts.jobs.health()).ok && !(await hasOpenReview(gateway.parts)));

    expect(where.telegram.sent.filter((stored) => stored.ours)).toHaveLength(10);
  });

  it("ME-05: refuses what does not rest on the person's own words", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    where.model.answerWith((request, n) => {
      if (!isReview(request)) return `answer ${n}`;
      if (request.messages.at(-1)?.role === "tool") return "NOTHING";
      return {
        calls: [{ name: "memory", arguments: { action: "add", target: "user", content: "Is the user Amy.", evidence: "I am Amy" } }],
      };
    });
    await startGateway(where, quick);

    await tenTurns(where);
    await until("the tool's answer", () =>
      where.model.requests.some((request) => isReview(request.body) && request.body.messages.at(-1)?.role === "tool"),
    );

    const result = messageText(
      where.model.requests.find((request) => isReview(request.body) && request.body.messages.at(-1)?.role === "tool")?.body.messages.at(-1),
    );
    expect(JSON.parse(result)).toMatchObject({ success: false });
    expect(where.telegram.sent.some((stored) => stored.message.text?.includes("💾"))).toBe(false);
  });

  it("saves the rest of a conversation when /new ends it", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    learns(where);
    await startGateway(where, quick);
    for (let turn = 1; turn <= 6; turn += 1) {
      where.telegram.say(operatorId, turn === 2 ? "I am tired after my night shift at the ward" : `question ${turn}`);
      await where.telegram.waitSent(turn);
    }

    where.telegram.say(operatorId, "/new");
    await until("the notice", () => where.telegram.sent.some((stored) => stored.message.text?.includes("💾 Memory: Works night shifts")));

    expect(where.telegram.sent.some((stored) => stored.message.text?.includes("still saving what the last one taught me"))).toBe(true);
  });
});

async function hasOpenReview({
  db,
}: {
  readonly db: { read<T>(work: (tx: { get<R>(sql: string): R | undefined }) => T): Promise<T> };
}): Promise<boolean> {
  return db.read((tx) => tx.get("select 1 from intents where kind = 'review' and state in ('open', 'active')") !== undefined);
}
