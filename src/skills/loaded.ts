/**
 * Which skills a conversation has loaded, told from its transcript alone, so that a worker process knows it too. Pure.
 * Only calls that succeeded count: a name the model guessed is not a skill it has read.
 */
import type { Entry } from "../domain/transcript.js";
import { fence } from "../safety/fence.js";

const viewTool = "skill_view";
const fenceTag = "skill";

/** Names of the loaded skills, oldest first: by `skill_view`, or by a person with /skill. */
export function loadedSkills(entries: readonly Entry[]): string[] {
  const names = new Set<string>();
  const asked = new Set<string>();
  for (const entry of entries) {
    if (entry.role === "user") for (const name of fencedNames(entry.content)) names.add(name);
    if (entry.role === "assistant") for (const call of entry.toolCalls ?? []) if (call.name === viewTool) asked.add(call.id);
    if (entry.role !== "tool" || !asked.has(entry.callId)) continue;
    const name = nameInResult(entry.content);
    if (name !== undefined) names.add(name);
  }
  return [...names];
}

/** The message of a turn into which a person loads a skill: its text, fenced, then their own words. */
export function turnWithSkill(name: string, skillText: string, words: string): string {
  const note = `The person loaded this skill for this message. Follow it; skill_view reads its other files.`;
  return `${fence(fenceTag, skillText.trimEnd(), { name }, note)}\n\n${words}`.trimEnd();
}

function fencedNames(content: string): string[] {
  return [...content.matchAll(/^<skill name="([a-z0-9][a-z0-9._-]{0,63})">$/gmu)].map(([, name]) => name ?? "");
}

/** The result's beginning is enough: a long one may have been cut in the middle. */
function nameInResult(content: string): string | undefined {
  return /^\{"success":true,"name":"([a-z0-9][a-z0-9._-]{0,63})"/u.exec(content)?.[1];
}
