/**
 * Notes that a person's words in groups left for their USER.md. A group turn only notes them down, unseen; they are
 * merged where the person can see it: at their next direct-message turn or review.
 */
import type { MemoryOwner } from "../ports/memory-log.js";
import { applyChange, type Applied } from "./entries.js";
import { sides, type Author, type MemoryFiles } from "./memory-files.js";

export interface Merged {
  /** Entries that are in the file now, for the notice. */
  readonly merged: readonly string[];
  /** Notes that do not fit and stay noted. */
  readonly waiting: readonly string[];
}

/** Moves a person's notes into their USER.md. Running it twice, or dying in between, stores nothing twice. */
export async function mergePending(files: MemoryFiles, personId: string, author: Author): Promise<Merged> {
  const owner: MemoryOwner = { target: "user", id: personId };
  const merged: string[] = [];
  const waiting: string[] = [];
  for (const note of await files.log.pending(personId)) {
    const by = note.evidence === undefined ? author : { ...author, evidence: note.evidence };
    const applied = await files.write<Applied>(owner, by, (text) => {
      const next = applyChange(text, { action: "add", content: note.content, allowNear: true }, files.limit(owner));
      if (!next.ok || !next.changed) return { result: next };
      return { text: next.text, event: { action: "merge", ...sides(next) }, result: next };
    });
    if (!applied.ok && applied.refusal.kind === "over-limit") {
      waiting.push(note.content);
      continue;
    }
    await files.log.dropPending([note.id]);
    if (!applied.ok || !applied.changed) continue;
    merged.push(note.content);
    await files.tell({ owner, action: "merge", after: note.content }, by);
  }
  return { merged, waiting };
}
