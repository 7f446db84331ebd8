/** What reviews read and leave behind. Same promises as the other stores (ports/stores.ts). */
import type { NewIntent } from "../domain/job.js";
import type { ClaimedJob, Watermark } from "./job-queue.js";
import type { NewOutbox } from "./mailbox.js";
import type { StoredEntry } from "./stores.js";

/** Kinds of review that keep a watermark of their own per session. */
export type ReviewKind = Extract<Watermark["kind"], "memory-review" | "skill-review">;

/** User turns of one session that no review of a kind has covered. */
export interface UncoveredTurns {
  readonly sessionId: string;
  readonly platform: string;
  /** User entries only, oldest first. */
  readonly entries: readonly StoredEntry[];
  /** Covering these entries moves the watermark here. */
  readonly upTo: number;
}

export interface LearningStore {
  /** Writes jobs down that no turn or session end makes necessary (idle flush, cold rebuild). Known ids are left as they are. */
  addIntents(intents: readonly NewIntent[], now: number): Promise<void>;
  /** User turns of a session above its watermark, and the id of the last message of any role. */
  uncoveredCount(sessionId: string, kind: ReviewKind): Promise<{ readonly userTurns: number; readonly lastMessageId: number }>;
  /** The same for all sessions of a space that are not private, with their words; at most `limit` turns, oldest first. */
  uncovered(spaceId: string, kind: ReviewKind, limit: number): Promise<UncoveredTurns[]>;
  /** Closes the job, moves the watermarks and stores the notice in one transaction. Rejects with `turn.outdated` for an old fence. */
  finishReview(
    job: Pick<ClaimedJob, "id" | "fence">,
    watermarks: readonly Watermark[],
    notice: readonly NewOutbox[],
    now: number,
  ): Promise<void>;
}
