/** What people do to their own conversations beside talking: take one up again, take its last turn back. Same promises as ports/stores.ts. */
import type { NewIntent } from "../domain/job.js";
import type { ChatKind, InboundMessage, Route } from "../domain/message.js";

/** The place a session goes on in. */
export interface SessionPlaceRow {
  readonly key: string;
  readonly platform: string;
  readonly chatId: string;
  readonly chatKind: ChatKind;
  readonly threadId?: string;
  readonly route: Route;
}

export interface LastTurn {
  readonly turnId: string;
  readonly platform: string;
  readonly accountId: string;
  /** The speaker's own words. */
  readonly said: string;
  /** The first message of the turn as it came in, while its body is still kept. */
  readonly message?: InboundMessage;
}

/** Something said in a group that was not addressed to the bot. */
export interface Overheard {
  readonly author: string;
  readonly text: string;
  readonly at: number;
}

export interface SessionCare {
  /**
   * Makes a session the active one of a place and ends whatever was active there (with `intents`). `busy`: a turn of either runs; nothing was
   * changed. `gone`: there is no such session. Its prompt is built anew at its next turn.
   */
  resume(sessionId: string, place: SessionPlaceRow, now: number, intents: readonly NewIntent[]): Promise<"resumed" | "busy" | "gone">;
  /** The newest turn that stands in the transcript. */
  lastTurn(sessionId: string): Promise<LastTurn | undefined>;
  /** Takes a turn out of transcript and search in one transaction. False when it is not the last one any more, or a turn runs. */
  removeTurn(sessionId: string, turnId: string): Promise<boolean>;
  /** True while a turn of the session runs. */
  running(sessionId: string): Promise<boolean>;
  /** Messages of a group (and thread) that were not addressed to the bot since the session's last turn, oldest first. */
  overheard(
    place: {
      readonly platform: string;
      readonly chatId: string;
      readonly threadId?: string;
      readonly sessionId: string;
      readonly beforeInboxId: number;
    },
    notBefore: number,
    limit: number,
  ): Promise<Overheard[]>;
  /** Removes the words of such messages that are older; returns how many. */
  forgetOverheard(before: number): Promise<number>;
}
