/** What a turn is given: stores, agent, platform, limits, and the decisions that the composition root makes for it. */
import type { Agent } from "../agent/agent.js";
import type { Entry, Usage } from "../domain/transcript.js";
import type { HistoryMessage } from "../ports/platform-adapter.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import type { Inbox, Outbox } from "../ports/mailbox.js";
import type { Session, Sessions, TurnCommit, TurnRow, Turns } from "../ports/stores.js";
import type { Language } from "../words/catalogue.js";
import type { Act } from "./acts.js";
import type { Attachments } from "./attachments.js";
import type { Channel, Channels } from "./channels.js";
import type { SessionBook } from "./sessions.js";
import type { Window } from "./window.js";

export interface TurnRunnerDeps {
  readonly turns: Turns;
  readonly sessions: Sessions;
  readonly inbox: Pick<Inbox, "settle">;
  readonly outbox: Outbox;
  readonly book: SessionBook;
  readonly window: Window;
  readonly agent: Agent;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly language: Language | "auto";
  /** Whose clock a message's time stamp goes by. */
  readonly timeZone: (act: Act) => Promise<string>;
  /** What was said in a group before the bot was addressed, oldest first; never rejects. */
  readonly earlier: (
    act: Act,
    session: { readonly id: string; readonly isNew: boolean },
    channel: Channel,
  ) => Promise<readonly HistoryMessage[]>;
  readonly attachments: Attachments;
  readonly limits: {
    readonly timeoutMs: number;
    readonly maxIterations: number;
    readonly toolResultChars: number;
    readonly turnResultChars: number;
    /** Characters of all documents that come with one message. */
    readonly documentChars: number;
    /** Text parts of one answer; the rest goes as a file. 0 = no limit. */
    readonly maxParts: number;
  };
  readonly progress: "off" | "line";
  /** Denial text when the speaker's role may not use a tool. */
  readonly permit: (tool: { readonly name: string }, turn: TurnRow, session: Session) => string | undefined;
  /** Which reviews a committed turn has earned. */
  readonly decide: (
    session: Session,
    turn: TurnRow,
    ending: { readonly outcome: TurnCommit["outcome"]; readonly entries: readonly Entry[]; readonly windowTokens: number | undefined },
  ) => TurnCommit["decide"];
  /** Before the first model call of a turn; returns what was saved meanwhile, to be shown after the reply. */
  readonly prepare: (session: Session, speaker: TurnRow["speaker"]) => Promise<readonly string[]>;
  /** Things to add to the last user message of this turn's requests only. */
  readonly tail: (session: Session, turn: TurnRow) => Promise<string | undefined>;
  /** After each commit that stored outbox rows or intents. */
  readonly committed: () => void;
  /** After each turn that was committed; for metrics. Must not throw. */
  readonly ended?: (turn: {
    readonly platform: string;
    readonly outcome: TurnCommit["outcome"];
    readonly ms: number;
    readonly usage: Usage;
  }) => void;
}
