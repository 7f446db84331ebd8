/** What happens to a message that comes while a turn runs: joined, queued, steered, interrupting, refused, stopped. */
import { describe, expect, it } from "vitest";
import { countRows, lastOf, operatorId, quiet, startGateway, textsIn, until, world, type World } from "../support/gateway.js";

const noJoin = { MNEME__turns__joinMs: "0" };

async function started(overrides: Readonly<Record<string, string>> = {}): Promise<World> {
  const where = await world({ model: { answer: () => "Last answer." } });
  where.telegram.person(operatorId);
  await startGateway(where, overrides);
  return where;
}

function dispositions(where: World): Record<string, number> {
  const names = ["answered", "joined", "stopped", "refused", "failed", "command"];
  return Object.fromEntries(
    names.map((name) => [name, countRows(where, `select count(*) n from inbox where disposition = '${name}'`)]).filter(([, n]) => n !== 0),
  );
}

describe("a burst of messages", () => {
  it("is one turn: the running call is given up and made again with both", async () => {
    const where = await started();
    where.model.push({ text: "Answer to one only.", headDelayMs: 5_000 }, "Answer to both.");

    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "two");
    await where.telegram.waitSent(1);
    await quiet(where);

    expect(textsIn(where)).toEqual(["Answer to both."]);
    expect(where.model.requests).toHaveLength(2);
    expect(where.model.requests[0]?.closedByClient).toBe(true);
    expect(lastOf(where)).toMatch(/one[\s\S]*two/);
    expect(dispositions(where)).toEqual({ answered: 1, joined: 1 });
  });

  it("joins a running turn at most twice; the rest is the next turn", async () => {
    const where = await started();
    where.model.answerWith(() => ({ text: "Answer.", headDelayMs: 400 }));

    for (const [index, words] of ["one", "two", "three", "four"].entries()) {
      where.telegram.say(operatorId, words);
      if (index < 3) await where.model.waitFor(index + 1);
    }
    await where.telegram.waitSent(2);
    await quiet(where);

    expect(where.model.requests).toHaveLength(4);
    expect(lastOf(where, 3)).toMatch(/one[\s\S]*two[\s\S]*three/);
    expect(lastOf(where, 4)).toBe("four");
    expect(textsIn(where)).toHaveLength(2);
  });

  it("that the joined call was stopped in ends with it: nothing of it is answered later", async () => {
    const where = await started();
    where.model.push({ fault: { kind: "hang" } }, { fault: { kind: "hang" } });
    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "two");
    await where.model.waitFor(2);

    where.telegram.say(operatorId, "/stop");
    await until("the confirmation", () => textsIn(where).some((text) => text.startsWith("Stopped")));
    await quiet(where);

    expect(where.model.requests).toHaveLength(2);
    expect(dispositions(where)).toEqual({ stopped: 2, command: 1 });
  });
});

