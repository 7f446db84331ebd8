/**
 * The one send budget: sends and edits of a chat and of a bot draw on the same buckets; previews may use at most half
 * and never what a final needs. In memory only: it shapes traffic, it decides nothing that must survive.
 */
import type { Capabilities } from "../ports/platform-adapter.js";
import { isGroup } from "../domain/identity.js";
import type { ChatKind } from "../domain/message.js";

interface Bucket {
  tokens: number;
  at: number;
  /** The platform said to wait until then. */
  blockedUntil: number;
}

/** Seconds of the sustained bot rate that may go out at once. */
const botBurstSeconds = 4;
/** Sends to one chat that may go out at once. */
const chatBurst = 10;
const maxChats = 10_000;

export class Pacing {
  readonly #pace: Capabilities["pace"];
  readonly #now: () => number;
  readonly #bot: Bucket;
  /** Insertion order is age: the oldest chats are dropped first. */
  readonly #chats = new Map<string, Bucket>();

  constructor(deps: { readonly pace: Capabilities["pace"]; readonly now: () => number }) {
    this.#pace = deps.pace;
    this.#now = deps.now;
    this.#bot = { tokens: deps.pace.botPerSecond * botBurstSeconds, at: deps.now(), blockedUntil: 0 };
  }

  /** Takes one call from both budgets. Returns 0 when it may go now, otherwise the milliseconds to wait; then nothing was taken. */
  take(chatId: string, kind: ChatKind, use: "final" | "preview"): number {
    const now = this.#now();
    const chat = this.#chat(chatId, kind, now);
    const group = isGroup(kind);
    const chatRate = group ? this.#pace.groupPerMinute / 60_000 : this.#pace.chatPerSecond / 1_000;
    const chatSize = group ? Math.min(this.#pace.groupPerMinute, chatBurst * 2) : chatBurst;
    const botRate = this.#pace.botPerSecond / 1_000;
    const botSize = this.#pace.botPerSecond * botBurstSeconds;
    refill(chat, chatRate, chatSize, now);
    refill(this.#bot, botRate, botSize, now);
    const chatFloor = use === "preview" ? chatSize / 2 : 0;
    const botFloor = use === "preview" ? botSize / 2 : 0;
    const wait = Math.max(
      chat.blockedUntil - now,
      this.#bot.blockedUntil - now,
      missing(chat, chatFloor, chatRate),
      missing(this.#bot, botFloor, botRate),
    );
    if (wait > 0) return Math.ceil(wait);
    chat.tokens -= 1;
    this.#bot.tokens -= 1;
    return 0;
  }

  /** The platform asked this chat to wait. */
  block(chatId: string, kind: ChatKind, ms: number): void {
    const now = this.#now();
    const chat = this.#chat(chatId, kind, now);
    chat.blockedUntil = Math.max(chat.blockedUntil, now + ms);
  }

  #chat(chatId: string, kind: ChatKind, now: number): Bucket {
    const known = this.#chats.get(chatId);
    if (known !== undefined) {
      this.#chats.delete(chatId);
      this.#chats.set(chatId, known);
      return known;
    }
    const size = isGroup(kind) ? Math.min(this.#pace.groupPerMinute, chatBurst * 2) : chatBurst;
    const bucket: Bucket = { tokens: size, at: now, blockedUntil: 0 };
    this.#chats.set(chatId, bucket);
    if (this.#chats.size > maxChats) {
      const oldest = this.#chats.keys().next();
      if (oldest.done !== true) this.#chats.delete(oldest.value);
    }
    return bucket;
  }
}

function refill(bucket: Bucket, rate: number, size: number, now: number): void {
  bucket.tokens = Math.min(size, bucket.tokens + (now - bucket.at) * rate);
  bucket.at = now;
}

function missing(bucket: Bucket, floor: number, rate: number): number {
  const short = 1 + floor - bucket.tokens;
  return short <= 0 ? 0 : short / rate;
}
