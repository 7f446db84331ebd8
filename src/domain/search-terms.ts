/**
 * The one normaliser for writing the search indexes and for querying them. Both sides must use it: what is stored as `北京 京大 大学 学`
 * is found only by a query that is cut in the same way.
 */
import { contentPieces, isStopWord } from "./stop-words.js";

/** Han, kana, Hangul (after NFKC also half-width kana) and the prolonged sound mark, which Unicode gives to no script. */
const cjkClass = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}ー`;
const cjkRun = new RegExp(`[${cjkClass}]+`, "gu");
const startsCjk = new RegExp(`^[${cjkClass}]`, "u");
/** A CJK run or a word of other letters and digits. Private use characters count as letters, as they do in the index. */
const pieces = new RegExp(`[${cjkClass}]+|(?:(?![${cjkClass}])[\\p{L}\\p{N}\\p{Mn}\\p{Co}])+`, "gu");
const searchable = /[\p{L}\p{N}\p{Co}]/u;

/** NFKC, without halves of characters and without what would end the text early in SQLite. */
function folded(text: string): string {
  return text
    .replaceAll(/\p{Surrogate}/gu, " ")
    .normalize("NFKC")
    .replaceAll("\0", " ");
}

function bigrams(characters: readonly string[]): string[] {
  return characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
}

/**
 * The text as it goes into the exact index: each CJK run as its bigrams and its last character (`北京大学` → `北京 京大 大学 学`; the last
 * one keeps phrases from crossing punctuation and makes single characters findable as prefixes), all else unchanged.
 */
export function exactText(text: string): string {
  return folded(text).replaceAll(cjkRun, (run) => {
    const characters = Array.from(run);
    return ` ${[...bigrams(characters), characters.at(-1) ?? ""].join(" ")} `;
  });
}

/** The text as it goes into the stretch index: words without stop words, CJK runs as bigrams, each once. `words` counts all of them. */
export function broadText(text: string): { readonly text: string; readonly words: number } {
  const kept = new Set<string>();
  let words = 0;
  const keep = (word: string): void => {
    words += 1;
    kept.add(word);
  };
  for (const [piece] of folded(text).toLowerCase().matchAll(pieces)) {
    if (startsCjk.test(piece)) {
      const characters = Array.from(piece);
      for (const part of characters.length === 1 ? characters : bigrams(characters)) keep(part);
    } else if (!isStopWord(piece)) keep(piece);
  }
  return { text: [...kept].join(" "), words };
}

/** A full-text expression for one phrase, always quoted. */
function quoted(words: string, isPrefix: boolean): string {
  return `"${words.replaceAll('"', " ")}"${isPrefix ? " *" : ""}`;
}

/**
 * The full-text expression that finds `text` as consecutive words in the exact index; undefined when it holds nothing searchable. A CJK
 * run at its end may go on in the stored text; other words must end there unless `isPrefix`.
 */
export function exactTerm(text: string, isPrefix = false): string | undefined {
  const clean = folded(text);
  if (!searchable.test(clean)) return undefined;
  const found = [...clean.matchAll(pieces)].map(([piece]) => piece);
  const last = found.at(-1);
  if (last === undefined) return undefined;
  const characters = startsCjk.test(last) ? Array.from(last) : [];
  const before = exactText(clean.slice(0, clean.lastIndexOf(last)));
  if (characters.length === 0) return quoted(`${before} ${last}`, isPrefix);
  return characters.length === 1 ? quoted(`${before} ${last}`, true) : quoted(`${before} ${bigrams(characters).join(" ")}`, false);
}

export interface BroadTerms {
  /** Quoted terms, each once, for either index; empty when the text is made of stop words. */
  readonly terms: readonly string[];
  /** True when words that only put the question were left out. */
  readonly hadStopWords: boolean;
}

/** The words that a natural question is about; CJK as bigrams, so that a sentence finds what shares words with it. */
export function broadTerms(text: string): BroadTerms {
  const terms = new Set<string>();
  let hadStopWords = false;
  for (const [piece] of folded(text).matchAll(pieces)) {
    if (!startsCjk.test(piece)) {
      const word = piece.toLowerCase();
      if (isStopWord(word)) hadStopWords = true;
      else terms.add(quoted(word, false));
      continue;
    }
    const content = contentPieces(piece);
    if (content.join("") !== piece) hadStopWords = true;
    for (const part of content) for (const term of contentTerms(part)) terms.add(term);
  }
  return { terms: [...terms], hadStopWords };
}

function contentTerms(part: string): string[] {
  const characters = Array.from(part);
  if (characters.length === 1) return [quoted(part, true)];
  const pairs = bigrams(characters);
  // Two hiragana are mostly grammar; they count only where nothing else does.
  const content = pairs.filter((pair) => !/^\p{Script=Hiragana}+$/u.test(pair));
  return (content.length > 0 ? content : pairs).map((pair) => quoted(pair, false));
}

/** The words of a text in lower case as a person would compare them, stop words left out unless nothing else is there: for excerpts. */
export function shownWords(text: string): string[] {
  const found = [...folded(text).matchAll(pieces)].flatMap(([piece]) =>
    startsCjk.test(piece) ? contentPieces(piece) : [piece.toLowerCase()],
  );
  const content = found.filter((word) => !isStopWord(word));
  return [...new Set(content.length > 0 ? content : found)];
}
