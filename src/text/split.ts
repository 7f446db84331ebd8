/**
 * Cuts a flow into parts whose RENDERED form is within a limit, measured by the caller in the platform's own unit.
 * It must be the only splitter: one that sees finished markup cannot keep fences and marks balanced.
 */
import { insideKind, sliceFlow, type Flow, type FlowKind } from "./flow.js";
import { isVisible } from "./markdown.js";

export interface SplitOptions {
  /** Largest rendered part, in the unit of `measure`. */
  readonly limit: number;
  /** Size of the part as it goes on the wire. Never smaller than the text's own length in UTF-16 units, or cuts come early. */
  readonly measure: (part: Flow) => number;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const words = new Intl.Segmenter(undefined, { granularity: "word" });

/** Kinds in which a cut is a last resort. */
const whole: readonly FlowKind[] = ["code", "code-block", "link", "marker"];

/**
 * Parts in order, none empty, each within the limit. Cuts prefer the end of a block, then of a line, a sentence, a word, and
 * never fall inside a grapheme unless that alone is over the limit. A cut code block goes on in the next part, between lines
 * where a line fits. Only white space at the cuts is dropped.
 */
export function splitFlow(flow: Flow, { limit, measure }: SplitOptions): Flow[] {
  const parts: Flow[] = [];
  const keep = (part: Flow): void => {
    if (isVisible(part.text)) parts.push(part);
  };
  let rest = sliceFlow(flow, leadingBlank(flow), flow.text.length);
  while (isVisible(rest.text)) {
    if (rest.text.length <= limit) {
      const last = trimEnd(rest);
      if (measure(last) <= limit) {
        keep(last);
        break;
      }
    }
    const fits = (end: number): boolean => end > 0 && measure(trimEnd(sliceFlow(rest, 0, end))) <= limit;
    let end = chooseCut(rest, longestFit(Math.min(rest.text.length, limit), fits), fits);
    if (end === 0) {
      // Not even one character fits with its markup: go on without markup rather than not at all.
      rest = { text: rest.text, spans: [], borders: [] };
      end = chooseCut(rest, longestFit(Math.min(rest.text.length, limit), fits), fits) || codePointEnd(rest.text, 1);
    }
    keep(trimEnd(sliceFlow(rest, 0, end)));
    rest = sliceFlow(rest, skipBlank(rest, end), rest.text.length);
  }
  return parts;
}

/** Largest end that fits; sizes grow with the end but for a few characters of closing marks. */
function longestFit(most: number, fits: (end: number) => boolean): number {
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function chooseCut(flow: Flow, max: number, fits: (end: number) => boolean): number {
  if (max === 0) return 0;
  const half = Math.floor(max / 2);
  const good = (end: number): boolean => isBorder(flow.text, end) && isBorder(flow.text, skipBlank(flow, end)) && fits(end);
  const outside = (end: number): boolean => !insideKind(flow, end, whole) && good(end);
  const scale: readonly (readonly [Iterable<number>, (end: number) => boolean])[] = [
    [downwards(flow.borders, half, max), good],
    [lines(flow, half, max), good],
    [sentences(flow.text, half, max), outside],
    [spaces(flow.text, half, max), outside],
    [wordStart(flow.text, half, max), outside],
    [lines(flow, 1, half), good],
    [spaces(flow.text, 1, half), outside],
  ];
  for (const [candidates, accept] of scale) {
    for (const end of candidates) if (accept(end)) return end;
  }
  return hardCut(flow.text, max, fits);
}

function* downwards(positions: readonly number[], least: number, most: number): Generator<number> {
  for (let index = positions.length - 1; index >= 0; index--) {
    const at = positions[index] ?? 0;
    if (at < least) return;
    if (at <= most) yield at;
  }
}

/** Ends of lines, last first; not those that would leave a heading, or a bare list marker, at the end of a part. */
function* lines(flow: Flow, least: number, most: number): Generator<number> {
  const headings = new Set(flow.spans.filter((span) => span.kind === "heading" && !span.cutEnd).map((span) => span.end));
  for (let at = flow.text.lastIndexOf("\n", most); at >= Math.max(least, 1); at = flow.text.lastIndexOf("\n", at - 1)) {
    if (!headings.has(at) && flow.text[at - 1] !== "\n") yield at;
    if (at === 0) return;
  }
}

function* sentences(text: string, least: number, most: number): Generator<number> {
  const found = [...text.slice(least, most + 1).matchAll(/[.!?…]+["'”’)\]]*(?=\s)|[。！？｡]+[」』”’）"]*/g)];
  yield* downwards(
    found.map((match) => least + match.index + match[0].length),
    Math.max(least, 1),
    most,
  );
}

function* spaces(text: string, least: number, most: number): Generator<number> {
  for (let at = most; at >= Math.max(least, 1); at--) {
    if (/\s/.test(text[at] ?? "") && /\S/.test(text[at - 1] ?? "")) yield at;
  }
}

/** Start of the word at the limit: where scripts write no spaces, only a dictionary knows. */
function* wordStart(text: string, least: number, most: number): Generator<number> {
  const from = Math.max(0, most - 400);
  const word = words.segment(text.slice(from, most + 100)).containing(most - from);
  const at = from + (word?.index ?? 0);
  if (at > from && at >= Math.max(least, 1)) yield at;
}

function hardCut(text: string, max: number, fits: (end: number) => boolean): number {
  const segments = graphemes.segment(text.slice(0, max + 64));
  for (let end = max, tries = 0; end > 0 && tries < 64; tries++) {
    const border = end >= text.length ? text.length : (segments.containing(end)?.index ?? 0);
    if (border > 0 && fits(border)) return border;
    end = border === end ? end - 1 : border;
  }
  for (let end = codePointEnd(text, max); end > 0; end = codePointEnd(text, end - 1)) if (fits(end)) return end;
  return 0;
}

function isBorder(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return true;
  // Ordinary characters on both sides cannot form one grapheme: spares the segmenter for most candidates.
  if (/^[\n\x20-\x7e]{2}$/.test(text.slice(at - 1, at + 1))) return true;
  // No grapheme reaches over an ordinary character: from there on the segmenter sees what it needs.
  let from = at - 1;
  while (from > 0 && !/[\n\x20-\x7e]/.test(text[from] ?? "")) from--;
  return graphemes.segment(text.slice(from, at + 64)).containing(at - from)?.index === at - from;
}

/** Nearest end at or before `at` that parts no surrogate pair, at least one code point. */
function codePointEnd(text: string, at: number): number {
  if (at <= 0) return 0;
  const high = text.charCodeAt(at - 1);
  if (high < 0xd800 || high > 0xdbff) return at;
  return at > 1 ? at - 1 : Math.min(2, text.length);
}

/** Where the next part begins after a cut: in code one line break goes, else spaces and empty lines, but not an indent. */
function skipBlank(flow: Flow, at: number): number {
  if (insideKind(flow, at, ["code-block"])) return flow.text[at] === "\n" ? at + 1 : at;
  const blank = /^[ \t]*(?:\n(?:[ \t]*\n)*)?/.exec(flow.text.slice(at, at + 1000))?.[0].length ?? 0;
  const code = flow.spans.find((span) => span.kind === "code-block" && span.start >= at);
  return Math.min(at + blank, code?.start ?? flow.text.length);
}

function leadingBlank(flow: Flow): number {
  return skipBlank(flow, 0);
}

/** Drops white space at the end, unless it belongs to code. */
function trimEnd(flow: Flow): Flow {
  const end = flow.text.trimEnd().length;
  if (end === flow.text.length || insideKind(flow, flow.text.length - 1, ["code-block", "code"], true)) return flow;
  return sliceFlow(flow, 0, Math.max(end, flow.spans.findLast((span) => span.kind === "code-block")?.end ?? 0));
}
