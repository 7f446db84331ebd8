/** When a review is due: the two counters and what resets them. */
import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { decideReviews, earnsFlush, type DueRules, type FinishedTurn } from "../../../src/learning/due.js";

const rules: DueRules = { memoryInterval: 10, skillInterval: 10, idleMs: 5_000 };
const turn: FinishedTurn = {
  turnId: "t1",
  sessionId: "s1",
  spaceId: "p1",
  isPrivate: false,
  answered: true,
  managedSkills: false,
  lastMessageId: 40,
  now: 1_000,
};

describe("reviews that a turn earns", () => {
  it("earns none before the interval", () => {
    expect(decideReviews(rules, { memoryTurns: 9, skillIterations: 9 }, turn)).toEqual({
      counters: { memoryTurns: 9, skillIterations: 9 },
      intents: [],
    });
  });

  it("earns a memory review at ten turns and counts anew", () => {
    const decided = decideReviews(rules, { memoryTurns: 10, skillIterations: 3 }, turn);

    expect(decided.counters).toEqual({ memoryTurns: 0, skillIterations: 3 });
    expect(decided.intents).toMatchObject([
      { id: "review-t1", kind: "review", runAt: 6_000, payload: { memory: true, skills: false, flush: false, upTo: 40 } },
    ]);
  });

  it("earns one combined review when both are due", () => {
    const decided = decideReviews(rules, { memoryTurns: 12, skillIterations: 11 }, turn);

    expect(decided.intents).toHaveLength(1);
    expect(decided.intents[0]?.payload).toMatchObject({ memory: true, skills: true });
  });

  it("ME-11: an interrupted turn leaves a due counter due, and the next answered turn earns it once", () => {
    const interrupted = decideReviews(rules, { memoryTurns: 10, skillIterations: 0 }, { ...turn, answered: false });
    const next = decideReviews(rules, { ...interrupted.counters, memoryTurns: interrupted.counters.memoryTurns + 1 }, turn);

    expect(interrupted).toEqual({ counters: { memoryTurns: 10, skillIterations: 0 }, intents: [] });
    expect(next.intents).toHaveLength(1);
    expect(next.counters.memoryTurns).toBe(0);
  });

  it("starts the skill count anew when the turn maintained skills itself", () => {
    expect(decideReviews(rules, { memoryTurns: 1, skillIterations: 30 }, { ...turn, managedSkills: true }).counters.skillIterations).toBe(
      0,
    );
  });

  it("0 means never, whatever the counters say", () => {
    fc.assert(
      fc.property(fc.nat(1_000), fc.nat(1_000), (memoryTurns, skillIterations) => {
        const off = { memoryInterval: 0, skillInterval: 0, idleMs: 0 };
        expect(decideReviews(off, { memoryTurns, skillIterations }, turn)).toEqual({
          counters: { memoryTurns: 0, skillIterations: 0 },
          intents: [],
        });
      }),
    );
  });

  it("earns nothing in a private session", () => {
    expect(decideReviews(rules, { memoryTurns: 99, skillIterations: 99 }, { ...turn, isPrivate: true }).intents).toEqual([]);
  });
});

describe("flushes", () => {
  it.each([
    [6, 6, false, true],
    [5, 6, false, false],
    [2, 6, true, true],
    [1, 6, true, false],
    [100, 0, false, false],
  ])("%i unreviewed turns with a minimum of %i (thread: %s) earn one: %s", (turns, minimum, inThread, expected) => {
    expect(earnsFlush(turns, minimum, inThread)).toBe(expected);
  });
});
