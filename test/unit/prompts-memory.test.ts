import { describe, expect, it } from "vitest";
import { memoryDescription, memoryGuidance } from "../../src/memory/guidance.js";

const both = { memory: true, user: true };
const description = memoryDescription(both);
const guidance = memoryGuidance(both);

/** One row for each point that the description must make (learning-loop.md §1). */
const descriptionPoints: readonly [string, RegExp][] = [
  ["save without being asked", /save without being asked/iu],
  ["when the person corrects you", /corrects you/u],
  ["when they say to remember something", /says to remember/u],
  ["when they ask not to do it again", /not to do it again/u],
  ["a preference, habit or personal detail", /preference, habit or personal detail/u],
  ["name, role, time zone, coding style", /name, role, time zone, coding style/u],
  ["the environment: system, installed tools, project structure", /system, installed tools, project structure/u],
  ["a convention, an API quirk", /a convention, an API quirk/u],
  ["a workflow peculiar to this set-up", /workflow peculiar to their set-up/u],
  ["any stable fact that helps later", /stable fact will help in later sessions/u],
  [
    "preferences before environment before procedures",
    /Preferences and corrections come before environment facts, those before procedures/u,
  ],
  ["the best entry saves the person from repeating themselves", /saves the person from repeating themselves/u],
  ["no task progress, outcomes, logs, TODO state", /not save task progress, outcomes, logs of finished work or TODO state/u],
  ["search finds those", /session_search finds those/u],
  ["a new way of working or a solved problem is a skill", /newly found way of working, or a solved problem that may return, is a skill/u],
  ["the target user", /`user`: who this person is/u],
  ["the target memory", /`memory`: your own notes/u],
  ["the three actions", /`add`[\s\S]*`replace`[\s\S]*`remove`/u],
  ["skip the trivial", /Skip the trivial/u],
  ["skip what is easily found again", /easily found again/u],
  ["skip raw dumps", /raw dumps/u],
  ["skip temporary state", /temporary state/u],
];

/** One row for each point that the guidance must make. */
const guidancePoints: readonly [string, RegExp][] = [
  ["you keep knowledge between sessions", /keep knowledge between sessions/u],
  ["what is saved is put before you in every later session", /put before you in every later session/u],
  ["keep it short and only what still matters then", /keep it short and save only what will still matter then/u],
  ["kinds of durable fact", /durable facts such as preferences, set-up details, tool quirks, standing conventions/u],
  ["wording for all time speaks for saving", /from now on, each time, usually, never again\) speaks for saving/u],
  ["wording for this occasion speaks against", /this time, this text, for now\) speaks against/u],
  ["what extends, corrects or contradicts is a replace", /extends, corrects or contradicts an entry is a replace, not an add/u],
  ["never repeat the same add on a full store", /full, never repeat the same add: merge entries or remove a worthless one first/u],
  ["declarative facts, not orders to yourself", /declarative facts, not as orders to yourself/u],
  ["contrast pair of a preference", /"Prefers short answers", not "Always answer briefly"/u],
  ["contrast pair of a project fact and a command", /"The project's tests run with pnpm test", not "Run pnpm test"/u],
  ["a stored order is obeyed again later", /obeyed again in later sessions/u],
  ["it repeats work", /repeats work/u],
  ["it overrides what the person asks now", /overrides what the person asks then/u],
  ["procedures belong in skills", /Procedures belong in skills/u],
];

describe("the memory prompts", () => {
  it.each(descriptionPoints)("make in the description the point: %s", (_point, wording) => {
    expect(description).toMatch(wording);
  });

  it.each(guidancePoints)("make in the guidance the point: %s", (_point, wording) => {
    expect(guidance).toMatch(wording);
  });

  it("name only the targets that are switched on", () => {
    expect(memoryDescription({ memory: true, user: false })).not.toContain("`user`");
    expect(memoryDescription({ memory: false, user: true })).not.toContain("`memory`");
    expect(memoryGuidance({ memory: false, user: false })).toBe("");
  });

  it("stay under 3.2 KB together", () => {
    expect(Buffer.byteLength(description + guidance)).toBeLessThan(3200);
  });
});
