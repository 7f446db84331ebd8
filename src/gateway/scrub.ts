/**
 * Takes recalled memory out of what the model says: a model may repeat the fence it was given, and neither the person nor the
 * transcript may ever hold it. An answer of which nothing is left counts as empty.
 */
import type { AgentResult } from "../agent/agent.js";
import type { Entry } from "../domain/transcript.js";
import { FenceScrubber } from "../safety/fence.js";

export function scrubText(text: string): string {
  const scrubber = new FenceScrubber();
  return scrubber.push(text) + scrubber.flush();
}

/** The same object where there is nothing to take out. */
export function scrubEntry<Some extends Entry>(entry: Some): Some {
  if (entry.role !== "assistant") return entry;
  const content = scrubText(entry.content);
  return content === entry.content ? entry : { ...entry, content };
}

export function scrubResult(result: AgentResult): AgentResult {
  const text = scrubText(result.text);
  const clean = { ...result, text, entries: result.entries.map(scrubEntry), partialText: scrubText(result.partialText) };
  const nothingLeft = result.outcome === "answer" && text.trim() === "" && result.text.trim() !== "";
  return nothingLeft ? { ...clean, outcome: "failed", failure: "empty" } : clean;
}
