/** Quiet chats, commands, and memory that does not grow with the number of chats. */
import { describe, expect, it } from "vitest";
import { countRows, operatorId, quiet, startGateway, textsIn, until, world } from "../support/gateway.js";

describe("operations", () => {
  it("OP-05: six tool calls give one message", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    await startGateway(where);
    for (let index = 0; index < 6; index += 1) {
      where.model.push({
        calls: [
          {
            name: "memory",
            arguments: { action: "add", target: "memory", content: `Fact number ${index} about the ${"abcdef"[index]}-house.` },
          },
        ],
      });
    }
    where.model.push("All noted.");

    where.telegram.say(operatorId, "note six facts");
    await where.telegram.waitSent(1, 10_000);
    await quiet(where);

    expect(textsIn(where)).toEqual(["All noted."]);
    expect(where.telegram.calls.filter((call) => call.method === "sendMessage")).toHaveLength(1);
    expect(where.telegram.calls.filter((call) => call.method === "editMessageText")).toHaveLength(0);
  });

  it("delivery.progress line shows what runs in one message that becomes the answer", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    await startGateway(where, { MNEME__delivery__progress: "line" });
    where.model.push(
      { calls: [{ name: "memory", arguments: { action: "add", target: "memory", content: "The door is blue." } }] },
      { text: "All noted.", headDelayMs: 1_500 },
    );

    where.telegram.say(operatorId, "note it");
    await until("the answer", () => textsIn(where).includes("All noted."), 10_000);
    await quiet(where);

    expect(textsIn(where)).toEqual(["All noted."]);
    expect(where.telegram.sent[0]?.history.some((text) => text.includes("memory"))).toBe(true);
  });

  it("OP-07: 2,000 chats leave no heap behind that grows with them", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    const { gateway } = await startGateway(where, { MNEME__access__mode: "allowlist", MNEME_OPERATORS: "" });
    const collect = (globalThis as { gc?: () => void }).gc;
    let peak = 0;
    for (let batch = 0; batch < 20; batch += 1) {
      for (let index = 0; index < 100; index += 1) {
        const id = 10_000 + batch * 100 + index;
        where.telegram.person(id);
        where.telegram.say(id, "hello");
      }
      await until("a batch", () => countRows(where, "select count(*) n from inbox where state = 'done'") === (batch + 1) * 100, 15_000);
      collect?.();
      if (batch === 9) peak = process.memoryUsage().heapUsed;
    }
    collect?.();
    const grown = process.memoryUsage().heapUsed - peak;

    expect(where.model.requests).toHaveLength(0);
    expect(grown).toBeLessThan(40_000_000);
    expect(gateway.parts.lanes.running).toBe(0);
  }, 60_000);

  it("/status and /help answer while a turn hangs", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    await startGateway(where);
    where.model.push({ fault: { kind: "hang" } });
    where.telegram.say(operatorId, "hello");
    await where.model.waitFor(1);

    where.telegram.say(operatorId, "/status");
    where.telegram.say(operatorId, "/help");
    await where.telegram.waitSent(2);

    expect(textsIn(where)[0]).toContain("in the works");
    expect(textsIn(where)[1]).toContain("/stop");
  });

  it("a command nobody knows is answered with the one that was meant, and is no turn", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    await startGateway(where);

    where.telegram.say(operatorId, "/stauts");
    await where.telegram.waitSent(1);

    expect(textsIn(where)[0]).toContain("/status");
    expect(where.model.requests).toHaveLength(0);
  });
});
