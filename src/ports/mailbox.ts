/** Inbox and outbox: what came in, each act once, and what goes out, in order per chat. Same promises as ports/stores.ts. */
import type { Button, ChatKind, InboundEvent, RenderedPart, Route, SentRef } from "../domain/message.js";

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
