/** The line a person sees after a review, made from tool results and never from what the model says it did. */
import type { Entry } from "../domain/transcript.js";

/** `Memory: …` or `Skill '…' patched` for a call that changed something; undefined for any other. */
export type DescribeSaved = (call: { readonly name: string; readonly arguments: string }, result: string) => string | undefined;

const noticeLength = 120;

/** One description per call that saved something, in order. */
export function savedBy(entries: readonly Entry[], describe: DescribeSaved): string[] {
  const results = new Map(entries.flatMap((entry) => (entry.role === "tool" ? [[entry.callId, entry.content] as const] : [])));
  return entries.flatMap((entry) => {
    if (entry.role !== "assistant") return [];
    return (entry.toolCalls ?? []).flatMap((call) => {
      const result = results.get(call.id);
      const saved = result === undefined ? undefined : describe(call, result);
      return saved === undefined ? [] : [saved];
    });
  });
}

/** All of it in one line of at most 120 characters. */
export function noticeLine(saved: readonly string[]): string {
  const line = saved.map((piece) => piece.replaceAll(/\s+/gu, " ")).join(" · ");
  const characters = [...line];
  return characters.length <= noticeLength ? line : `${characters.slice(0, noticeLength - 1).join("")}…`;
}
