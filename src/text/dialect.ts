/**
 * What a markup language must say of itself so that a flow can be written in it.
 * Escapes see the whole line: whether a character is markup depends on its neighbours.
 */
import type { Paired } from "./mark-writer.js";

/** Where a piece of text stands: what decides whether a character must be escaped. */
export interface Place {
  /** The whole line, without the line break. */
  readonly line: string;
  /** The piece is `line.slice(start, end)`. */
  readonly start: number;
  readonly end: number;
  /** True when nothing but an indent, a marker or a quote sign stands before it. */
  readonly lineStart: boolean;
}

export interface Dialect {
  readonly marks: Readonly<Record<Paired, string>>;
  /** Italic mark beside a letter or digit, where the usual one would not count as a mark. */
  readonly italicInWord: string;
  /** Draw a mark's ends in until a strict parser accepts them (punctuation inside, letter outside). */
  readonly strictMarks: boolean;
  /** Marks and code inside a link's label; where false the label is plain. */
  readonly marksInLinks: boolean;
  /** Stands before each line of a quote, and whether it also stands before lines of code. */
  readonly quote: string;
  readonly quoteCode: boolean;
  /** Ends a line that goes on in the same paragraph. */
  readonly lineEnd: string;
  /** Sign before a heading; undefined: the heading is bold. */
  readonly heading: (level: number) => string | undefined;
  readonly rule: string;
  /** Replaces "• ", same width; numbers stay. */
  readonly bullet: string;
  /** Largest indent of a line that follows no list item; deeper, the parser would see code. */
  readonly looseIndent: number;
  readonly text: (piece: string, place: Place) => string;
  readonly code: (code: string) => string;
  readonly codeBlock: (code: string, language: string) => string;
  readonly link: (label: string, url: string) => string;
  /** A link whose text is its address; `next` is the character after it (any closing mark as "*"), empty at the line's end. */
  readonly address: (url: string, next: string) => string;
}
