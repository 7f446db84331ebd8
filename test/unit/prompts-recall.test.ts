import { describe, expect, it } from "vitest";
import { searchDescription, searchGuidance } from "../../src/recall/guidance.js";

/** One row for each point that the description must make (learning-loop.md §3). */
const descriptionPoints: readonly [string, RegExp][] = [
  ["every past session of this space can be searched", /every past session of this space/u],
  ["two modes", /Two modes/u],
  [
    "start with the list when asked what was being worked on lately",
    /list of recent sessions\. Start here when asked what was being worked on lately/u,
  ],
  ["the list is immediate and costs no model call", /immediate and costs no model call/u],
  ["search unasked", /Search unasked/u],
  ["done, mentioned or discussed before", /done, mentioned or discussed before/u],
  [
    "something sounds known but is neither in context nor in memory",
    /topic, project, person or idea sounds known but is neither in context nor in memory/u,
  ],
  ["a similar problem may have been solved", /similar problem may have been solved/u],
  ["what was decided or how something was fixed", /what was decided or how something was fixed/u],
  ["searching is cheap and beats guessing", /cheap and beats guessing/u],
  ["OR for width", /OR between words for width/u],
  ["plain words mean AND", /plain words mean AND/u],
  ["quotes for exact phrases", /"quotes" for exact phrases/u],
  ["NOT and prefix*", /NOT, prefix\*/u],
  ["words one by one, in parallel, when a wide OR finds nothing", /wide OR finds nothing, try the words one by one, in parallel/u],
];

const guidancePoints: readonly [string, RegExp][] = [
  ["when someone refers to an earlier conversation", /refers to an earlier conversation/u],
  ["or earlier context probably exists", /earlier context probably exists/u],
  ["search first, ask to repeat only afterwards", /session_search first; ask them to repeat only afterwards/u],
];

describe("the recall prompts", () => {
  it.each(descriptionPoints)("make in the description the point: %s", (_point, wording) => {
    expect(searchDescription).toMatch(wording);
  });

  it.each(guidancePoints)("make in the guidance the point: %s", (_point, wording) => {
    expect(searchGuidance()).toMatch(wording);
  });

  it("stay under 1.6 KB together", () => {
    expect(Buffer.byteLength(searchDescription + searchGuidance())).toBeLessThan(1600);
  });
});
