/**
 * What a turn needs so that its request fits the model's window. A session may be continued in another one on the way: the turn
 * goes on with what it is given back.
 */
import type { Frozen, Session, StoredEntry } from "../ports/stores.js";

export type FrozenSession = Session & { readonly frozen: Frozen };

export interface WindowView {
  readonly session: FrozenSession;
  /** All that the model sees before the turn, oldest first. */
  readonly history: readonly StoredEntry[];
}

export interface WindowTurn {
  /** Ends a wait for a summary. */
  readonly signal: AbortSignal;
  /** A word to the person, now. Must not reject. */
  readonly tell: (key: "compress.inline" | "compress.fresh") => Promise<void>;
}

export interface Window {
  /** What a session shows, as it is. */
  history(sessionId: string): Promise<readonly StoredEntry[]>;
  /** The session for a turn that begins: condensed first where a hand-over waits or the window is nearly full. */
  fit(session: FrozenSession, turn: WindowTurn): Promise<WindowView>;
  /** The server refused the request as too long. `round`: how often in this turn before. Undefined when nothing more can be left out. */
  shrink(
    refused: WindowTurn & {
      readonly view: WindowView;
      readonly turn: { readonly id: string; readonly claim: number };
      readonly round: number;
    },
  ): Promise<WindowView | undefined>;
  /** What the last model call of a turn took, in and out. */
  measured(sessionId: string, windowTokens: number | undefined): void;
}
