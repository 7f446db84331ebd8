/** What a turn is given: stores, agent, platform, limits, and the decisions that the composition root makes for it. */
import type { Agent } from "../agent/agent.js";
import type { Entry } from "../domain/transcript.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import type { Outbox, Session, Sessions, TurnCommit, TurnRow, Turns } from "../ports/stores.js";
import type { Language } from "../words/catalogue.js";
import type { Channels } from "./channels.js";
import type { SessionBook } from "./sessions.js";

export interface TurnRunnerDeps {
  readonly turns: Turns;
  readonly sessions: Sessions;
  readonly outbox: Outbox;
  readonly book: SessionBook;
  readonly agent: Agent;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly language: Language | "auto";
  readonly timeZone: string;
  readonly limits: {
    readonly timeoutMs: number;
    readonly maxIterations: number;
    readonly toolResultChars: number;
    readonly turnResultChars: number;
    /** Earlier messages shown when the bot is called into a place it has not followed. */
    readonly contextMessages: number;
  };
  readonly progress: "off" | "line";
  /** Denial text when the speaker's role may not use a tool. */
  readonly permit: (tool: { readonly name: string }, turn: TurnRow, session: Session) => string | undefined;
  /** Which reviews a committed turn has earned. */
  readonly decide: (
    session: Session,
    turn: TurnRow,
    ending: { readonly outcome: TurnCommit["outcome"]; readonly entries: readonly Entry[] },
  ) => TurnCommit["decide"];
  /** Before the first model call of a turn; returns what was saved meanwhile, to be shown after the reply. */
  readonly prepare: (session: Session, speaker: TurnRow["speaker"]) => Promise<readonly string[]>;
  /** Things to add to the last user message of this turn's requests only. */
  readonly tail: (session: Session, turn: TurnRow) => Promise<string | undefined>;
  /** After each commit that stored outbox rows or intents. */
  readonly committed: () => void;
}
