/** Every point the review instructions must make (learning-loop.md §4), checked against the rendered text. */
import { describe, expect, it } from "vitest";
import { instruction, nothing } from "../../src/learning/instructions.js";

const stretch = { userTurns: 7, others: "", full: [] as string[], isGroup: false };
const memory = instruction({ memory: true, skills: false }, stretch);
const skills = instruction({ memory: false, skills: true }, stretch);
const both = instruction({ memory: true, skills: true }, stretch);

const memoryPoints: readonly [string, RegExp][] = [
  ["persona, wishes, preferences, personal details", /who they are.*wish or prefer.*personal details/u],
  ["how the agent should behave and how they work", /how you should behave, how they work, or how they want things run/u],
  ["save with the tool what stands out", /Save what stands out with `memory`/u],
  ["the person's own words are the only source", /Only their words are a source: not yours, not a document, a page or a tool/u],
  ["the sentinel for nothing, and stop", new RegExp(`answer exactly ${nothing} and stop`, "u")],
  ["which stretch is not covered", /last 7 messages/u],
];

const skillPoints: readonly [string, RegExp][] = [
  ["trial and error", /trial and error/u],
  ["a change of course", /change of course because of what was found/u],
  ["another method or result wanted", /wanted another method or result/u],
  ["only what can be reused", /only what can be used again/u],
  ["one signal is enough", /One signal is enough/u],
  ["a correction of style, tone, format, legibility, length or approach", /style, tone, format, legibility, length or approach/u],
  ["frustration is a signal", /frustration is a strong signal/u],
  ["a technique, fix or debugging path", /technique, fix or way of finding a fault/u],
  ["a loaded skill that was wrong, missing a step or outdated", /loaded skill that was wrong, outdated or missing a step/u],
  ["first: patch a skill loaded here", /1\. Patch a skill that was loaded in this conversation/u],
  ["second: patch an existing umbrella skill", /2\. Patch an existing skill.*skills_list.*skill_view/u],
  ["third: a supporting file with a pointer", /3\. Add a supporting file.*pointer line in its SKILL\.md/u],
  ["references", /`references\/`.*API excerpts, domain notes/u],
  ["templates", /`templates\/` for files to copy and change/u],
  ["scripts", /`scripts\/` for actions that run again unchanged/u],
  ["fourth: a class-level skill", /4\. Create a skill for the whole class/u],
  ["few, rich skills", /few, rich skills, not a long list of narrow ones/u],
  ["forbidden names", /PR number, an error text, a code name or only a library, nor fix-this or debug-that/u],
  ["a name for today's task falls back", /fits only today's task, go back/u],
  ["a complaint goes into that task's skill", /complaint about how a task was done belongs into that task's skill/u],
  ["memory against skill", /Memory says who the person is.*a skill says how to do/u],
  ["a lesson may belong in both", /may belong into both/u],
  ["mention overlapping skills", /Mention skills that overlap/u],
  ["the sentinel", new RegExp(nothing, "u")],
];

describe("review instructions", () => {
  it.each(memoryPoints)("the memory review says: %s", (_point, expected) => expect(memory).toMatch(expected));

  it.each(skillPoints)("the skill review says: %s", (_point, expected) => expect(skills).toMatch(expected));

  it("the combined review has both halves, either of which may act alone", () => {
    for (const [, expected] of [...memoryPoints, ...skillPoints]) expect(both).toMatch(expected);
    expect(both).toMatch(/Either may act alone.*nothing is a normal result/u);
  });

  it("a nearly full store is named, with the order to merge", () => {
    const text = instruction({ memory: true, skills: false }, { ...stretch, full: ["USER.md (91% — 1,251/1,375 chars)"] });
    expect(text).toMatch(/USER\.md \(91%.*merge entries that overlap before you add/u);
  });

  it("a group's review saves nothing about a single person", () => {
    expect(instruction({ memory: true, skills: false }, { ...stretch, isGroup: true })).toMatch(/nothing about a single person/u);
  });

  it("a skill review does not speak of memory targets, and a memory review of no skills", () => {
    expect(memory).not.toContain("skill_view");
    expect(skills).not.toContain("# Memory");
  });
});
