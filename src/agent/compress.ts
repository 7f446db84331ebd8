/**
 * What of a long conversation is summarised and what stays. Pure. Cuts fall between turns only, never between a call and its result,
 * and whether it helped is judged by tokens, never by the number of messages (field report SE-14).
 */
import { estimateTokenCount } from "tokenx";
import type { Entry } from "../domain/transcript.js";
import type { StoredEntry } from "../ports/stores.js";

export interface CompressLimits {
  /** The model's window in tokens. */
  readonly windowTokens: number;
  /** Messages that stay at the end, about: whole turns until there are so many. */
  readonly keepMessages: number;
}

export interface CompressPlan {
  /** The first exchange, when it is short enough to stay; stands before the hand-over. */
  readonly head: readonly StoredEntry[];
  /** What the hand-over is made of, an earlier hand-over (id 0) included. Never empty. */
  readonly middle: readonly StoredEntry[];
  /** Whole turns that stay behind the hand-over. */
  readonly tail: readonly StoredEntry[];
  /** Id of the last message in `middle`. */
  readonly upTo: number;
}

/** Shares of the window that head and tail may take. */
const headShare = 0.1;
const tailShare = 0.25;
const imageTokens = 1_000;
const frameTokens = 4;

/** A session keeps about this many messages behind its hand-over. */
export const keptMessages = 20;

/** Tokens of entries, estimated. */
export function tokensOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + entryTokens(entry), 0);
}

function entryTokens(entry: Entry): number {
  const calls = entry.role === "assistant" ? (entry.toolCalls ?? []).map((call) => `${call.name}${call.arguments}`).join("") : "";
  const images = entry.role === "user" ? (entry.images ?? []).length * imageTokens : 0;
  return frameTokens + images + estimateTokenCount(`${entry.content}${calls}`);
}

const sizeOf = (stored: readonly StoredEntry[]): number => tokensOf(stored.map(({ entry }) => entry));

/** Undefined when there is no whole turn to summarise between what stays. */
export function planCompression(history: readonly StoredEntry[], limits: CompressLimits): CompressPlan | undefined {
  const turns = groupTurns(history);
  const [first] = turns;
  const keepsHead = first !== undefined && !isHandover(first) && sizeOf(first) <= limits.windowTokens * headShare;
  const head = keepsHead ? first : [];
  const rest = keepsHead ? turns.slice(1) : turns;
  const from = tailStart(rest, limits);
  const middle = rest.slice(0, from).flat();
  const last = middle.at(-1);
  // A hand-over alone is not worth another one.
  if (last === undefined || last.id === 0) return undefined;
  return { head, middle, tail: rest.slice(from).flat(), upTo: last.id };
}

/** Everything goes into the hand-over: for a conversation that does not fit otherwise. Undefined when there is nothing. */
export function planFresh(history: readonly StoredEntry[]): CompressPlan | undefined {
  const last = history.at(-1);
  return last === undefined || last.id === 0 ? undefined : { head: [], middle: history, tail: [], upTo: last.id };
}

/** What stays beside a hand-over that was prepared earlier. Undefined when it does not fit the history any more. */
export function planFromPrepared(
  history: readonly StoredEntry[],
  prepared: { readonly headIds: readonly number[]; readonly upTo: number },
): CompressPlan | undefined {
  const headIds = new Set(prepared.headIds);
  const head = history.filter(({ id }) => headIds.has(id));
  const middle = history.filter(({ id }) => !headIds.has(id) && id <= prepared.upTo);
  const tail = history.filter(({ id }) => !headIds.has(id) && id > prepared.upTo);
  // The turns behind it were taken back: it would repeat what is gone.
  if (middle.length === 0 || tail.length === 0) return undefined;
  return { head, middle, tail, upTo: prepared.upTo };
}

export interface Shrunk {
  /** Tokens of the next request before and after, as far as can be told. */
  readonly before: number;
  readonly after: number;
  /** It is smaller, and small enough. */
  readonly helps: boolean;
}

/** `load`: tokens of the last real request (system text and tools included). `most`: what the next one may have. */
export function judgeCompression(
  plan: CompressPlan,
  handover: string,
  { load, most }: { readonly load: number; readonly most: number },
): Shrunk {
  const history = sizeOf(plan.head) + sizeOf(plan.middle) + sizeOf(plan.tail);
  const then = sizeOf(plan.head) + sizeOf(plan.tail) + entryTokens({ role: "user", content: handover });
  const before = Math.max(load, history);
  const after = before - history + then;
  return { before, after, helps: after < before && after <= most };
}

/** Whole turns, oldest first. The hand-over is a group of its own. */
function groupTurns(history: readonly StoredEntry[]): StoredEntry[][] {
  const groups: StoredEntry[][] = [];
  let before: string | undefined;
  for (const stored of history) {
    if (stored.turnId === before && stored.id !== 0) groups.at(-1)?.push(stored);
    else groups.push([stored]);
    before = stored.turnId;
  }
  return groups;
}

function isHandover(group: readonly StoredEntry[]): boolean {
  return group[0]?.id === 0;
}

/** Index of the first turn of the tail: turns are added from the end while there are too few messages and room for them. */
function tailStart(turns: readonly (readonly StoredEntry[])[], { windowTokens, keepMessages }: CompressLimits): number {
  let from = turns.length;
  let messages = 0;
  let tokens = 0;
  while (from > 0 && messages < keepMessages) {
    const turn = turns[from - 1] ?? [];
    if (isHandover(turn)) break;
    tokens += sizeOf(turn);
    if (tokens > windowTokens * tailShare) break;
    messages += turn.length;
    from -= 1;
  }
  return from;
}
