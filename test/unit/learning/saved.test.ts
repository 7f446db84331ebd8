/** ME-07: the notice is made from tool results, never from what the model says. */
import { describe, expect, it } from "vitest";
import { noticeLine, savedBy } from "../../../src/learning/saved.js";
import { savedMemory } from "../../../src/memory/notice.js";
import type { Entry } from "../../../src/domain/transcript.js";

function called(args: object, result: object): Entry[] {
  return [
    { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "memory", arguments: JSON.stringify(args) }] },
    { role: "tool", callId: "c1", name: "memory", content: JSON.stringify(result) },
    { role: "assistant", content: "I saved everything!" },
  ];
}

const add = { action: "add", target: "user", content: "Prefers tables over lists" };

describe("what a review saved", () => {
  it("shows the stored text of a call that succeeded", () => {
    expect(savedBy(called(add, { success: true, message: "Saved." }), savedMemory)).toEqual(["Memory: Prefers tables over lists"]);
  });

  it("shows nothing for a refused call, an unchanged store or a mere claim", () => {
    expect(savedBy(called(add, { success: false, error: "full" }), savedMemory)).toEqual([]);
    expect(savedBy(called(add, { success: true, message: "Already stored: nothing had to change." }), savedMemory)).toEqual([]);
    expect(savedBy([{ role: "assistant", content: "I saved it" }], savedMemory)).toEqual([]);
  });

  it("is one line of at most 120 characters", () => {
    const line = noticeLine(["Memory: a\nb", "x".repeat(300)]);
    expect(line).toHaveLength(120);
    expect(line).not.toContain("\n");
    expect(noticeLine(["Memory: a", "Skill 'b' patched"])).toBe("Memory: a · Skill 'b' patched");
  });
});
