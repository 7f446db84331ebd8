/**
 * Where a fact comes from. A person's own words are the only source of facts about them; text that a tool, a document
 * or recall brought in is none, however it was worded, and our own prompt texts are no facts at all.
 */
import type { ToolContext } from "../agent/tool.js";
import type { Change } from "./entries.js";
import { quoteForm, sharedRuns, tokensOf, triples } from "./likeness.js";

type Sources = Pick<ToolContext, "said" | "untrusted" | "origin">;

/** Shorter evidence than this would occur anywhere. */
const leastEvidence = 4;

/**
 * Refuses an entry that shares more of its word triples with fenced text than with the person's words. Only what the
 * entry adds to the stored ones is judged, so that rewriting them needs no new source and hides no foreign addition.
 */
export function provenanceError(content: string, { said, untrusted }: Sources, stored: readonly string[]): string | undefined {
  const known = new Set(stored.flatMap((entry) => [...triples(entry)]));
  const added = new Set([...triples(content)].filter((run) => !known.has(run)));
  const foreign = sharedRuns(added, untrusted);
  const own = sharedRuns(
    added,
    said.map(({ text }) => text),
  );
  if (foreign <= own) return undefined;
  return "Refused (untrusted-source): this stands in text that a tool, document or recall brought in, not in the person's own words.";
}

/** Evidence, where given or required, must occur in what the person said. Merging stored entries in a review needs none. */
export function evidenceError(
  evidence: string | undefined,
  change: Exclude<Change, { action: "remove" }>,
  context: Sources,
  stored: readonly string[],
): string | undefined {
  if (evidence === undefined) {
    if (context.origin !== "review" || (change.action === "replace" && merges(change.content, stored))) return undefined;
    return "No evidence: a review must quote in evidence the person's own words that this entry rests on.";
  }
  const quoted = quoteForm(evidence);
  const found = context.said.some(({ text }) => {
    const words = quoteForm(text);
    return words === quoted || (quoted.length >= leastEvidence && words.includes(quoted));
  });
  return found ? undefined : "No evidence: the quoted words do not occur in what the person said. Quote them verbatim.";
}

/** Refuses a piece of our own prompts and tool descriptions as an entry. */
export function ownTextError(content: string, ownTexts: readonly string[]): string | undefined {
  const words = tokensOf(content);
  const piece = ` ${words.join(" ")} `;
  const own = words.length >= 4 && ownTexts.some((text) => ` ${tokensOf(text).join(" ")} `.includes(piece));
  return own ? "Refused (own-prompt): this is a piece of your instructions, not a fact." : undefined;
}

/** True when an entry says hardly anything that the stored entries do not say already. */
function merges(content: string, stored: readonly string[]): boolean {
  const known = new Set(stored.flatMap(tokensOf));
  const words = tokensOf(content);
  return words.length > 0 && words.filter((word) => known.has(word)).length / words.length >= 0.8;
}
