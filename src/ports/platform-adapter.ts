/**
 * What a chat platform must do. An adapter turns platform events into inbound events, renders, sends and reports its
 * health. It knows nothing of agents, memory or sessions. No optional members: differences are values in `capabilities`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Attachment, ChatRef, InboundEvent, OutboundMessage, QuotedMessage, RenderedPart, Route, SentRef } from "../domain/message.js";
import type { Clock, Logger } from "./runtime.js";

export interface Capabilities {
  /** Largest part as the platform counts it, for notices and the preview; `render` keeps every part within it. */
  readonly maxPartLength: number;
  /** Lines for the system prompt: what this platform renders and its limits. Written for the model, a few short sentences. */
  readonly promptNotes: string;
  /** How a repeat of an ambiguous send behaves: `safe` (same delivery id gives the first message), `lookup` (`findSent` can tell) or `blind`. */
  readonly resend: "safe" | "lookup" | "blind";
  readonly reactions: boolean;
  /** False: no preview, and finals are always new messages. */
  readonly edits: boolean;
  readonly buttons: boolean;
  readonly files: boolean;
  /** True: in a thread the bot takes part in, no mention is needed (Telegram topics are like channels: false). */
  readonly followsThreads: boolean;
  /** Least time between preview edits in a DM and in a group, and what it grows to, in milliseconds. */
  readonly previewMs: { readonly dm: number; readonly group: number; readonly max: number };
  /** Sustained sends and edits per chat and per bot that the platform allows. */
  readonly pace: {
    readonly chatPerSecond: number;
    readonly groupPerMinute: number;
    readonly botPerSecond: number;
  };
  /** How long one sign of life is visible, in milliseconds; 0 = a reaction that stays. */
  readonly signOfLifeMs: number;
  /** How a person writes a command there, for help texts: `/{command}`, `/mneme {command}`. */
  readonly commandForm: string;
}

/** What the gateway gives an adapter. */
export interface AdapterIo {
  /**
   * Stores the events, all in one transaction, each key once. Resolves when they are on disk: only then may the
   * adapter acknowledge them to the platform. Rejects only when the process is stopping; the adapter then must not acknowledge.
   */
  deliver(events: readonly InboundEvent[]): Promise<void>;
  /** Chats of this platform that are known and active, newest first, with the last message id seen: for catch-up after a gap. At most `limit`. */
  lastSeen(limit: number): Promise<readonly { readonly chatId: string; readonly kind: ChatRef["kind"]; readonly messageId: string }[]>;
  /** The connection is lost for good or in a state the adapter cannot mend: the supervisor rebuilds it. May be called once per start. */
  failed(error: Error): void;
  readonly http: {
    /** Mounts a raw handler under the gateway's one HTTP server (started on first use). Path starts with "/". Returns the unmount. */
    mount(path: string, handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<() => void>;
  };
}

export interface AdapterHealth {
  readonly state: "stopped" | "starting" | "connected" | "reconnecting" | "failed";
  /** Epoch ms of the last proof of life of the inbound transport (a finished poll, a heartbeat ack). */
  readonly lastAliveAt: number | undefined;
  /** How old `lastAliveAt` may become before the transport counts as dead, in milliseconds. */
  readonly aliveWithinMs: number;
  readonly detail?: string;
}

/** One result of the doctor. */
export interface Finding {
  readonly level: "ok" | "warning" | "error";
  readonly subject: string;
  readonly message: string;
  /** What to do, for warnings and errors. */
  readonly remedy?: string;
}

export interface HistoryMessage extends QuotedMessage {
  readonly at: number;
}

export interface Download {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly mimeType: string | undefined;
  readonly size: number | undefined;
}

export interface CommandMenuEntry {
  readonly name: string;
  readonly description: string;
}

export interface SendOptions {
  /** Equal for every attempt of one part; platforms with a nonce use it. Letters and digits, at most 25. */
  readonly deliveryId: string;
  readonly signal: AbortSignal;
}

export interface PlatformAdapter {
  readonly platform: string;
  readonly capabilities: Capabilities;

  /** Connects and begins to deliver. Resolves when the platform confirmed the connection; rejects with AdapterError. Starting twice is harmless. */
  start(io: AdapterIo): Promise<void>;
  /** Ends intake, removes every listener, timer and socket. Resolves within 5 s; harmless when not started. */
  stop(): Promise<void>;
  /** Model Markdown to parts within the platform's limit as measured on the wire. Pure; empty text gives no part. */
  render(markdown: string): RenderedPart[];
  /** Sends one message. Resolves only when the platform confirmed it; otherwise rejects with DeliveryError whose code says what may be done. Never retries by itself. */
  send(route: Route, message: OutboundMessage, options: SendOptions): Promise<SentRef>;
  /** Replaces a message's content; "not modified" is success. Same errors as `send`. May be repeated. */
  edit(sent: SentRef, message: OutboundMessage, signal: AbortSignal): Promise<void>;
  /** Removes a message of ours; already gone is success. */
  remove(sent: SentRef, signal: AbortSignal): Promise<void>;
  /** Puts a reaction on a message (undefined takes it away). Best effort: rejects with DeliveryError. */
  react(chatId: string, messageId: string, emoji: string | undefined, signal: AbortSignal): Promise<void>;
  /** Answers a button press so that the client stops waiting; too late is success. */
  acknowledge(press: { readonly key: string; readonly route: Route }, text: string | undefined): Promise<void>;
  /** One pulse of "typing" for the route; best effort. */
  signOfLife(route: Route, signal: AbortSignal): Promise<void>;
  /** Looks for a message whose send was ambiguous. `absent` only when it is certain. Where `capabilities.resend` is `blind`: always `unknown`. */
  findSent(route: Route, deliveryId: string, sentAfter: number): Promise<SentRef | "absent" | "unknown">;
  /** Opens a file that came in. Checks size and type before and while reading: rejects with `download.*`. */
  download(ref: Attachment, maxBytes: number, signal: AbortSignal): Promise<Download>;
  /** Messages of the chat or thread before `before`, oldest first, at most `limit`; empty where the platform has no history call. */
  history(chat: ChatRef, threadId: string | undefined, before: string, limit: number): Promise<HistoryMessage[]>;
  /** False when the platform says that nobody can write there now (locked or archived thread): asked before the model is. */
  writable(chat: ChatRef, threadId: string | undefined): Promise<boolean>;
  /** Registers the command menu; called only when it changed. A refusal rejects and never stops the start. */
  setCommands(commands: readonly CommandMenuEntry[]): Promise<void>;
  /** Checks credentials, scopes, intents and modes without starting. */
  check(): Promise<Finding[]>;
  health(): AdapterHealth;
}

/** Builds an adapter from its own branch of the settings; nothing connects before `start`. */
export type AdapterFactory<Settings> = (settings: Settings, deps: AdapterDeps) => PlatformAdapter;

export interface AdapterDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}
