/**
 * Everything that is persisted. All methods are asynchronous and retry a locked database without blocking the event
 * loop (gateway.md §8); after that they reject with `store.busy` and nothing was written. No SQL type crosses a port.
 * Callbacks passed in run synchronously inside one write transaction: they may not await.
 */
import type { Account, Role, Speaker } from "../domain/identity.js";
import type { ChatKind, ChatRef, InboundEvent, RenderedPart, Route, SentRef, Button } from "../domain/message.js";
import type { Entry, ToolCall, Usage, UserEntry } from "../domain/transcript.js";
import type { NewIntent } from "../domain/job.js";
import type { ToolSchema } from "./chat-model.js";

/** What became of an inbound act. Every stored event ends with one. */
export type Disposition =
  | "answered"
  | "joined"
  | "command"
  | "button"
  | "chat"
  | "not-addressed"
  | "not-admitted"
  | "duplicate"
  | "own"
  | "bot"
  | "edit"
  | "unreadable"
  | "refused"
  | "expired"
  | "stopped"
  | "failed";

export interface InboxRow {
  readonly id: number;
  readonly event: InboundEvent;
  /** new: not looked at · waiting: admitted, in a lane · running: in a turn · done: has a disposition. */
  readonly state: "new" | "waiting" | "running" | "done";
  readonly receivedAt: number;
  readonly turnId?: string;
  readonly disposition?: Disposition;
  readonly reason?: string;
  /** How often the platform delivered the same act again. */
  readonly repeats: number;
}

export interface Inbox {
  /** Stores each key once, all in one transaction; keeps trying while the database is locked. Returns the rows that are new, in order. */
  accept(events: readonly InboundEvent[]): Promise<InboxRow[]>;
  /** Rows without a disposition that no turn holds, oldest first: the work left by the last process. */
  open(): Promise<InboxRow[]>;
  /** Marks rows as admitted and waiting for their lane. */
  wait(ids: readonly number[]): Promise<void>;
  /** Ends rows with a disposition, and stores the outbox rows that answer them in the same transaction. `dropText` removes what was said. */
  settle(ids: readonly number[], disposition: Disposition, options?: SettleOptions): Promise<number[]>;
  /** Replaces the text of a message that no turn has taken yet. False when it is too late or unknown. */
  replaceText(originalKey: string, text: string): Promise<boolean>;
  /** Newest first; for `mneme inbox` and `/status`. */
  list(filter: { readonly platform?: string; readonly chatId?: string; readonly limit: number }): Promise<InboxRow[]>;
  /** Chats of a platform with the last message id seen in each, newest first. */
  lastSeen(platform: string, limit: number): Promise<{ chatId: string; kind: ChatKind; messageId: string }[]>;
  /** Removes bodies of finished rows older than 7 days and rows older than 90 days; returns how many were touched. */
  prune(now: number): Promise<number>;
}

export interface SettleOptions {
  readonly reason?: string;
  readonly dropText?: boolean;
  readonly outbox?: readonly NewOutbox[];
}

export type OutboxState = "waiting" | "sending" | "sent" | "unknown" | "refused" | "expired";

export interface NewOutbox {
  readonly kind: "reply" | "command" | "notice";
  readonly route: Route;
  readonly part: RenderedPart;
  readonly buttons?: readonly Button[];
  /** Content of a file to attach instead of a text part. */
  readonly file?: { readonly name: string; readonly mimeType: string; readonly content: string };
  readonly turnId?: string;
  readonly sessionId?: string;
  /** A preview message that this part replaces by an edit. */
  readonly takesOver?: SentRef;
  readonly silent?: boolean;
}

export interface OutboxRow extends NewOutbox {
  readonly id: number;
  /** For `SendOptions.deliveryId`; equal for all attempts. */
  readonly deliveryId: string;
  readonly state: OutboxState;
  readonly attempts: number;
  readonly createdAt: number;
  readonly nextAt: number;
  readonly sent?: SentRef;
  readonly sentAt?: number;
  readonly error?: string;
}

export interface Outbox {
  /** Stores rows to be sent, in order. Returns their ids. */
  add(rows: readonly NewOutbox[]): Promise<number[]>;
  /** The first unfinished row of each chat (in order of ids), if it is waiting and due; at most `limit`. Reads only. */
  heads(now: number, limit: number): Promise<OutboxRow[]>;
  /** When the next waiting row becomes due; undefined when none waits. */
  nextDue(): Promise<number | undefined>;
  /** waiting → sending, stored before the request leaves. False when another took it. */
  sending(id: number): Promise<boolean>;
  /** Ends or postpones an attempt. `waiting` needs `nextAt`. */
  result(id: number, outcome: OutboxOutcome): Promise<void>;
  /** All waiting rows of a chat end as `refused` (chat gone), or move to its new id. */
  moveChat(platform: string, chatId: string, to: { readonly newChatId: string } | { readonly refuse: string }): Promise<number>;
  /** At start: `sending` becomes `unknown`. Returns these rows. */
  recover(): Promise<OutboxRow[]>;
  /** True once after rows of this chat became `unknown`: the caller says so to the person; `noted` in a commit clears it. */
  hasUnknown(platform: string, chatId: string, threadId: string | undefined): Promise<boolean>;
  noteUnknown(platform: string, chatId: string, threadId: string | undefined): Promise<void>;
  /** The rows of the newest reply in this place, for `/again`. */
  lastReply(platform: string, chatId: string, threadId: string | undefined): Promise<OutboxRow[]>;
  /** True while rows of this turn are waiting or sending. */
  pendingOf(turnId: string): Promise<boolean>;
  counts(): Promise<{ platform: string; state: OutboxState; count: number; oldestAt: number }[]>;
  prune(now: number): Promise<number>;
}

