/**
 * Everything that is persisted. All methods are asynchronous and retry a locked database without blocking the event
 * loop (gateway.md §8); after that they reject with `store.busy` and nothing was written. No SQL type crosses a port.
 * Callbacks passed in run synchronously inside one write transaction: they may not await.
 */
import type { Speaker } from "../domain/identity.js";
import type { NewIntent } from "../domain/job.js";
import type { ChatKind, Route, SentRef } from "../domain/message.js";
import type { Entry, ToolCall, Usage, UserEntry } from "../domain/transcript.js";
import type { ToolSchema } from "./chat-model.js";
import type { Disposition, NewOutbox } from "./mailbox.js";

export interface Frozen {
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly model: string;
  readonly promptVersion: number;
  readonly at: number;
}

export interface Session {
  readonly id: string;
  readonly key: string;
  readonly spaceId: string;
  readonly spaceKind: "person" | "group";
  /** Owner of a DM session; absent in groups. */
  readonly personId?: string;
  readonly platform: string;
  readonly chatId: string;
  readonly chatKind: ChatKind;
  readonly threadId?: string;
  /** Search scope token (identity.ts, `originOf`). */
  readonly origin: string;
  readonly route: Route;
  readonly title?: string;
  readonly isPrivate: boolean;
  readonly parentId?: string;
  readonly frozen?: Frozen;
  readonly needsRebuild: boolean;
  readonly createdAt: number;
  readonly lastActiveAt: number;
  readonly endedAt?: number;
  readonly endReason?: string;
}

export interface NewSession {
  readonly id: string;
  readonly key: string;
  readonly spaceId: string;
  readonly spaceKind: "person" | "group";
  readonly personId?: string;
  readonly platform: string;
  readonly chatId: string;
  readonly chatKind: ChatKind;
  readonly threadId?: string;
  readonly origin: string;
  readonly route: Route;
  readonly isPrivate?: boolean;
  readonly parentId?: string;
}

export interface StoredEntry {
  readonly id: number;
  readonly sessionId: string;
  readonly turnId: string;
  readonly entry: Entry;
  /** Searchable text: for a user entry the speaker's own words alone, otherwise the entry's text. */
  readonly text: string;
  readonly at: number;
  /** Who said it, for user entries. */
  readonly accountId?: string;
  readonly author?: string;
}

export interface Sessions {
  active(key: string): Promise<Session | undefined>;
  /** When the last ended session of this key ended. */
  lastEnded(key: string): Promise<number | undefined>;
  byId(id: string): Promise<Session | undefined>;
  /** Creates it, or returns the active session of this key when another call was faster. */
  create(session: NewSession, now: number): Promise<Session>;
  /** Stores system text, tool schemas and model id together. */
  freeze(id: string, frozen: Frozen): Promise<void>;
  /** Ends it and stores the intents (flush, provider end) in the same transaction. */
  end(id: string, reason: string, now: number, intents: readonly NewIntent[]): Promise<void>;
  setTitle(id: string, title: string): Promise<void>;
  /** Their prompt is built anew at the next turn (after forget, undo, link …). */
  rebuild(where: { readonly personId: string } | { readonly spaceId: string } | { readonly sessionId: string }): Promise<void>;
  /** The whole transcript in order. */
  entries(sessionId: string): Promise<StoredEntry[]>;
  /** Sessions of a space, newest first. */
  list(spaceId: string, limit: number): Promise<(Session & { messageCount: number; preview: string })[]>;
  /** Active sessions whose last activity lies between the two instants. */
  idle(from: number, to: number): Promise<Session[]>;
  /** A chat has a new id: sessions, chats, grants and waiting rows move there. */
  migrateChat(platform: string, fromChatId: string, toChatId: string): Promise<void>;
}

export interface TurnRow {
  readonly id: string;
  readonly sessionId: string;
  readonly claim: number;
  readonly attempts: number;
  readonly state: "running" | "answered" | "stopped" | "interrupted" | "failed";
  readonly inboxIds: readonly number[];
  readonly speaker: Speaker;
  readonly route: Route;
  /** The user message as it is sent to the model and will be stored. */
  readonly user: UserEntry;
  /** The speaker's own words alone, for evidence, search and sync. */
  readonly said: string;
  readonly preview?: PreviewRecord;
  readonly startedAt: number;
  readonly endedAt?: number;
}

