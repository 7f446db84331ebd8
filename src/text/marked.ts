/**
 * A flow written in a markup language of its own (Discord's Markdown, Slack's, a terminal's), line by line.
 * Marks are closed at each line's end and opened again on the next: no dialect agrees on marks over several lines.
 */
import type { Flow, FlowSpan } from "./flow.js";
import { MarkWriter, type OpenMark, type Paired } from "./mark-writer.js";
import { SpanIndex } from "./span-index.js";

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

/** The flow in the dialect's markup; balanced whatever slice it is. */
export function writeMarked(flow: Flow, dialect: Dialect): string {
  const blocks = new SpanIndex(flow);
  let out = "";
  const indents = new Indents(dialect.looseIndent);
  let at = 0;
  while (at < flow.text.length) {
    const quoted = blocks.covering(at, "quote") !== undefined;
    const code = blocks.covering(at, "code-block");
    if (code !== undefined) {
      const block = dialect.codeBlock(flow.text.slice(code.start, code.end), code.language ?? "");
      out += quoted && dialect.quoteCode ? dialect.quote + block.replaceAll("\n", `\n${dialect.quote}`) : block;
      indents.endList();
      at = code.end;
      // The block stands on lines of its own, also when the flow goes on right behind it.
      if (at < flow.text.length && flow.text[at] !== "\n") out += "\n";
    } else {
      const found = flow.text.indexOf("\n", at);
      const end = found === -1 ? flow.text.length : found;
      const line = new Line(flow, blocks, at, end, dialect);
      out += (quoted ? dialect.quote : "") + indents.before(line, quoted) + line.write();
      at = end;
    }
    if (flow.text[at] === "\n") {
      const inParagraph = at > 0 && flow.text[at - 1] !== "\n" && continues(flow, blocks, at);
      out += inParagraph ? `${dialect.lineEnd}\n` : "\n";
      at++;
    }
  }
  return out.trimEnd();
}

/** Indents relative to the list a parser would be in: what follows code, a quote's start or a cut begins a list anew. */
class Indents {
  readonly #loose: number;
  #list = -1;
  #quoted = false;
  #quote = 0;

  constructor(loose: number) {
    this.#loose = loose;
  }

  endList(): void {
    this.#list = -1;
  }

