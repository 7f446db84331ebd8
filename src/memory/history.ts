/**
 * Rebuilds what a memory file held from its events, so that a change made by hand can be told, and undone. Pure. It
 * gives up (undefined) rather than guess: when a text was forgotten, or the result's hash is not the event's.
 */
import { createHash } from "node:crypto";
import type { MemoryAction, MemoryEvent } from "../ports/memory-log.js";
import { applyChange, parseEntries, type Change } from "./entries.js";

/** SHA-256 of a file's text; a missing file counts as empty. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** What the file held after the newest of these events (given newest first), or undefined when that cannot be told. */
export function textAfter(events: readonly MemoryEvent[]): string | undefined {
  const [newest] = events;
  if (newest === undefined) return "";
  const wholeFile = events.findIndex((event) => isWhole(event));
  const base = wholeFile < 0 ? "" : events[wholeFile]?.after;
  if (base === undefined || base === null) return undefined;
  const later = events.slice(0, wholeFile < 0 ? events.length : wholeFile).toReversed();
  let text = base;
  for (const event of later) {
    const change = changeOf(event);
    if (change === undefined) return undefined;
    if (change === "none") continue;
    const applied = applyChange(text, change, Number.MAX_SAFE_INTEGER);
    if (!applied.ok) return undefined;
    text = applied.text;
  }
  return hashOf(text) === newest.fileHash ? text : undefined;
}

/** True for events whose before and after are the whole file: an outside change, and the undoing of one. */
export function isWhole(event: Pick<MemoryEvent, "action">): boolean {
  return event.action === "outside";
}

function changeOf(event: MemoryEvent): Change | "none" | undefined {
  const { before, after } = event;
  if (before === null || after === null) return undefined;
  if (before !== undefined && after !== undefined) return { action: "replace", oldText: before, content: after, allowNear: true };
  if (after !== undefined) return { action: "add", content: after, allowNear: true };
  return before === undefined ? "none" : { action: "remove", oldText: before };
}

/** Why a change cannot be reversed: the entry is no longer as it left it; its text was purged; the old text no longer fits. */
export type Hindrance = "changed" | "forgotten" | "full";

const reversible: ReadonlySet<MemoryAction> = new Set<MemoryAction>(["add", "replace", "remove", "outside", "merge"]);

/** The changes among these that may still be undone, newest first: not undone, and not themselves the undoing of another. */
export function undoable(events: readonly MemoryEvent[]): MemoryEvent[] {
  const undoings = new Set(events.map((event) => event.undoneBy));
  return events
    .filter((event) => reversible.has(event.action) && event.undoneBy === undefined && !undoings.has(event.id))
    .toSorted((a, b) => b.id - a.id);
}

/** The file's text without this change, or why that cannot be. */
export function reverse(text: string, event: MemoryEvent, limit: number): { readonly text: string } | Hindrance {
  const { before, after } = event;
  if (before === null || after === null) return "forgotten";
  if (isWhole(event)) {
    if (before === undefined) return "forgotten";
    return hashOf(text) === event.fileHash ? { text: before } : "changed";
  }
  if (after !== undefined && !parseEntries(text).includes(after)) return "changed";
  const applied = applyChange(text, reversal(before, after), limit);
  if (applied.ok) return applied.changed ? { text: applied.text } : "changed";
  return applied.refusal.kind === "over-limit" ? "full" : "changed";
}

function reversal(before: string | undefined, after: string | undefined): Change {
  if (before === undefined) return { action: "remove", oldText: after ?? "" };
  if (after === undefined) return { action: "add", content: before, allowNear: true };
  return { action: "replace", oldText: after, content: before, allowNear: true };
}
