/**
 * Cuts text around what was searched for. Pure; positions are UTF-16 units, and no character is cut in half.
 */
import { shownWords } from "../domain/search-terms.js";

/** Letters at a word's beginning that must agree, so that an excerpt also finds other endings. */
const stemLength = 5;

/** Where the words of a query stand in a text (also with other endings), in order. */
export function matchPositions(text: string, query: string): number[] {
  const lower = text.toLowerCase();
  // Lower case of a few letters is longer than the letter; then positions would not fit.
  const haystack = lower.length === text.length ? lower : text;
  const positions = new Set<number>();
  for (const word of shownWords(query)) {
    const stem = word.slice(0, Math.max(stemLength, Math.ceil(word.length / 2)));
    for (let at = haystack.indexOf(stem); at >= 0; at = haystack.indexOf(stem, at + stem.length)) positions.add(at);
  }
  return [...positions].toSorted((a, b) => a - b);
}

/** At most about `length` units of the text where most of the positions are, one third of it before the first of them; cut ends are marked with "…". */
export function cutAround(text: string, positions: readonly number[], length: number): string {
  if (text.length <= length) return text;
  const room = Math.floor((length * 2) / 3);
  let first = positions[0] ?? 0;
  let most = 0;
  let behind = 0;
  positions.forEach((start, index) => {
    while (behind < positions.length && (positions[behind] ?? 0) < start + room) behind += 1;
    if (behind - index > most) [first, most] = [start, behind - index];
  });
  const from = Math.max(0, Math.min(first - (length - room), text.length - length));
  const piece = text
    .slice(from, from + length)
    .replace(/^[\udc00-\udfff]/u, "")
    .replace(/[\ud800-\udbff]$/u, "");
  return `${from > 0 ? "…" : ""}${piece}${from + length < text.length ? "…" : ""}`;
}

/** One line of a message around what was searched for. */
export function excerptOf(text: string, query: string, length: number): string {
  const line = text.replaceAll(/\s+/gu, " ").trim();
  return cutAround(line, matchPositions(line, query), length);
}
