/**
 * What comes in from a chat platform and what goes out to it. Plain data, so that the inbox and the outbox can store it.
 * Every id is a string from the parser to the API: platform ids do not fit a JavaScript number.
 */

/** A JSON value: what may be stored opaquely for an adapter. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** One identity on one platform, as the platform showed it with this event. Names are untrusted. */
export interface AccountRef {
  readonly id: string;
  readonly displayName: string;
  /** The platform's unique handle without its leading mark, where it has one. */
  readonly handle?: string;
  readonly isBot: boolean;
  /** True when the account belongs to another workspace than the bot's (Slack Connect): treated as a stranger. */
  readonly foreignTeam?: boolean;
}

export type ChatKind = "dm" | "group" | "thread";

/** A conversation place. A Telegram topic or a Slack thread is its chat plus `threadId`; a Discord thread is a chat of its own with a parent. */
export interface ChatRef {
  readonly id: string;
  readonly kind: ChatKind;
  /** The channel a thread hangs in. A public thread belongs to this chat's space. */
  readonly parentId?: string;
  /** Guild or workspace the chat is in: access may be granted to it as a whole. */
  readonly containerId?: string;
  readonly title?: string;
  /** A private thread or a group DM: a space of its own, never its parent's. */
  readonly isPrivate?: boolean;
}

export interface Attachment {
  readonly kind: "image" | "audio" | "voice" | "video" | "document" | "sticker" | "other";
  readonly name: string;
  readonly mimeType?: string;
  /** Bytes, where the platform says so. */
  readonly size?: number;
  /** Opaque and storable: what the adapter's `download` needs to fetch it later. Never a secret. */
  readonly ref: Json;
}

/** The message replied to, or one forwarded: quoted context, never the speaker's own words. */
export interface QuotedMessage {
  readonly author: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly messageId?: string;
  /** True when the author is this bot. */
  readonly fromSelf?: boolean;
}

/** Where an answer goes. It travels with the turn to every outbound call. */
export interface Route {
  readonly platform: string;
  readonly chatId: string;
  /** Telegram topic, Slack thread_ts. Absent for a Discord thread, which is a chat. */
  readonly threadId?: string;
  /** Message the first part is a reply to, where the platform has replies. */
  readonly replyTo?: string;
  /** Opaque to the core: for example the token of a deferred interaction with its expiry. */
  readonly hint?: Json;
}

/** How the bot was addressed by the platform's own rules. Whether a thread is active is the gateway's knowledge. */
export type Addressed = "dm" | "mention" | "reply" | "command";

/** Says that this message may be one part of an act that is not complete yet. */
export interface PartialAct {
  /** Equal for the parts of one act within one chat and sender (album id, "long-text", "forward"). */
  readonly group: string;
  /** How long after the last part the act counts as complete, in milliseconds. */
  readonly idleMs: number;
}

interface EventBase {
  readonly platform: string;
  /** The bot account that received it; part of the key. */
  readonly botId: string;
  /** Dedupe key: one act of one person has one key, however often and in whatever form the platform delivers it. */
  readonly key: string;
  readonly account: AccountRef;
  readonly chat: ChatRef;
  readonly threadId?: string;
  /** When the platform says it happened, epoch milliseconds. */
  readonly at: number;
}

/** Something a person said. */
export interface InboundMessage extends EventBase {
  readonly kind: "message";
  readonly messageId: string;
  /** Plain Markdown; mentions resolved to names, entities decoded once, the bot's own mention stripped. */
  readonly text: string;
  readonly addressed?: Addressed;
  /** Recognised by the platform's form (`/name args`, application command); the name without its mark, lower case. */
  readonly command?: { readonly name: string; readonly args: string };
  readonly attachments: readonly Attachment[];
  readonly replyTo?: QuotedMessage;
  readonly forwardedFrom?: string;
  readonly partial?: PartialAct;
  readonly route: Route;
  /** Own message, or a platform oddity the adapter drops knowingly; stored with this reason, never answered. */
  readonly ignore?: "own" | "bot" | "unreadable";
  /** True when another bot wrote it and its text names this bot literally (only then may allowed bots be answered). */
  readonly literalMention?: boolean;
  /** IANA zone from the account's platform profile, where known. */
  readonly timeZone?: string;
}

/** A message was changed. Never starts a turn; replaces the text of the message while that still waits. */
export interface InboundEdit extends EventBase {
  readonly kind: "edit";
  readonly messageId: string;
  /** Key of the original message. */
  readonly originalKey: string;
  readonly text: string;
}

/** A button under one of our messages was pressed. */
export interface ButtonPress extends EventBase {
  readonly kind: "button";
  readonly data: string;
  /** The message that carries the button. */
  readonly messageId: string;
  readonly route: Route;
}

/** Something happened to the chat itself. */
export interface ChatChange extends EventBase {
  readonly kind: "chat";
  readonly change:
    | { readonly type: "bot-added" }
    | { readonly type: "bot-removed" }
    /** The person stopped (blocked) or allowed the bot again. */
    | { readonly type: "unreachable" }
    | { readonly type: "reachable" }
    | { readonly type: "migrated"; readonly toChatId: string };
}

export type InboundEvent = InboundMessage | InboundEdit | ButtonPress | ChatChange;

/** One rendered part of an answer. Frozen at commit and never rendered again. */
export interface RenderedPart {
  /** The same content without markup: the fallback when a platform refuses the markup. Within the same limit. */
  readonly plain: string;
  /** What the adapter sends (entities, blocks, Markdown …); opaque to the core. */
  readonly payload: Json;
}

export interface Button {
  readonly label: string;
  /** At most 64 bytes (Telegram's limit, the smallest). */
  readonly data: string;
}

/** What one send carries. */
export type OutboundMessage =
  | { readonly kind: "part"; readonly part: RenderedPart; readonly buttons?: readonly Button[]; readonly silent?: boolean }
  | { readonly kind: "plain"; readonly text: string; readonly buttons?: readonly Button[]; readonly silent?: boolean }
  | { readonly kind: "file"; readonly name: string; readonly mimeType: string; readonly content: string; readonly caption?: string };

/** A message of ours that the platform has confirmed. */
export interface SentRef {
  readonly chatId: string;
  readonly threadId?: string;
  readonly messageId: string;
  readonly hint?: Json;
}
