/**
 * An answer of too many parts: where its text ends and its file begins. Pure. The cut is made in the Markdown, before rendering, so that
 * both sides are whole: between blocks where there is one, else between lines, and a code fence that is cut is closed and opened again.
 */
import type { RenderedPart } from "../domain/message.js";

export interface LongAnswer {
  readonly parts: readonly RenderedPart[];
  /** Markdown of what the parts do not say; undefined when they say all. */
  readonly rest: string | undefined;
}

/** How many lines before the last possible one a border between blocks may lie. */
const lookBack = 40;

/** `render`: the platform's. At most `maxParts` parts; a single line that fills more of them is cut inside. */
export function shorten(markdown: string, render: (markdown: string) => readonly RenderedPart[], maxParts: number): LongAnswer {
  const all = render(markdown);
  if (all.length <= maxParts) return { parts: all, rest: undefined };
  const lines = markdown.split("\n");
  const fits = (count: number): boolean => render(headOf(lines, count)).length <= maxParts;
  const most = largest(lines.length, fits);
  const cut = most === 0 ? 0 : borderBefore(lines, most, fits);
  if (cut > 0) return { parts: render(headOf(lines, cut)), rest: tailOf(lines, cut) };
  const units = largest(markdown.length, (count) => render(markdown.slice(0, count)).length <= maxParts);
  const at = wordBorder(markdown, units);
  return { parts: render(markdown.slice(0, at)), rest: markdown.slice(at).trimStart() };
}

/** The largest count from 0 to `limit` that holds, when every smaller one does. */
function largest(limit: number, holds: (count: number) => boolean): number {
  let low = 0;
  let high = limit;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The nearest border between blocks at or before a line, or that line itself. */
function borderBefore(lines: readonly string[], most: number, fits: (count: number) => boolean): number {
  for (let count = most; count > Math.max(0, most - lookBack); count -= 1) {
    const isBorder = lines[count - 1]?.trim() === "" && openFence(lines, count) === undefined;
    if (isBorder && lines.slice(0, count).some((line) => line.trim() !== "") && fits(count)) return count;
  }
  return most;
}

function headOf(lines: readonly string[], count: number): string {
  const fence = openFence(lines, count);
  return [...lines.slice(0, count), ...(fence === undefined ? [] : [fence.mark])].join("\n");
}

function tailOf(lines: readonly string[], count: number): string {
  const fence = openFence(lines, count);
  const rest = lines.slice(count);
  return fence === undefined ? rest.join("\n").replace(/^\n+/, "") : [fence.opening, ...rest].join("\n");
}

/** The code fence that is open after so many lines. */
function openFence(lines: readonly string[], count: number): { readonly opening: string; readonly mark: string } | undefined {
  let open: { readonly opening: string; readonly mark: string } | undefined;
  for (const line of lines.slice(0, count)) {
    const found = /^\s*(`{3,}|~{3,})(.*)$/.exec(line);
    const mark = found?.[1];
    if (mark === undefined) continue;
    const rest = found?.[2] ?? "";
    if (open === undefined) open = mark.startsWith("`") && rest.includes("`") ? undefined : { opening: line.trimStart(), mark };
    else if (mark.startsWith(open.mark) && rest.trim() === "") open = undefined;
  }
  return open;
}

/** A space before the cut when one is near, and never a half of a character. */
function wordBorder(text: string, at: number): number {
  const space = text.lastIndexOf(" ", at);
  if (space > at - 200 && space > 0) return space;
  const before = text.charCodeAt(at - 1);
  return before >= 0xd800 && before < 0xdc00 ? at - 1 : at;
}
