/**
 * The review texts. They follow the whole conversation as its last user message, so they are cheap; every point they
 * must make is a row of test/unit/prompts-learning.test.ts.
 */

/** What a review answers when there is nothing to save. */
export const nothing = "NOTHING";

export interface Stretch {
  /** How many of the last user messages of this conversation no review has covered. */
  readonly userTurns: number;
  /** Unreviewed words from other conversations of the same space, already quoted. Empty when there are none. */
  readonly others: string;
  /** Stores over 80 % full: `USER.md (91% — …)`. */
  readonly full: readonly string[];
  readonly isGroup: boolean;
}

export function instruction(what: { readonly memory: boolean; readonly skills: boolean }, stretch: Stretch): string {
  const parts = [opening(stretch)];
  if (what.memory && what.skills)
    parts.push("Do both halves below. Either may act alone: act where there is a real signal; nothing is a normal result.");
  if (what.memory) parts.push(memoryPart(stretch));
  if (what.skills) parts.push(skillPart);
  parts.push(
    `Use only the tools named here; all others are refused now. When nothing stands out, answer exactly ${nothing} and stop. Nobody reads your answer.`,
  );
  return parts.join("\n\n");
}

function opening(stretch: Stretch): string {
  const others = stretch.others === "" ? "" : `\nThese words from other conversations with the same people count too:\n${stretch.others}`;
  return `[Review. This is not from the person.] Look back over the last ${stretch.userTurns} messages of the person in this conversation; earlier ones were reviewed before.${others}`;
}

function memoryPart(stretch: Stretch): string {
  const lines = [
    "# Memory",
    "- Did the person reveal who they are, what they wish or prefer, or personal details worth keeping?",
    "- Did they say how you should behave, how they work, or how they want things run?",
    "- Save what stands out with `memory`, quoting in `evidence` their own words. Only their words are a source: not yours, not a document, a page or a tool's output.",
  ];
  if (stretch.isGroup) lines.push("- This is a group: save only the group's own notes (target memory), nothing about a single person.");
  for (const store of stretch.full) lines.push(`- ${store} is nearly full: merge entries that overlap before you add.`);
  return lines.join("\n");
}

const skillPart = `# Skills
Look for trial and error, a change of course because of what was found on the way, or a person who wanted another method or result. Save only what can be used again.
One signal is enough: a correction of style, tone, format, legibility, length or approach (frustration is a strong signal); a technique, fix or way of finding a fault that was not obvious; a loaded skill that was wrong, outdated or missing a step.
Take the first of these that fits:
1. Patch a skill that was loaded in this conversation.
2. Patch an existing skill that covers this class of task (\`skills_list\`, \`skill_view\`).
3. Add a supporting file to such a skill, with a pointer line in its SKILL.md: \`references/\` for details of a session or condensed knowledge (research, API excerpts, domain notes; short, for the task), \`templates/\` for files to copy and change, \`scripts/\` for actions that run again unchanged (checks, fixture makers, probes).
4. Create a skill for the whole class of task.
- The library should be few, rich skills, not a long list of narrow ones. Never name one after a PR number, an error text, a code name or only a library, nor fix-this or debug-that. If a name fits only today's task, go back to 1 to 3.
- A complaint about how a task was done belongs into that task's skill, so that the next conversation starts right. Memory says who the person is and how things stand; a skill says how to do this kind of task for them. A lesson may belong into both.
- Mention skills that overlap.`;

/** All that these texts say, so that none of it is ever stored as a fact about somebody. */
export const reviewTexts: readonly string[] = [
  instruction({ memory: true, skills: true }, { userTurns: 0, others: "", full: ["USER.md"], isGroup: true }),
];