/** A preview message. `sending` is stored before the first send leaves: after a crash its id is unknown. */
export type PreviewRecord = { readonly state: "sending" } | { readonly state: "shown"; readonly ref: SentRef };

export interface NewTurn {
  readonly id: string;
  readonly sessionId: string;
  readonly inboxIds: readonly number[];
  readonly speaker: Speaker;
  readonly route: Route;
  readonly user: UserEntry;
  readonly said: string;
}

export interface Counters {
  /** User turns since the last memory review. */
  readonly memoryTurns: number;
  /** Model responses with tool calls since the last skill review or use of skill_manage. */
  readonly skillIterations: number;
}

export interface TurnCommit {
  readonly turnId: string;
  readonly claim: number;
  readonly outcome: "answered" | "stopped" | "interrupted" | "failed";
  readonly reason?: string;
  /** User entry first, then everything up to the answer; sealed. Empty = nothing is added to the transcript. */
  readonly entries: readonly Entry[];
  readonly outbox: readonly NewOutbox[];
  /** Dispositions of the turn's inbox rows; the first row of a turn is `answered`, joined ones `joined`. */
  readonly inbox: readonly { readonly id: number; readonly disposition: Disposition; readonly reason?: string }[];
  readonly usage: Usage;
  readonly model: string;
  readonly iterations: number;
  /** Added to the space's counters; `decide` then sees the sums and the id of the last message stored, and returns what they become and which intents that earns. */
  readonly counts: Counters;
  readonly decide: (counters: Counters, lastMessageId: number) => { readonly counters: Counters; readonly intents: readonly NewIntent[] };
  /** Set when the reply says that an earlier part may not have arrived. */
  readonly notesUnknown?: boolean;
}

export interface Turns {
  /** Claims the session for a new turn (claim 1, attempt 1) and takes the inbox rows. Rejects with `turn.outdated` when the session has a running turn. */
  begin(turn: NewTurn, now: number): Promise<TurnRow>;
  /** More messages for a running turn: new user entry, rows joined. */
  join(
    turnId: string,
    claim: number,
    more: { readonly inboxIds: readonly number[]; readonly user: UserEntry; readonly said: string },
  ): Promise<void>;
  /** Takes a turn over: claim + 1, so whoever held it can neither post nor write. `attempt` counts a new attempt. */
  takeOver(turnId: string, attempt: boolean): Promise<TurnRow>;
  /** Turns still `running` in the store, oldest first. */
  unfinished(): Promise<TurnRow[]>;
  byId(turnId: string): Promise<TurnRow | undefined>;
  /** The journal: an assistant message with calls, stored before any of them runs; or a user entry steered into the turn. */
  assistant(turnId: string, claim: number, entry: Entry): Promise<void>;
  /** Stored before a call with an effect runs. Returns the stored result when it already has one, `started` when an earlier attempt began it and nobody knows its end. */
  startCall(turnId: string, claim: number, call: ToolCall): Promise<"run" | "started" | { readonly result: string }>;
  finishCall(turnId: string, claim: number, callId: string, result: string): Promise<void>;
  /** Entries of the turn so far, results in place; not sealed. */
  journal(turnId: string): Promise<Entry[]>;
  preview(turnId: string, claim: number, record: PreviewRecord): Promise<void>;
  /** One transaction: transcript, search rows, outbox, inbox dispositions, counters, intents, usage, end of the turn. Rejects with `turn.outdated`. Returns outbox ids. */
  commit(commit: TurnCommit, now: number): Promise<number[]>;
  /** Newest committed turns of a session with their usage. */
  recent(sessionId: string, limit: number): Promise<(TurnRow & { usage: Usage; iterations: number })[]>;
  /** Committed user turns of one person (or space) since an instant; for limits and status. */
  countSince(where: { readonly personId: string } | { readonly sessionId: string }, since: number): Promise<number>;
}

/** Run-time settings laid over the frozen configuration (per chat, per platform); never written back to the settings file. */
export interface Overlay {
  get(scope: string, key: string): Promise<string | undefined>;
  /** Undefined takes the value away. */
  set(scope: string, key: string, value: string | undefined): Promise<void>;
}
