/**
 * Conversations that go on in a new session with a hand-over in the place of their older part. Nothing is copied: a session that
 * continues another shows some of its ancestors' messages by their ids. Same promises as ports/stores.ts.
 */
import type { NewIntent } from "../domain/job.js";
import type { NewOutbox } from "./mailbox.js";
import type { StoredEntry } from "./stores.js";

/** A hand-over that waits for the session's next turn. */
export interface PreparedHandover {
  readonly sessionId: string;
  /** As the model will see it, fenced. */
  readonly text: string;
  /** Messages that stay in front of it. */
  readonly headIds: readonly number[];
  /** The last message it covers; what follows stays behind it. */
  readonly upTo: number;
  readonly at: number;
}

export interface Continuation {
  readonly parentId: string;
  readonly childId: string;
  readonly text: string;
  readonly headIds: readonly number[];
  readonly tailIds: readonly number[];
  /** A running turn of the parent that goes on in the child. */
  readonly turn?: { readonly id: string; readonly claim: number };
  /** Jobs that the parent's end makes necessary. */
  readonly intents: readonly NewIntent[];
}

export interface Handovers {
  /** All that the model sees of a session in order: for one that continues another head, hand-over (a user entry with id 0) and tail first. */
  history(sessionId: string): Promise<StoredEntry[]>;
  prepared(sessionId: string): Promise<PreparedHandover | undefined>;
  /** Replaces one that waits, and stores what is said about it. */
  prepare(handover: PreparedHandover, outbox: readonly NewOutbox[]): Promise<void>;
  discard(sessionId: string): Promise<void>;
  /**
   * Ends the parent and begins the child in its place, in one transaction. `busy`: another turn of the parent runs; `gone`: it is not active any
   * more; nothing was changed then. Rejects with `turn.outdated` when `turn` lost its claim.
   */
  continueIn(continuation: Continuation, now: number): Promise<"continued" | "busy" | "gone">;
  /** Stores job intents outside of a commit. */
  addIntents(intents: readonly NewIntent[], now: number): Promise<void>;
}
