/**
 * The skills index of the system prompt. Pure: equal skills give equal bytes, because the prompt is a cached prefix. When
 * not all fit, descriptions are cut first, then the skills changed longest ago are left out, shared ones before own ones.
 */
import type { SkillOwner } from "../ports/skill-log.js";
import { codePoints, cut, type SkillMeta } from "./skill.js";

export interface IndexedSkill {
  readonly meta: SkillMeta;
  readonly owner: SkillOwner;
  /** Epoch milliseconds. */
  readonly changedAt: number;
}

/** Code points of the whole layer. */
export const indexLimit = 4_000;

const heading = `# Skills
Before every reply you must look through this list. When a skill fits the task, or might, load it with skill_view and follow it; only when none does, go on without one.`;
const descriptionLengths = [300, 160, 100];
const otherCategory = "general";

/** Empty when there are no skills. */
export function renderIndex(skills: readonly IndexedSkill[]): string {
  if (skills.length === 0) return "";
  for (const length of descriptionLengths) {
    const text = lines(skills, length, 0);
    if (codePoints(text) <= indexLimit) return text;
  }
  const shortest = descriptionLengths.at(-1) ?? 0;
  const ranked = [...skills].sort(byWorth);
  let [fits, tooMany] = [0, ranked.length];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (codePoints(lines(ranked.slice(0, middle), shortest, ranked.length - middle)) <= indexLimit) fits = middle;
    else tooMany = middle;
  }
  return lines(ranked.slice(0, fits), shortest, ranked.length - fits);
}

function byWorth(a: IndexedSkill, b: IndexedSkill): number {
  if (a.owner.scope !== b.owner.scope) return a.owner.scope === "space" ? -1 : 1;
  return b.changedAt - a.changedAt || (a.meta.name < b.meta.name ? -1 : 1);
}

function lines(skills: readonly IndexedSkill[], descriptionLength: number, more: number): string {
  const groups = new Map<string, string[]>();
  for (const { meta } of [...skills].sort((a, b) => (a.meta.name < b.meta.name ? -1 : 1))) {
    const category = meta.category ?? otherCategory;
    const line = `- ${meta.name}: ${cut(meta.description, descriptionLength)}`;
    groups.set(category, [...(groups.get(category) ?? []), line]);
  }
  const blocks = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([category, rows]) => [`## ${category}`, ...rows].join("\n"));
  return [heading, ...blocks, ...(more > 0 ? [`… ${more} more: skills_list`] : [])].join("\n");
}
