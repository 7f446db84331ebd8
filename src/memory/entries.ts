/**
 * Pure rules of USER.md and MEMORY.md: parse, add, replace, remove, limits. People edit these files by hand, so a
 * change touches the matched entry alone: every other byte of the file stays as it was.
 */
import { GatewayError } from "../domain/errors.js";
import { normalForm, tokenOverlap } from "./likeness.js";

/** Stands between two entries, alone on its line. */
export const delimiter = "\n§\n";

const delimiterLine = /(?:\r?\n)?^\uFEFF?[ \t]*§[ \t]*$(?:\r?\n)?/mu;

/** A file as it is on disk: `pieces[i]` and `pieces[i + 1]` are parted by `delimiters[i]`. Joined again they give the same bytes. */
interface Pieces {
  readonly pieces: readonly string[];
  readonly delimiters: readonly string[];
}

export type Change =
  /** `allowNear` skips the check for near duplicates: for texts that were accepted before. */
  | { readonly action: "add"; readonly content: string; readonly allowNear?: boolean }
  | { readonly action: "replace"; readonly oldText: string; readonly content: string; readonly allowNear?: boolean }
  | { readonly action: "remove"; readonly oldText: string };

/** Why a change is not made. The text is then exactly as before. */
export type Refusal =
  | { readonly kind: "empty" }
  | { readonly kind: "delimiter" }
  | { readonly kind: "no-match" }
  /** Beginnings of the different entries that hold the text. */
  | { readonly kind: "ambiguous"; readonly beginnings: readonly string[] }
  | { readonly kind: "near-duplicate"; readonly existing: string }
  /** `size`: the file's now; `entrySize`: the new entry's; `needed`: what the file would have. All in code points. */
  | { readonly kind: "over-limit"; readonly size: number; readonly entrySize: number; readonly needed: number; readonly limit: number };

export type Applied =
  | { readonly ok: true; readonly text: string; readonly changed: boolean; readonly before?: string; readonly after?: string }
  | { readonly ok: false; readonly refusal: Refusal };

/** The entries of a file's text, trimmed, in order; empty ones left out. */
export function parseEntries(text: string): string[] {
  return split(text)
    .pieces.map((piece) => piece.trim())
    .filter((entry) => entry !== "");
}

/** Size of a store in Unicode code points, delimiters counted, white space around entries not. */
export function sizeOf(entries: readonly string[]): number {
  const between = Math.max(0, entries.length - 1) * delimiter.length;
  return entries.reduce((sum, entry) => sum + codePoints(entry), between);
}

export function codePoints(text: string): number {
  let count = 0;
  for (const character of text) count += character === "" ? 0 : 1;
  return count;
}

/** `72% — 990/1,375 chars`: the fixed form in the prompt and in tool results. */
export function usageOf(entries: readonly string[], limit: number): string {
  const size = sizeOf(entries);
  return `${Math.round((size / limit) * 100)}% — ${grouped(size)}/${grouped(limit)} chars`;
}

/** 1375 → `1,375`, whatever the host's locale. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/gu, ",");
}

/**
 * Applies one change to a file's text. Pure. An exact duplicate (same normal form) is success without a change. A file
 * over `limit` (code points) may only be made smaller. Repeating a change that was made is harmless.
 */
export function applyChange(text: string, change: Change, limit: number): Applied {
  if (change.action === "remove") return remove(text, change.oldText);
  const content = change.content.trim();
  if (content === "") return refuse({ kind: "empty" });
  if (delimiterLine.test(content)) return refuse({ kind: "delimiter" });
  return change.action === "add"
    ? add(text, content, limit, change.allowNear === true)
    : replace(text, change.oldText, content, limit, change.allowNear === true);
}

/** The entries that a piece of text names: as it stands, or else without regard to case and white space. Identical ones once. */
export function matching(text: string, oldText: string): string[] {
  const sought = oldText.trim();
  if (sought === "") return [];
  const entries = parseEntries(text);
  const exact = entries.filter((entry) => entry.includes(sought));
  const loose = normalForm(sought);
  const found = exact.length > 0 || loose === "" ? exact : entries.filter((entry) => normalForm(entry).includes(loose));
  const whole = found.filter((entry) => entry === sought);
  return [...new Set(whole.length > 0 ? whole : found)];
}

function add(text: string, content: string, limit: number, allowNear: boolean): Applied {
  const duplicate = duplicateOf(content, parseEntries(text), allowNear);
  if (duplicate?.exact === true) return { ok: true, text, changed: false };
  if (duplicate !== undefined) return refuse({ kind: "near-duplicate", existing: duplicate.entry });
  return limited(text, append(text, content), content, limit, { after: content });
}