describe("busy modes", () => {
  it("queue: what comes during a turn is one next turn, marked as received", async () => {
    const where = await started(noJoin);
    where.model.push({ text: "First.", headDelayMs: 500 });

    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "two");
    where.telegram.say(operatorId, "three");
    await where.telegram.waitSent(2);
    await quiet(where);

    expect(textsIn(where)).toEqual(["First.", "Last answer."]);
    expect(lastOf(where)).toMatch(/two[\s\S]*three/);
    expect(where.telegram.calls.filter((call) => call.method === "setMessageReaction")).toHaveLength(2);
    expect(where.model.requests).toHaveLength(2);
  });

  it("steer: the model is told after the tool call that runs now", async () => {
    const where = await started({ ...noJoin, MNEME__sessions__busyMode: "steer" });
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const add = { name: "memory", arguments: { action: "add", target: "memory", content: "The house has a garden." } };
    where.model.push({ calls: [add], gate, holdAt: 2 }, "Done, as you said.");

    where.telegram.say(operatorId, "the house has a garden, note it");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "and answer in one line");
    await until("it was stored", () => countRows(where, "select count(*) n from inbox") === 2);
    open();
    await where.telegram.waitSent(1);
    await quiet(where);

    expect(textsIn(where)).toEqual(["Done, as you said."]);
    expect(where.model.requests).toHaveLength(2);
    expect(lastOf(where)).toBe("and answer in one line");
    expect(where.model.refused).toEqual([]);
  });

  it("steer: what came too late for the model is the next turn, never lost", async () => {
    const where = await started({ ...noJoin, MNEME__sessions__busyMode: "steer" });
    where.model.push({ text: "First.", headDelayMs: 400 });

    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "two");
    await where.telegram.waitSent(2);

    expect(textsIn(where)).toEqual(["First.", "Last answer."]);
    expect(lastOf(where)).toBe("two");
  });

  it("SE-02: interrupt: exactly one reply, for the later message", async () => {
    const where = await started({ ...noJoin, MNEME__sessions__busyMode: "interrupt" });
    where.model.push({ text: "Answer to A.", headDelayMs: 5_000 }, "Answer to B.");

    where.telegram.say(operatorId, "A");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "B");
    await where.telegram.waitSent(1);
    await quiet(where);

    expect(textsIn(where)).toEqual(["Answer to B."]);
    expect(where.model.requests[0]?.closedByClient).toBe(true);
  });

  it("SE-02: interrupt: what a preview has shown is marked as stopped and not finished later", async () => {
    const where = await started({ ...noJoin, MNEME__sessions__busyMode: "interrupt" });
    where.model.push({ text: "This is a long answer that goes on and on.", chunkSize: 5, delayMs: 300 }, "Answer to B.");

    where.telegram.say(operatorId, "A");
    await where.telegram.waitSent(1);
    where.telegram.say(operatorId, "B");
    await until("the answer to B", () => textsIn(where).includes("Answer to B."));
    await quiet(where);

    const [first, second] = textsIn(where);
    expect(first).toMatch(/^This is[\s\S]*⏹ stopped$/);
    expect(first).not.toContain("▍");
    expect(second).toBe("Answer to B.");
    expect(textsIn(where)).toHaveLength(2);
  });

  it("refuses what does not fit into the queue with one word, however much follows", async () => {
    const where = await started({ ...noJoin, MNEME__sessions__queueLimit: "2" });
    where.model.push({ text: "First.", headDelayMs: 1_500 });
    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);

    for (const words of ["two", "three", "four", "five", "six"]) where.telegram.say(operatorId, words);
    await until("three answers", () => textsIn(where).length === 3);
    await quiet(where);

    expect(textsIn(where).filter((text) => text.includes("I take no more for now"))).toHaveLength(1);
    expect(lastOf(where)).toMatch(/two[\s\S]*three/);
    expect(lastOf(where)).not.toContain("four");
    expect(dispositions(where)).toEqual({ answered: 2, joined: 1, refused: 3 });
  });
});

describe("/stop", () => {
  it("SE-11: confirms within a second on a model that hangs, and the next message works", async () => {
    const where = await started();
    where.model.push({ fault: { kind: "hang" } });
    where.telegram.say(operatorId, "hello?");
    await where.model.waitFor(1);

    const askedAt = Date.now();
    where.telegram.say(operatorId, "/stop");
    await until("the confirmation", () => textsIn(where).includes("Stopped."));
    const took = Date.now() - askedAt;
    where.telegram.say(operatorId, "and now?");
    await until("the next answer", () => textsIn(where).includes("Last answer."));

    expect(took).toBeLessThan(1_000);
    expect(textsIn(where)).toHaveLength(2);
    expect(where.model.refused).toEqual([]);
  });

  it("SE-11: /new ends a hung turn too, which says nothing into the new conversation", async () => {
    const where = await started();
    where.model.push({ fault: { kind: "stall", after: 2 } });
    where.telegram.say(operatorId, "hello?");
    await where.model.waitFor(1);

    where.telegram.say(operatorId, "/new");
    await until("the confirmation", () => textsIn(where).some((text) => text.includes("new conversation")));
    where.telegram.say(operatorId, "fresh");
    await until("the answer", () => textsIn(where).includes("Last answer."));

    expect(where.model.requests.at(-1)?.raw).not.toContain("hello?");
  });

  it("takes what was steered into the stopped turn with it", async () => {
    const where = await started({ ...noJoin, MNEME__sessions__busyMode: "steer" });
    where.model.push({ fault: { kind: "hang" } });
    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "two");
    await until("it was stored", () => countRows(where, "select count(*) n from inbox where state = 'waiting'") === 1);

    where.telegram.say(operatorId, "/stop");
    await until("the confirmation", () => textsIn(where).some((text) => text.startsWith("Stopped")));
    await quiet(where);

    expect(where.model.requests).toHaveLength(1);
    expect(dispositions(where)).toEqual({ stopped: 2, command: 1 });
  });
});
