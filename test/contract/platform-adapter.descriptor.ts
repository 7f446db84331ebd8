/**
 * What one platform must hand to the contract suite: how to start its emulator, let a person act, make calls fail and
 * read what arrived. A thing a platform does not have is a `Skip` with the reason, never a missing entry.
 */
import type { DeliveryCode } from "../../src/domain/errors.js";
import type { PlatformAdapter } from "../../src/ports/platform-adapter.js";

/** A case the platform cannot have; the reason is printed with the skipped test. */
export interface Skip {
  readonly skip: string;
}

/** Where a message goes in the emulator. The driver has one of each ready, and the bot is a member of all of them. */
export type PlaceName = "dm" | "group" | "thread";

/**
 * Something a person (or the platform) does. `by` is "amy" unless said otherwise; "bob" is a second person.
 * Text is what a person types: the driver adds the platform's own form of mention, reply, command or markup.
 */
export type Act =
  | { readonly type: "message"; readonly in: PlaceName; readonly text: string; readonly by?: "amy" | "bob" }
  /** Mentions the bot in the platform's own form before `text`. */
  | { readonly type: "mention"; readonly in: "group" | "thread"; readonly text: string }
  /** Replies to a message of the bot (the driver makes one when there is none). */
  | { readonly type: "reply-to-bot"; readonly in: "group" | "thread"; readonly text: string }
  /** Replies to another person's message that has `quoted` as text and one image. */
  | { readonly type: "reply-to-image"; readonly in: "dm" | "group"; readonly text: string; readonly quoted: string }
  /** `name` with `args` in the platform's form for a command to this bot. */
  | { readonly type: "command"; readonly in: PlaceName; readonly name: string; readonly args: string }
  /** The same command addressed to another bot. */
  | { readonly type: "command-for-other-bot"; readonly in: "group"; readonly name: string }
  /** A message with one image (1 kB of bytes) and `text` as its caption or text. */
  | { readonly type: "image"; readonly in: "dm" | "group"; readonly text: string }
  /** A message with a document that the platform says has `size` bytes. */
  | { readonly type: "document"; readonly in: "dm"; readonly text: string; readonly size: number }
  /** One act that the platform delivers in several messages, each with one image; `text` on the second. */
  | { readonly type: "album"; readonly in: "dm"; readonly text: string; readonly images: number }
  /** A text as long as the platform allows a person to type, followed by `rest` as a second message. */
  | { readonly type: "long-text"; readonly in: "dm"; readonly rest: string }
  /** Forwards somebody else's message. */
  | { readonly type: "forward"; readonly in: "dm"; readonly text: string; readonly from: string }
  /** The words "bold", "code" and a link labelled "site" to https://example.test/a_b in the platform's own markup. */
  | { readonly type: "markup"; readonly in: "dm" }
  /** Mentions bob (not the bot) in the platform's own form before `text`. */
  | { readonly type: "mention-bob"; readonly in: "group"; readonly text: string }
  /** Changes an earlier message. */
  | { readonly type: "edit"; readonly message: Placed; readonly text: string }
  /** A message by the bot itself, as the platform shows it back. */
  | { readonly type: "own"; readonly in: "group"; readonly text: string }
  /** A message by another bot; `literal` = its text names this bot in the platform's form. */
  | { readonly type: "other-bot"; readonly in: "group"; readonly text: string; readonly literal: boolean }
  /** amy presses the button with `data` under a message of ours. */
  | { readonly type: "button"; readonly message: Placed; readonly data: string }
  | { readonly type: "bot-added"; readonly in: "group" }
  | { readonly type: "bot-removed"; readonly in: "group" }
  /** amy blocks the bot, or allows it again. */
  | { readonly type: "unreachable"; readonly in: "dm" }
  | { readonly type: "reachable"; readonly in: "dm" }
  /** The group gets a new id (the driver says which with `migratedTo`). */
  | { readonly type: "migrated"; readonly in: "group" }
  /** A message whose sender's display name is `name`. */
  | { readonly type: "named"; readonly in: "dm"; readonly name: string; readonly text: string }
  /** Events the library passes on but that lack what the adapter reads (wrong types, missing objects); none may throw. */
  | { readonly type: "malformed" };

export type ActType = Act["type"];

