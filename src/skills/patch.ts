/**
 * Exact find-and-replace in a text. Pure. Nothing is ever replaced by likeness: lines that nearly match are only shown,
 * so that the caller can copy the right ones.
 */

export type Patched =
  | { readonly ok: true; readonly text: string; readonly count: number }
  | { readonly ok: false; readonly error: string; readonly near: readonly string[] };

const shownNear = 3;
const leastLikeness = 0.45;
const comparedLines = 6;
const shownPlaces = 8;

/**
 * Replaces `oldText`, which must occur exactly once unless `all`. In a file with CRLF line ends, a piece given with plain line feeds is
 * found too, and what replaces it gets CRLF.
 */
export function patchText(text: string, oldText: string, newText: string, all: boolean): Patched {
  if (oldText === "") return { ok: false, error: "old_string is empty.", near: [] };
  const [find, put] = lineEndsLike(text, oldText, newText);
  if (find === put) return { ok: false, error: "old_string and new_string are the same.", near: [] };
  const parts = text.split(find);
  const count = parts.length - 1;
  if (count === 0) return { ok: false, error: "old_string does not occur in the file.", near: nearMatches(text, oldText) };
  if (count > 1 && !all) return { ok: false, error: `old_string occurs ${count} times (${places(parts)}). ${onceHint}`, near: [] };
  return { ok: true, text: parts.join(put), count };
}

const onceHint = "Give more of the text around the one you mean, or set replace_all.";

function lineEndsLike(text: string, oldText: string, newText: string): readonly [string, string] {
  if (text.includes(oldText) || !text.includes("\r\n") || oldText.includes("\r")) return [oldText, newText];
  return [oldText.replaceAll("\n", "\r\n"), newText.replaceAll(/\r?\n/gu, "\r\n")];
}

function places(parts: readonly string[]): string {
  let line = 1;
  const lines = parts.slice(0, -1).map((part) => (line += part.split("\n").length - 1));
  return `lines ${lines.slice(0, shownPlaces).join(", ")}${lines.length > shownPlaces ? ", …" : ""}`;
}

/** The lines most like the ones looked for, best first, each with its line number. */
function nearMatches(text: string, wanted: string): string[] {
  const lines = text.split(/\r?\n/u);
  const looked = trimmedLines(wanted).slice(0, comparedLines);
  if (looked.length === 0) return [];
  const wantedPairs = looked.map(pairsOf);
  const pairs = lines.map(pairsOf);
  const scored: { readonly at: number; readonly score: number }[] = [];
  for (let at = 0; at + looked.length <= lines.length; at += 1) {
    const score = wantedPairs.reduce((sum, pair, offset) => sum + likeness(pair, pairs[at + offset] ?? new Set()), 0) / looked.length;
    if (score >= leastLikeness) scored.push({ at, score });
  }
  const best: number[] = [];
  for (const { at } of scored.toSorted((a, b) => b.score - a.score)) {
    if (best.length < shownNear && best.every((other) => Math.abs(other - at) >= looked.length)) best.push(at);
  }
  return best.map(
    (at) =>
      `line ${at + 1}: ${lines
        .slice(at, at + looked.length)
        .join("\n")
        .slice(0, 400)}`,
  );
}

function trimmedLines(text: string): string[] {
  const lines = text.split(/\r?\n/u);
  const first = lines.findIndex((line) => line.trim() !== "");
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex((line) => line.trim() !== "") + 1);
}

/** Pairs of neighbouring characters, white space and case apart: cheap, and fair to any script. */
function pairsOf(line: string): Set<string> {
  const plain = ` ${line.toLowerCase().replaceAll(/\s+/gu, " ").trim().slice(0, 300)} `;
  const pairs = new Set<string>();
  for (let at = 0; at + 2 <= plain.length; at += 1) pairs.add(plain.slice(at, at + 2));
  return pairs;
}

function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size <= 1 && b.size <= 1) return 1;
  let shared = 0;
  for (const pair of a) if (b.has(pair)) shared += 1;
  return (2 * shared) / (a.size + b.size);
}
