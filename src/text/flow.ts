/**
 * One flat text with spans: what a reader sees, before a platform marks it up. Splitting cuts this text and each platform
 * renders a slice of it, so nothing can get lost between the two. Offsets are UTF-16 units, always of the flow itself.
 */
import type { Mark } from "./markdown.js";

export type FlowKind = Mark | "link" | "heading" | "code-block" | "quote" | "rule" | "indent" | "marker";

export interface FlowSpan {
  readonly kind: FlowKind;
  readonly start: number;
  readonly end: number;
  /** Address of a link. */
  readonly url?: string;
  /** A link whose text is its address. */
  readonly auto?: boolean;
  /** Heading level 1 to 6. */
  readonly level?: number;
  /** Of a code block; empty when there is none. */
  readonly language?: string;
  /** The span goes on in the next part, or came from the one before. */
  readonly cutEnd?: boolean;
  readonly cutStart?: boolean;
}

export interface Flow {
  readonly text: string;
  /** By start, the longer first. */
  readonly spans: readonly FlowSpan[];
  /** Ends of blocks: the best places to cut. Ascending. */
  readonly borders: readonly number[];
}

/** The part of a flow from `start` to `end` (exclusive), spans clipped and marked where they were cut. */
export function sliceFlow(flow: Flow, start: number, end: number): Flow {
  const spans: FlowSpan[] = [];
  for (const span of flow.spans) {
    if (span.start >= end) break;
    if (span.end <= start) continue;
    const cut = {
      ...(span.start < start || span.cutStart ? { cutStart: true } : {}),
      ...(span.end > end || span.cutEnd ? { cutEnd: true } : {}),
    };
    spans.push({ ...span, ...cut, start: Math.max(span.start, start) - start, end: Math.min(span.end, end) - start });
  }
  const borders = flow.borders.filter((border) => border > start && border < end).map((border) => border - start);
  return { text: flow.text.slice(start, end), spans, borders };
}

/** True when position `at` lies strictly inside a span of one of the kinds, or (with `touching`) at its start. */
export function insideKind(flow: Flow, at: number, kinds: readonly FlowKind[], touching = false): boolean {
  for (const span of flow.spans) {
    if (span.start > at) return false;
    if (kinds.includes(span.kind) && (touching ? span.start <= at : span.start < at) && at < span.end) return true;
  }
  return false;
}

export interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** Inserts texts (ascending by position); a span does not grow by what stands at its ends. */
export function insertInto(flow: Flow, insertions: readonly Insertion[]): Flow {
  if (insertions.length === 0) return flow;
  let text = "";
  let last = 0;
  const ends: number[] = [];
  let total = 0;
  for (const { at, text: added } of insertions) {
    text += flow.text.slice(last, at) + added;
    last = at;
    total += added.length;
    ends.push(total);
  }
  text += flow.text.slice(last);
  /** Length inserted before `position`; `inclusive` counts what stands exactly there. */
  const shift = (position: number, inclusive: boolean): number => {
    let low = 0;
    let high = insertions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const at = insertions[middle]?.at ?? 0;
      if (at < position || (inclusive && at === position)) low = middle + 1;
      else high = middle;
    }
    return position + (ends[low - 1] ?? 0);
  };
  return {
    text,
    spans: flow.spans.map((span) => ({ ...span, start: shift(span.start, true), end: shift(span.end, false) })),
    borders: flow.borders.map((border) => shift(border, false)),
  };
}
