/**
 * One act of one person: the messages that belong together before a turn sees them. Parts of an album or of a text the
 * client has cut are joined into one message here; only what is known to be incomplete waits.
 */
import type { InboundMessage } from "../domain/message.js";
import type { Speaker } from "../domain/identity.js";
import type { Clock } from "../ports/runtime.js";

/** Where a conversation happens, worked out once per message. */
export interface Place {
  readonly key: string;
  readonly spaceId: string;
  readonly spaceKind: "person" | "group";
  readonly origin: string;
}

export interface Act {
  readonly inboxIds: readonly number[];
  /** Oldest first; the text of one that still waits may be replaced by an edit. */
  messages: InboundMessage[];
  readonly speaker: Speaker;
  readonly place: Place;
  /** The speaker's own words, where the messages hold more than those (a skill loaded by a command). */
  readonly said?: string;
  /** When the last of them was stored, epoch ms. */
  readonly receivedAt: number;
}

interface Held {
  acts: Act[];
  readonly group: string;
  cancel: () => void;
}

/** Longest time that parts are collected, whatever still comes, in milliseconds. */
const maxHoldMs = 10_000;

export class ActJoiner {
  readonly #clock: Clock;
  readonly #release: (act: Act) => void;
  readonly #held = new Map<string, Held>();

  constructor(deps: { readonly clock: Clock; readonly release: (act: Act) => void }) {
    this.#clock = deps.clock;
    this.#release = deps.release;
  }

  /** Passes the act on at once, or keeps it until its other parts are there. */
  add(act: Act): void {
    const who = `${act.place.key}|${act.speaker.accountId}`;
    const partial = act.messages.at(-1)?.partial;
    const held = this.#continued(who, partial?.group);
    if (held === undefined && partial === undefined) {
      this.#release(act);
      return;
    }
    const acts = [...(held?.acts ?? []), act];
    held?.cancel();
    const group = partial?.group ?? held?.group ?? "";
    // The end of a cut text is an ordinary message: it is the last part.
    if (partial === undefined || spanOf(acts) > maxHoldMs) {
      this.#held.delete(who);
      this.#release(merge(acts, group));
      return;
    }
    this.#held.set(who, { acts, group, cancel: this.#clock.after(partial.idleMs, () => this.#flush(who)) });
  }

  /** What was collected so far, when a message with this group belongs to it; otherwise that goes on as it is. */
  #continued(who: string, group: string | undefined): Held | undefined {
    const held = this.#held.get(who);
    if (held === undefined) return undefined;
    if (group === held.group || (held.group === "long-text" && group === undefined)) return held;
    this.#flush(who);
    return undefined;
  }

  /** Everything that is waiting goes on now. */
  flushAll(): void {
    for (const who of this.#held.keys()) this.#flush(who);
  }

  /** Puts an edited text into a message that is still held. */
  replaceText(key: string, text: string): void {
    for (const held of this.#held.values()) for (const act of held.acts) replaceText(act, key, text);
  }

  #flush(who: string): void {
    const held = this.#held.get(who);
    if (held === undefined) return;
    this.#held.delete(who);
    held.cancel();
    this.#release(merge(held.acts, held.group));
  }
}

export function replaceText(act: Act, key: string, text: string): void {
  act.messages = act.messages.map((message) => (message.key === key ? { ...message, text } : message));
}

/** Several acts as one, messages in order. */
export function concat(acts: readonly Act[]): Act {
  const [first] = acts;
  if (first === undefined) throw new RangeError("no act to join");
  const said = acts.some((act) => act.said !== undefined) ? { said: acts.map(wordsOf).join("\n") } : {};
  return {
    ...first,
    ...said,
    inboxIds: acts.flatMap((act) => act.inboxIds),
    messages: acts.flatMap((act) => act.messages),
    receivedAt: acts.at(-1)?.receivedAt ?? first.receivedAt,
  };
}

function wordsOf(act: Act): string {
  return act.said ?? act.messages.map((message) => message.text).join("\n");
}

function merge(acts: readonly Act[], group: string): Act {
  const all = concat(acts);
  const [first] = all.messages;
  if (first === undefined || all.messages.length === 1 || group === "forward") return all;
  const ordered = group === "long-text" ? all.messages : [...all.messages].sort(byMessageId);
  const separator = group === "long-text" ? "" : "\n";
  const text = ordered
    .map((message) => message.text)
    .filter((part) => part !== "")
    .join(separator);
  const { partial: _partial, ...base } = ordered[0] ?? first;
  return { ...all, messages: [{ ...base, text, attachments: ordered.flatMap((message) => message.attachments) }] };
}

function spanOf(acts: readonly Act[]): number {
  return (acts.at(-1)?.receivedAt ?? 0) - (acts[0]?.receivedAt ?? 0);
}

function byMessageId(a: InboundMessage, b: InboundMessage): number {
  return a.messageId.length - b.messageId.length || (a.messageId < b.messageId ? -1 : 1);
}
