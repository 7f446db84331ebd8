/**
 * Transcript → the entries of one model request. The pair check runs here, right before each request: whatever a crash, a
 * limit or an older version left behind, every call is sent with exactly one result.
 */
import { sealTranscript, type Entry, type UserEntry } from "../domain/transcript.js";

export interface TurnSoFar {
  readonly history: readonly Entry[];
  readonly user: UserEntry;
  /** Stands at the end of the turn's user entry, so that later entries of the turn only add to the request. */
  readonly tail?: string;
  readonly entries: readonly Entry[];
}

/** Pure; a longer turn gives a list that begins with the one before. */
export function modelEntries(turn: TurnSoFar): Entry[] {
  const user = turn.tail === undefined || turn.tail === "" ? turn.user : { ...turn.user, content: `${turn.user.content}\n\n${turn.tail}` };
  return sealTranscript([...turn.history, user, ...turn.entries]).filter(hasContent);
}

/** Servers refuse messages with nothing in them (an answer that was stopped before its first word). */
function hasContent(entry: Entry): boolean {
  if (entry.role === "tool") return true;
  const more = entry.role === "user" ? (entry.images ?? []) : (entry.toolCalls ?? []);
  return entry.content.trim() !== "" || more.length > 0;
}
