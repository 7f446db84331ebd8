/**
 * What a turn needs so that its request fits the model's window. A session may be continued in another one on the way: the turn
 * goes on with what it is given back.
 */
import { errorText } from "../domain/errors.js";
import type { Frozen, Session, StoredEntry } from "../ports/stores.js";
import { languageOf, text } from "../words/catalogue.js";
import type { Channel } from "./channels.js";
import { noticeRows } from "./notices.js";
import type { RunningTurn } from "./running-turn.js";
import type { TurnRunnerDeps } from "./turn-deps.js";

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

/** For a turn: its abort, and a word to its chat. From the first word on nothing may join, since the person was told to wait. */
export function windowTurn(
  { outbox, logger, committed, language: setting }: Pick<TurnRunnerDeps, "outbox" | "logger" | "committed" | "language">,
  running: RunningTurn,
  channel: Channel,
): WindowTurn {
  const { messages } = running.act;
  const route = messages.at(-1)?.route;
  const language = languageOf(
    setting,
    messages.map((message) => message.text),
  );
  const tell: WindowTurn["tell"] = async (key) => {
    running.lock();
    if (route === undefined) return;
    try {
      await outbox.add(noticeRows(channel, route, text(language, key)));
      committed();
    } catch (error) {
      logger.warn({ error: errorText(error) }, "the person could not be told that the conversation is condensed");
    }
  };
  return { signal: running.signal, tell };
}
