/**
 * An answer of too many parts: where its text ends and its file begins. Pure. The cut is made in the Markdown, before rendering, so that
 * both sides are whole; the whole of a runaway answer is never rendered, since that may take seconds.
 */
import type { RenderedPart } from "../domain/message.js";

export interface LongAnswer {
  readonly parts: readonly RenderedPart[];
  /** Markdown of what the parts do not say; undefined when they say all. */
  readonly rest: string | undefined;
}

export interface Limits {
  /** The platform's. */
  readonly render: (markdown: string) => readonly RenderedPart[];
  readonly maxParts: number;
  /** About what one part holds, in UTF-16 units. */
  readonly partLength: number;
}

/** Shares of the room that are tried, since markup grows or shrinks when it is rendered. */
const shares = [0.9, 0.75, 0.6, 0.45, 0.3, 0.15, 0.05, 0.02];
/** Markdown of up to this share of the room may still fit as a whole. */
const mayFit = 1.1;

/** At most `maxParts` parts and the rest; nothing is lost between them but white space. */
export function shorten(markdown: string, { render, maxParts, partLength }: Limits): LongAnswer {
  const room = maxParts * partLength;
  if (markdown.length <= room * mayFit) {
    const all = render(markdown);
    if (all.length <= maxParts) return { parts: all, rest: undefined };
  }
  for (const share of shares) {
    const cut = cutAt(markdown, Math.floor(Math.min(markdown.length, room) * share));
    const parts = render(cut.head);
    if (parts.length <= maxParts) return { parts, rest: cut.rest };
  }
  return { parts: [], rest: markdown };
}

/** Both sides of a cut at or before `target`: between blocks, else lines, else words; a code fence that is cut is closed and opened again. */
function cutAt(markdown: string, target: number): { readonly head: string; readonly rest: string } {
  const least = target / 2;
  const before = markdown.slice(0, target);
  const borders = [blockBorder(before, least), before.lastIndexOf("\n"), before.lastIndexOf(" ")];
  const at = borders.find((border) => border > least) ?? wholeCharacter(markdown, target);
  const head = markdown.slice(0, at);
  const fence = openFence(head);
  if (fence === undefined) return { head, rest: markdown.slice(at).trimStart() };
  return { head: `${head}\n${fence.mark}`, rest: `${fence.opening}\n${markdown.slice(at).replace(/^\n/, "")}` };
}

/** The last empty line outside of code above `least`; -1 when there is none. */
function blockBorder(text: string, least: number): number {
  for (let at = text.lastIndexOf("\n\n"); at > least; at = text.lastIndexOf("\n\n", at - 1)) {
    if (openFence(text.slice(0, at)) === undefined) return at;
  }
  return -1;
}

/** The code fence that is open at the end of a text. */
function openFence(text: string): { readonly opening: string; readonly mark: string } | undefined {
  let open: { readonly opening: string; readonly mark: string } | undefined;
  for (const [line, mark = "", info = ""] of text.matchAll(/^ *(`{3,}|~{3,})(.*)$/gm)) {
    if (open === undefined) open = mark.startsWith("`") && info.includes("`") ? undefined : { opening: line.trimStart(), mark };
    else if (mark.startsWith(open.mark) && info.trim() === "") open = undefined;
  }
  return open;
}

/** Not between the halves of a character. */
function wholeCharacter(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  return before >= 0xd800 && before < 0xdc00 ? at - 1 : at;
}