export type OutboxOutcome =
  | { readonly state: "sent"; readonly sent: SentRef; readonly at: number }
  | { readonly state: "waiting"; readonly nextAt: number; readonly error: string; readonly route?: Route; readonly dropTakeOver?: boolean }
  | { readonly state: "unknown" | "refused" | "expired"; readonly error: string };

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

export interface ChatRow {
  readonly platform: string;
  readonly chatId: string;
  readonly kind: ChatKind;
  readonly parentId?: string;
  readonly containerId?: string;
  readonly title?: string;
  readonly admitted: boolean;
  readonly unreachable?: string;
}

export interface PairingCode {
  readonly code: string;
  /** `account`: admits a person; `chat`: admits a group. */
  readonly subject: "account" | "chat";
  readonly platform: string;
  readonly subjectId: string;
  readonly label: string;
  /** Where the code was asked for: the word that it was approved goes there. */
  readonly route: Route;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When the code message was last sent. */
  readonly shownAt: number;
}

export interface AuditRow {
  readonly at: number;
  readonly actor: string;
  readonly act: string;
  readonly subject: string;
  readonly detail?: string;
}

export interface Access {
  account(platform: string, accountId: string): Promise<Account | undefined>;
  /** Finds the account or creates it with a person and that person's space; names are refreshed. A new one is a `guest` that is not admitted. */
  ensureAccount(
    platform: string,
    account: { readonly id: string; readonly displayName: string; readonly handle?: string },
    now: number,
  ): Promise<Account>;
  /** Admits an account with a role (undefined takes the admission away) and writes the audit row. */
  admit(platform: string, accountId: string, role: Role | undefined, actor: string, now: number): Promise<void>;
  accounts(filter?: { readonly role?: Role; readonly personId?: string }): Promise<Account[]>;
  chat(platform: string, chatId: string): Promise<ChatRow | undefined>;
  /** Remembers a chat as seen with an event; creates a group space when needed. Returns the row and the id of its space. */
  noteChat(platform: string, chat: ChatRef, now: number): Promise<ChatRow & { spaceId: string }>;
  admitChat(platform: string, chatId: string, admitted: boolean, actor: string, now: number): Promise<void>;
  markChat(platform: string, chatId: string, unreachable: string | undefined): Promise<void>;
  /** Pending codes that have not expired. */
  codes(now: number): Promise<PairingCode[]>;
  putCode(code: PairingCode): Promise<void>;
  dropCode(code: string): Promise<void>;
  /** Wrong tries of a caller since an instant. */
  wrongTries(caller: string, since: number): Promise<number>;
  noteWrongTry(caller: string, now: number): Promise<void>;
  audit(row: AuditRow): Promise<void>;
  audits(limit: number): Promise<AuditRow[]>;
}

/** Owner of a memory file: a person's USER.md or a space's MEMORY.md. */
export interface MemoryOwner {
  readonly target: "user" | "memory";
  /** Person id for `user`, space id for `memory`. */
  readonly id: string;
}

export type MemoryAction = "add" | "replace" | "remove" | "outside" | "undo" | "forget" | "pending" | "merge";

export interface MemoryEvent {
  readonly id: number;
  readonly owner: MemoryOwner;
  readonly action: MemoryAction;
  /** The entry before and after (the whole file for `outside`). Undefined where there was none; null once forgotten. */
  readonly before?: string | null;
  readonly after?: string | null;
  /** SHA-256 of the whole file after the change. */
  readonly fileHash: string;
  readonly origin: "turn" | "review" | "command" | "outside";
  readonly accountKey?: string;
  readonly personId?: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly jobId?: string;
  readonly evidence?: string;
  readonly at: number;
  /** Id of the event that undid this one. */
  readonly undoneBy?: number;
}

export type NewMemoryEvent = Omit<MemoryEvent, "id" | "at" | "undoneBy"> & { readonly undoes?: number };

/** What must still hold when a tool writes: the turn's claim, or a job's fencing number. */
export type WriteGuard =
  | { readonly turnId: string; readonly claim: number }
  | { readonly jobId: string; readonly fence: number }
  | { readonly none: true };

export interface MemoryLog {
  /**
   * Runs `work` inside one BEGIN IMMEDIATE transaction after checking the guard. `work` reads the file, returns the events to store (with
   * hashes) and a result; if it returns `write`, that runs last before COMMIT (temporary file, fsync, rename).
   */
  change<T>(
    owner: MemoryOwner,
    guard: WriteGuard,
    now: number,
    work: (last: MemoryEvent | undefined) => {
      readonly events: readonly NewMemoryEvent[];
      readonly write?: () => void;
      readonly result: T;
    },
  ): Promise<T>;
  /** Newest first. */
  events(owner: MemoryOwner, limit: number): Promise<MemoryEvent[]>;
  byJob(jobId: string): Promise<MemoryEvent[]>;
  /** Entries noted in groups for a person, not merged yet, oldest first; `take` in a change removes them. */
  pending(personId: string): Promise<{ id: number; content: string; evidence?: string; at: number }[]>;
  addPending(
    personId: string,
    guard: WriteGuard,
    content: string,
    evidence: string | undefined,
    sessionId: string,
    now: number,
  ): Promise<void>;
  dropPending(ids: readonly number[]): Promise<void>;
  /** Purges a text from the events of an owner. */
  purge(owner: MemoryOwner, text: string): Promise<void>;
}

/** Run-time settings laid over the frozen configuration (per chat, per platform); never written back to the settings file. */
export interface Overlay {
  get(scope: string, key: string): Promise<string | undefined>;
  /** Undefined takes the value away. */
  set(scope: string, key: string, value: string | undefined): Promise<void>;
}
