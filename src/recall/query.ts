/**
 * What a person or a model types becomes a search query. It never throws, and nothing typed reaches the full-text syntax unquoted: an
 * operator that does not parse is searched as a word.
 */
import { broadTerms, exactTerm } from "../domain/search-terms.js";
import type { SearchQuery } from "../ports/search.js";

interface Token {
  readonly kind: "word" | "phrase" | "operator";
  readonly text: string;
}

/** More than this many terms make a search slower and no better. */
const maxTerms = 24;
const maxLength = 4000;

const quotes = new Map([
  ['"', '"'],
  ["“", "”"],
  ["„", "“"],
  ["「", "」"],
  ["『", "』"],
  ["＂", "＂"],
]);

/**
 * Plain words must all occur in one message, `OR` between words widens, quotes make a phrase, `NOT` excludes the next term, `word*` is a
 * prefix; precedence as in SQLite: NOT, then words side by side (or AND), then OR. A question (it has words that only put the question,
 * or a question mark, and no operator) is `natural`: ranked by what it is about, not all of its words needed.
 */
export function parseQuery(typed: string): SearchQuery {
  const text = typed.slice(0, maxLength);
  const tokens = tokensOf(text);
  const { expression, positive } = buildExpression(tokens);
  const plain = tokens.every((token) => token.kind === "word" && !token.text.endsWith("*"));
  if (!plain) return { mode: "strict", exact: expression, terms: positive, broad: [] };
  const broad = broadTerms(text).terms.slice(0, maxTerms);
  const mode = asks(tokens, text) && broad.length > 0 ? "natural" : "keywords";
  return { mode, exact: expression, terms: positive, broad: mode === "keywords" && isShortCjk(tokens) ? [] : broad };
}

/** Words inside a name or path (`a:b`) do not make a question. */
function asks(tokens: readonly Token[], text: string): boolean {
  if (/[?？]/u.test(text)) return true;
  return tokens.some(({ text: word }) => /^[^\p{L}\p{N}]*[\p{L}\p{N}]+[^\p{L}\p{N}]*$/u.test(word) && broadTerms(word).hadStopWords);
}

/** One word of up to four characters: pieces of it would be other words. */
function isShortCjk(tokens: readonly Token[]): boolean {
  return (
    tokens.length === 1 && /^[\p{Script=Han}\p{Script=Katakana}\p{Script=Hiragana}\p{Script=Hangul}]{1,4}$/u.test(tokens[0]?.text ?? "")
  );
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    const closing = quotes.get(character);
    const end = closing === undefined ? -1 : text.indexOf(closing, at + 1);
    if (end > at) {
      tokens.push({ kind: "phrase", text: text.slice(at + 1, end) });
      at = end + 1;
      continue;
    }
    const [word] = /^[^\s()"“”„「」『』＂]+/u.exec(text.slice(at)) ?? [""];
    if (word === "") {
      at += 1;
      continue;
    }
    tokens.push({ kind: /^(?:OR|AND|NOT|\|\|?|&&)$/u.test(word) ? "operator" : "word", text: word });
    at += word.length;
  }
  return withoutLooseOperators(tokens);
}

/** An operator stands between two terms (NOT also behind another operator); any other one is a word. */
function withoutLooseOperators(tokens: readonly Token[]): Token[] {
  const kept: Token[] = [];
  tokens.forEach((token, index) => {
    const next = tokens[index + 1];
    const before = kept.at(-1);
    const nextIsTerm =
      next !== undefined && (next.kind !== "operator" || (next.text === "NOT" && token.text !== "NOT" && index + 2 < tokens.length));
    const fits = before !== undefined && nextIsTerm && (before.kind !== "operator" || (token.text === "NOT" && before.text === "AND"));
    if (token.kind !== "operator" || fits) kept.push(token);
    else kept.push({ kind: "word", text: token.text });
  });
  return kept;
}

interface Conjunction {
  readonly all: string[];
  readonly none: string[];
}

function buildExpression(tokens: readonly Token[]): { readonly expression: string; readonly positive: string[] } {
  const alternatives: Conjunction[] = [{ all: [], none: [] }];
  const positive = new Set<string>();
  let negated = false;
  let count = 0;
  for (const token of tokens) {
    if (token.kind === "operator") {
      if (token.text === "NOT") negated = true;
      else if (token.text === "OR" || token.text.startsWith("|")) alternatives.push({ all: [], none: [] });
      continue;
    }
    const isPrefix = token.kind === "word" && token.text.endsWith("*");
    const term = exactTerm(token.text, isPrefix);
    const target = alternatives.at(-1);
    if (term !== undefined && target !== undefined && count < maxTerms) {
      count += 1;
      (negated ? target.none : target.all).push(term);
      if (!negated) positive.add(term);
    }
    negated = false;
  }
  const parts = alternatives.flatMap((part) => {
    if (part.all.length === 0) return [];
    const all = part.all.join(" AND ");
    return [part.none.length === 0 ? `(${all})` : `((${all}) NOT (${part.none.join(" OR ")}))`];
  });
  return { expression: parts.join(" OR "), positive: [...positive] };
}
