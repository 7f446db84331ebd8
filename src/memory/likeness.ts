/**
 * When two texts say the same: the normal form for duplicates, token overlap for near ones, and word triples for the
 * question where a text came from. Chinese, Japanese and Korean characters count as one token each.
 */

const token =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[\p{L}\p{N}\p{M}])+/gu;
const cjk = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u;

/** Equal normal forms are one entry: Unicode NFC, case, white space and final punctuation make no difference. */
export function normalForm(text: string): string {
  return text
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/\s+/gu, " ")
    .trim()
    .replace(/[\s.!?,;:。！？，；：…]+$/u, "");
}

/** Normal form for quoting: also without regard to quotation marks and punctuation's width. */
export function quoteForm(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[‘’‛`´]/gu, "'")
    .replaceAll(/[“”„‟«»]/gu, '"')
    .replaceAll(/\s+/gu, " ")
    .trim();
}

export function tokensOf(text: string): string[] {
  return text.normalize("NFKC").toLowerCase().match(token) ?? [];
}

/** Shared distinct tokens over the larger of the two sets: 1 for the same words in any order, 0 for none in common. */
export function tokenOverlap(a: string, b: string): number {
  const first = new Set(tokensOf(a));
  const second = new Set(tokensOf(b));
  const larger = Math.max(first.size, second.size);
  if (larger === 0) return 0;
  return [...first].filter((word) => second.has(word)).length / larger;
}

const functionWords = new Set(
  "a an the and or of to in on at for with by from as is are was were be it its this that he she they his her their i you we my your our not no does do has have user prefers".split(
    " ",
  ),
);

/**
 * The runs of three words in a text (five characters where it has no spaces), runs of mere function words left out.
 * A text shorter than that is one run.
 */
export function triples(text: string): Set<string> {
  const tokens = tokensOf(text);
  const runs = new Set<string>();
  for (let start = 0; start < tokens.length; start += 1) {
    const short = tokens.slice(start, start + 3);
    if (short.length < 3 && start > 0) break;
    const run = short.length === 3 && short.every((word) => cjk.test(word)) ? tokens.slice(start, start + 5) : short;
    if (!run.every((word) => functionWords.has(word))) runs.add(run.join(" "));
  }
  return runs;
}

/** How many of `runs` stand in any of the texts. */
export function sharedRuns(runs: ReadonlySet<string>, texts: readonly string[]): number {
  const held = texts.map((text) => ` ${tokensOf(text).join(" ")} `);
  return [...runs].filter((run) => held.some((text) => text.includes(` ${run} `))).length;
}