  before(line: Line, quoted: boolean): string {
    if (quoted !== this.#quoted) {
      this.endList();
      this.#quote = quoted ? line.indent : 0;
      this.#quoted = quoted;
    }
    if (line.marked) this.#list = this.#list < 0 ? line.indent : Math.min(this.#list, line.indent);
    else if (!line.empty && line.indent === 0) this.endList();
    if (this.#loose === Infinity) return " ".repeat(Math.max(0, line.indent - this.#quote));
    const outside = Math.max(this.#quote, this.#list);
    return " ".repeat(Math.min(Math.max(0, line.indent - outside), this.#list < 0 ? this.#loose : Infinity));
  }
}

/** True when the line break at `at` lies within a paragraph. */
function continues(flow: Flow, blocks: SpanIndex, at: number): boolean {
  let next = at + 1;
  while (flow.text[next] === " ") next++;
  if (next >= flow.text.length || flow.text[next] === "\n") return false;
  if (blocks.covering(at - 1, "code-block") !== undefined || blocks.covering(at + 1, "code-block") !== undefined) return false;
  return blocks.covering(next, "marker") === undefined;
}

/** One line outside code blocks. */
class Line {
  /** Spaces before the marker or the text. */
  readonly indent: number;
  readonly marked: boolean;
  readonly empty: boolean;
  readonly #text: string;
  readonly #content: number;
  readonly #markers: string;
  readonly #spans: readonly FlowSpan[];
  readonly #dialect: Dialect;

  constructor(flow: Flow, blocks: SpanIndex, start: number, end: number, dialect: Dialect) {
    this.#dialect = dialect;
    this.#text = flow.text.slice(start, end);
    const spans = blocks.within(start, end).map((span) => ({
      ...span,
      start: Math.max(0, span.start - start),
      end: Math.min(end, span.end) - start,
      ...(span.start < start ? { cutStart: true } : {}),
      ...(span.end > end ? { cutEnd: true } : {}),
    }));
    const furniture = spans.filter((span) => span.kind === "indent" || span.kind === "marker");
    const markers = furniture.filter((span) => span.kind === "marker");
    this.#content = Math.max(0, ...furniture.map((span) => span.end));
    this.indent = markers[0]?.start ?? this.#content;
    this.marked = markers.length > 0;
    this.empty = start === end;
    this.#markers = this.marked ? this.#text.slice(this.indent, this.#content).replaceAll("• ", dialect.bullet) : "";
    this.#spans = spans.filter((span) => span.kind !== "indent" && span.kind !== "marker" && span.kind !== "quote");
  }

  write(): string {
    const heading = this.#spans.find((span) => span.kind === "heading");
    const sign = heading === undefined || heading.cutStart ? undefined : this.#dialect.heading(heading.level ?? 1);
    if (this.#spans.some((span) => span.kind === "rule")) return this.#markers + this.#dialect.rule;
    // An item without text could not follow a line of text.
    if (this.marked && this.#content === this.#text.length) return `${this.#markers}\u200b`;
    return this.#markers + (sign ?? "") + this.#runs(sign === undefined, sign === undefined);
  }

  #runs(boldHeading: boolean, lineStart: boolean): string {
    const leaves = this.#spans.filter((span) => span.kind === "code" || (span.kind === "link" && this.#isAddress(span)));
    const marks = this.#marks(boldHeading);
    const edges = new Set([this.#content, this.#text.length]);
    for (const span of [...leaves, ...marks]) edges.add(Math.max(span.start, this.#content)).add(span.end);
    const ordered = [...edges].sort((a, b) => a - b);
    const writer = new MarkWriter(this.#dialect.link);
    let active: OpenMark[] = [];
    let nextMark = 0;
    let nextLeaf = 0;
    for (let index = 0; index + 1 < ordered.length; index++) {
      const start = ordered[index] ?? 0;
      const end = ordered[index + 1] ?? 0;
      active = active.filter((mark) => mark.end > start);
      for (let mark = marks[nextMark]; mark !== undefined && mark.start <= start; mark = marks[++nextMark]) active.push(mark);
      while ((leaves[nextLeaf]?.end ?? Infinity) <= start) nextLeaf++;
      const candidate = leaves[nextLeaf];
      const leaf = candidate !== undefined && candidate.start <= start ? candidate : undefined;
      const inLink = active.some((mark) => mark.kind === "link");
      const piece = this.#text.slice(start, end);
      writer.enter(inLink && !this.#dialect.marksInLinks ? withoutInner(active) : active);
      if (leaf?.kind === "code" && (!inLink || this.#dialect.marksInLinks)) writer.putCode(this.#dialect.code(piece));
      else if (leaf?.kind === "link" && !inLink) {
        const closes = active.some((mark) => mark.end === end);
        writer.put(this.#dialect.address(piece, closes ? "*" : (this.#text[end] ?? "")));
      } else writer.put(this.#dialect.text(piece, { line: this.#text, start, end, lineStart: lineStart && start === this.#content }));
    }
    return writer.finish();
  }

  /** An address is a link of its own only while whole. */
  #isAddress(span: FlowSpan): boolean {
    return span.auto === true && !span.cutStart && !span.cutEnd;
  }

  #marks(boldHeading: boolean): OpenMark[] {
    const found: OpenMark[] = [];
    const heading = boldHeading ? this.#spans.find((span) => span.kind === "heading") : undefined;
    const whole = heading === undefined ? undefined : { ...heading, kind: "bold" as const };
    for (const span of whole === undefined ? this.#spans : [whole, ...this.#spans]) {
      const { kind } = span;
      const from = Math.max(span.start, this.#content);
      if (kind === "link" && !span.auto) {
        const drawn = this.#trim(from, span.end);
        if (drawn.start < drawn.end) found.push({ kind, ...drawn, mark: "", url: span.url ?? "" });
      } else if (kind === "italic" || kind === "strike" || (kind === "bold" && (whole === undefined || span === whole))) {
        const drawn = this.#drawIn(from, span.end);
        if (drawn.start < drawn.end) found.push({ kind, ...drawn, mark: this.#markFor(kind, drawn.start, drawn.end), url: "" });
      }
    }
    const ordered = found.sort((a, b) => a.start - b.start || b.end - a.end);
    if (!this.#dialect.strictMarks) return ordered;
    // A strict parser cannot tell where one run of marks ends and the next begins.
    const ends = new Set(ordered.filter((mark) => mark.kind !== "link").map((mark) => mark.end));
    return ordered.filter((mark) => mark.kind === "link" || !ends.has(mark.start));
  }

  /** No mark works with white space at its inner side. */
  #trim(from: number, to: number): { start: number; end: number } {
    const blank = (at: number): boolean => /\s/.test(this.#text[at] ?? "x") && !this.#inCode(at);
    let start = from;
    let end = to;
    while (start < end && blank(start)) start++;
    while (end > start && blank(end - 1)) end--;
    return { start, end };
  }

  #drawIn(from: number, to: number): { start: number; end: number } {
    let { start, end } = this.#trim(from, to);
    if (!this.#dialect.strictMarks) return { start, end };
    const bare = (at: number): boolean => /[\p{P}\p{S}]/u.test(this.#text[at] ?? "") && !this.#inCode(at);
    const word = (at: number): boolean => /[^\s\p{P}\p{S}]/u.test(this.#text[at] ?? " ");
    while (start < end && word(start - 1) && bare(start) && start > this.#content) start++;
    while (end > start && word(end) && bare(end - 1)) end--;
    return start < end && /\S/.test(this.#text.slice(start, end)) ? { start, end } : { start: to, end: to };
  }

  /** Asked only for a few characters at the ends of marks. */
  #inCode(at: number): boolean {
    return this.#spans.some((span) => (span.kind === "code" || (span.kind === "link" && span.auto)) && span.start <= at && at < span.end);
  }

  #markFor(kind: Paired, start: number, end: number): string {
    const word = (character: string | undefined): boolean => /[\p{L}\p{N}\p{M}_*]/u.test(character ?? "");
    if (kind === "italic" && (word(this.#text[start - 1]) || word(this.#text[end]))) return this.#dialect.italicInWord;
    return this.#dialect.marks[kind];
  }
}

/** Marks that begin inside the link go; those around it stay. */
function withoutInner(active: readonly OpenMark[]): OpenMark[] {
  const link = active.findIndex((mark) => mark.kind === "link");
  return active.filter((mark, index) => index <= link || mark.kind === "link");
}