/** Where an act landed, in the ids that the adapter must report. Album and long-text give their first message. */
export interface Placed {
  readonly chatId: string;
  readonly messageId: string;
  readonly accountId: string;
  readonly threadId?: string;
  readonly migratedTo?: string;
}

/**
 * How the next call of `send` (or `edit`, for `on: "edit"`) goes wrong.
 * - `refused-connection`: nobody listens for a moment (the suite repeats the next send until it works again).
 * - `server-error`: a 5xx with the platform's own JSON, nothing stored.
 * - `html-error`: a 5xx with an HTML page, nothing known.
 * - `lost-answer`: the message is stored, then the connection is cut.
 * - `silence`: the message is stored, no answer ever comes (the adapter's own limit must end it).
 */
export type Fault =
  | "refused-connection"
  | "rate-limited"
  | "server-error"
  | "html-error"
  | "lost-answer"
  | "silence"
  | "markup-refused"
  | "reply-gone"
  | "thread-gone"
  | "chat-gone"
  | "chat-migrated"
  | "refused";

/** One message as a chat shows it now. */
export interface Shown {
  readonly chatId: string;
  readonly messageId: string;
  readonly threadId?: string;
  /** The text as it is measured on the wire. */
  readonly text: string;
  /** The platform id replied to. */
  readonly replyTo?: string;
  readonly file?: { readonly name: string; readonly content: string };
  readonly buttons?: readonly string[];
  /** Earlier texts, oldest first. */
  readonly history: readonly string[];
}

/** A running emulator with adapters for it. Timings in the settings are chosen short, so that nothing needs a long wait. */
export interface PlatformDriver {
  /** The adapter under test, not started. */
  readonly adapter: PlatformAdapter;
  /** One more adapter with the same settings against the same emulator: the program after a restart. Not started. */
  again(): PlatformAdapter;
  /** An adapter whose credentials the platform refuses. */
  withBadCredentials(): PlatformAdapter;
  /** The bot's own account id. */
  readonly botId: string;
  /** Tokens and the like that no error and no log line may show. */
  readonly secrets: readonly string[];
  /** Ids of the ready places, as the adapter must report them. */
  readonly places: Readonly<Record<PlaceName, { readonly chatId: string; readonly threadId?: string }>>;
  act(act: Act): Promise<Placed>;
  /** The next `times` (1) sends or edits fail like this; the rest work. */
  fail(
    fault: Fault,
    options?: { readonly times?: number; readonly on?: "send" | "edit"; readonly retryAfterMs?: number },
  ): void | Promise<void>;
  /** What the chats show, in order of arrival: the bot's messages only, removed ones left out. */
  shown(): readonly Shown[];
  /** The number of attempts (requests) the platform has seen for sends. */
  sendAttempts(): number;
  /** Cuts the inbound transport; it works again at once. */
  breakTransport(): Promise<void>;
  /** The inbound transport stays open but nothing comes any more, until it is built again. */
  silenceTransport(): Promise<void>;
  /** Signs of life seen ("typing" calls, reactions), with where. */
  signs(): readonly { readonly chatId: string; readonly threadId?: string }[];
  /** Reactions the bot has now put on a message. */
  reactions(messageId: string): readonly string[];
  /** Commands registered at the platform now. */
  menu(): readonly string[];
  /** Ends the emulator and everything it holds. The suite stops the adapters itself before. */
  stop(): Promise<void>;
}

export interface AdapterDescriptor {
  /** For the test names only. */
  readonly name: string;
  readonly open: () => Promise<PlatformDriver>;
  /** Acts the platform cannot have. */
  readonly withoutActs: Partial<Readonly<Record<ActType, Skip>>>;
  /** What `send` must reject with, for each fault; or why the fault cannot happen. */
  readonly faults: Readonly<Record<Fault, DeliveryCode | Skip>>;
  /** The platform's limit on one message, in its own unit, as the emulator enforces it. */
  readonly limit: { readonly max: number; readonly measure: (text: string) => number };
  /** Cases that make no sense on the platform. */
  readonly without: Partial<Readonly<Record<CaseName, Skip>>>;
}

/** Groups of cases that a platform may lack. */
export type CaseName =
  | "groups"
  | "threads"
  | "credentials"
  | "transport-lost"
  | "transport-silent"
  | "edits"
  | "remove"
  | "reactions"
  | "buttons"
  | "files"
  | "download"
  | "menu"
  | "replies"
  | "redelivery";