function replace(text: string, oldText: string, content: string, limit: number, allowNear: boolean): Applied {
  const found = matching(text, oldText);
  const entries = parseEntries(text);
  const [before] = found;
  if (before === undefined) {
    return duplicateOf(content, entries, true) === undefined ? refuse({ kind: "no-match" }) : { ok: true, text, changed: false };
  }
  if (found.length > 1) return refuse({ kind: "ambiguous", beginnings: found.map(beginning) });
  if (before === content) return { ok: true, text, changed: false };
  const others = entries.filter((entry) => entry !== before);
  const duplicate = duplicateOf(content, others, allowNear);
  if (duplicate?.exact === true) return checked(text, without(text, before), { before });
  if (duplicate !== undefined) return refuse({ kind: "near-duplicate", existing: duplicate.entry });
  return limited(text, exchange(text, before, content), content, limit, { before, after: content });
}

function remove(text: string, oldText: string): Applied {
  if (oldText.trim() === "") return refuse({ kind: "empty" });
  const found = matching(text, oldText);
  const [before] = found;
  if (before === undefined) return refuse({ kind: "no-match" });
  if (found.length > 1) return refuse({ kind: "ambiguous", beginnings: found.map(beginning) });
  return checked(text, without(text, before), { before });
}

interface Difference {
  readonly before?: string;
  readonly after?: string;
}

function limited(text: string, next: string, content: string, limit: number, difference: Difference): Applied {
  const size = sizeOf(parseEntries(text));
  const needed = sizeOf(parseEntries(next));
  if (needed > limit && needed >= size) {
    return refuse({ kind: "over-limit", size, entrySize: codePoints(content), needed, limit });
  }
  return checked(text, next, difference);
}

/** Refuses to hand out a text that lost or altered any other entry: the last guard before the disk. */
function checked(text: string, next: string, { before, after }: Difference): Applied {
  const kept = parseEntries(text).filter((entry) => entry !== before);
  const now = parseEntries(next);
  const others = after === undefined ? now : now.filter((entry) => entry !== after);
  const keptOthers = after === undefined ? kept : kept.filter((entry) => entry !== after);
  const same = others.length === keptOthers.length && others.every((entry, index) => entry === keptOthers[index]);
  if (!same || (after !== undefined && !now.includes(after))) {
    throw new GatewayError("internal", "A memory change would have altered other entries; nothing was written.");
  }
  return {
    ok: true,
    text: next,
    changed: next !== text,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  };
}

function refuse(refusal: Refusal): Applied {
  return { ok: false, refusal };
}

function duplicateOf(
  content: string,
  entries: readonly string[],
  exactOnly: boolean,
): { readonly entry: string; readonly exact: boolean } | undefined {
  const form = normalForm(content);
  const exact = entries.find((entry) => normalForm(entry) === form);
  if (exact !== undefined) return { entry: exact, exact: true };
  const near = exactOnly ? undefined : entries.find((entry) => tokenOverlap(entry, content) >= 0.85);
  return near === undefined ? undefined : { entry: near, exact: false };
}

/** The first 60 characters of an entry on one line, to tell entries apart. */
export function beginning(entry: string): string {
  const line = entry.replaceAll(/\s+/gu, " ");
  return codePoints(line) <= 60 ? line : `${[...line].slice(0, 60).join("")}…`;
}

function split(text: string): Pieces {
  const pieces: string[] = [];
  const delimiters: string[] = [];
  let kept = 0;
  for (const found of text.matchAll(new RegExp(delimiterLine, "gmu"))) {
    pieces.push(text.slice(kept, found.index));
    delimiters.push(found[0]);
    kept = found.index + found[0].length;
  }
  return { pieces: [...pieces, text.slice(kept)], delimiters };
}

/** Adds at the end; the file's closing white space stays at its end. */
function append(text: string, content: string): string {
  if (parseEntries(text).length === 0) return content;
  const body = text.trimEnd();
  if (/(?:^|\n)[ \t]*§$/u.test(body)) return `${body}\n${content}`;
  return `${body}${delimiter}${content}${text.slice(body.length)}`;
}

/** Puts `content` in place of the first piece equal to `before`; further identical ones go. */
function exchange(text: string, before: string, content: string): string {
  const { pieces, delimiters } = split(text);
  const first = pieces.findIndex((piece) => piece.trim() === before);
  const piece = pieces[first] ?? "";
  const start = piece.indexOf(before);
  const exchanged = piece.slice(0, start) + content + piece.slice(start + before.length);
  return join(
    { pieces: pieces.map((old, index) => (index === first ? exchanged : old)), delimiters },
    (old, index) => index !== first && old.trim() === before,
  );
}

function without(text: string, before: string): string {
  return join(split(text), (piece) => piece.trim() === before);
}

/** Joins the pieces but for those to drop, each of which takes one neighbouring delimiter with it. */
function join({ pieces, delimiters }: Pieces, drop: (piece: string, index: number) => boolean): string {
  let text = "";
  let started = false;
  for (const [index, piece] of pieces.entries()) {
    if (drop(piece, index)) continue;
    text += started ? (delimiters[index - 1] ?? delimiter) + piece : piece;
    started = true;
  }
  return text;
}
