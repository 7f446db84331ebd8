import { describe, expect, it } from "vitest";
import { listDescription, manageDescription, skillsGuidance, viewDescription } from "../../src/skills/guidance.js";
import { renderIndex } from "../../src/skills/index-text.js";

const guidance = skillsGuidance();
const index = renderIndex([
  { meta: { name: "a", description: "d", tags: [], platforms: [], commands: [] }, owner: { scope: "shared", id: "" }, changedAt: 0 },
]);

/** One row for each point that a description must make (learning-loop.md §2). */
const points: readonly [string, string, RegExp][] = [
  ["skills_list: names and descriptions of all", listDescription, /all skills with name, description/u],
  ["skills_list: the index may be shortened", listDescription, /index in your prompt may be shortened/u],
  ["skill_view: the text or one supporting file", viewDescription, /its SKILL\.md, or one supporting file/u],
  ["skill_view: the list of the folder's files", viewDescription, /list of the folder's files/u],
  ["skill_view: load before following or changing", viewDescription, /before you follow or change/u],
  ["skill_manage: how to do a class of task", manageDescription, /how to do a class of task/u],
  ["skill_manage: memory holds who and how things stand", manageDescription, /Who someone is and how things stand belongs in memory/u],
  ["skill_manage: create with front matter", manageDescription, /create: content is the whole SKILL\.md: front matter/u],
  ["skill_manage: the description says when to use it", manageDescription, /what it does and when to use it/u],
  ["skill_manage: class-level, not per task", manageDescription, /One skill per class of task, not per task/u],
  ["skill_manage: look for an existing one first", manageDescription, /first see whether an existing one can take it in/u],
  ["skill_manage: edit is a whole rewrite", manageDescription, /edit: rewrites SKILL\.md as a whole/u],
  ["skill_manage: patch is exact, once unless replace_all", manageDescription, /must match exactly and once, unless replace_all/u],
  ["skill_manage: patch also in a supporting file", manageDescription, /in SKILL\.md, or in file_path/u],
  ["skill_manage: delete", manageDescription, /- delete:/u],
  ["skill_manage: write_file and remove_file", manageDescription, /write_file, remove_file: a supporting file/u],
  ["skill_manage: the four folders and what they are for", manageDescription, /references\/ \(.+templates\/ \(.+scripts\/ \(.+assets\//u],
  ["skill_manage: a pointer in SKILL.md", manageDescription, /Name it in SKILL\.md/u],
  ["skill_manage: this space, shared ones are copied", manageDescription, /this space; a skill shared by all is copied/u],
  ["skill_manage: seen from the next session on", manageDescription, /from the next session on/u],
  ["guidance: after a complex task of 5 or more tool calls", guidance, /complex task \(5 or more tool calls\)/u],
  ["guidance: after a tricky error", guidance, /tricky error/u],
  ["guidance: after a workflow that was not trivial", guidance, /workflow that was not trivial/u],
  ["guidance: save it as a skill for next time", guidance, /as a skill for next time/u],
  ["guidance: patch a wrong, incomplete or outdated skill at once", guidance, /wrong, incomplete or outdated, patch it at once/u],
  ["guidance: without being asked", guidance, /without being asked/u],
  ["guidance: an unmaintained skill does harm", guidance, /nobody maintains does harm/u],
  ["index: looking through it is compulsory", index, /Before every reply you must look through this list/u],
  ["index: load what matches", index, /load it with skill_view and follow it/u],
];

describe("the skill prompts", () => {
  it.each(points)("make the point: %s", (_point, text, wording) => {
    expect(text).toMatch(wording);
  });

  it("stay under 2.6 KB together", () => {
    expect(Buffer.byteLength(listDescription + viewDescription + manageDescription + guidance)).toBeLessThan(2600);
  });
});
