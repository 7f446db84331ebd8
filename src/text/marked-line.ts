/**
 * One line of a flow in a dialect's markup.
 * Marks are closed at the line's end and opened again on the next: no dialect agrees on marks over several lines.
 */
import type { Dialect } from "./dialect.js";
import type { Flow, FlowKind, FlowSpan } from "./flow.js";
import { MarkWriter, type OpenMark, type Paired } from "./mark-writer.js";
import type { SpanIndex } from "./span-index.js";

interface Piece {
  readonly start: number;
  readonly end: number;
  readonly active: readonly OpenMark[];
  readonly leaf: FlowKind | undefined;
}

/** One line outside code blocks. */
export class MarkedLine {
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
    const writer = new MarkWriter(this.#dialect.link);
    for (const run of this.#pieces(this.#marks(boldHeading))) {
      const inLink = run.active.some((mark) => mark.kind === "link");
      writer.enter(inLink && !this.#dialect.marksInLinks ? withoutInner(run.active) : run.active);
      const piece = this.#text.slice(run.start, run.end);
      if (run.leaf === "code" && (!inLink || this.#dialect.marksInLinks)) {
        writer.putCode(this.#dialect.code(piece));
      } else if (run.leaf === "link" && !inLink) {
        const closes = run.active.some((mark) => mark.end === run.end);
        writer.put(this.#dialect.address(piece, closes ? "*" : (this.#text[run.end] ?? "")));
      } else {
        const { start, end } = run;
        writer.put(this.#dialect.text(piece, { line: this.#text, start, end, lineStart: lineStart && start === this.#content }));
      }
    }
    return writer.finish();
  }

  /** The line in pieces at whose ends a mark, a code span or an address begins or ends. */
  *#pieces(marks: readonly OpenMark[]): Generator<Piece> {
    const leaves = this.#spans.filter((span) => span.kind === "code" || (span.kind === "link" && this.#isAddress(span)));
    const edges = new Set([this.#content, this.#text.length]);
    for (const span of [...leaves, ...marks]) edges.add(Math.max(span.start, this.#content)).add(span.end);
    const ordered = [...edges].sort((a, b) => a - b);
    let active: OpenMark[] = [];
    let nextMark = 0;
    let nextLeaf = 0;
    for (const [index, end] of ordered.entries()) {
      const start = ordered[index - 1];
      if (start === undefined) continue;
      active = active.filter((mark) => mark.end > start);
      for (let mark = marks[nextMark]; mark !== undefined && mark.start <= start; mark = marks[++nextMark]) active.push(mark);
      while ((leaves[nextLeaf]?.end ?? Infinity) <= start) nextLeaf++;
      const leaf = leaves[nextLeaf];
      yield { start, end, active, leaf: leaf !== undefined && leaf.start <= start ? leaf.kind : undefined };
    }
  }

  /** An address is a link of its own only while whole. */
  #isAddress(span: FlowSpan): boolean {
    return span.auto === true && !span.cutStart && !span.cutEnd;
  }

  #marks(boldHeading: boolean): OpenMark[] {
    const heading = boldHeading ? this.#spans.find((span) => span.kind === "heading") : undefined;
    const spans =
      heading === undefined ? this.#spans : [{ ...heading, kind: "bold" as const }, ...this.#spans.filter((span) => span.kind !== "bold")];
    const marks = spans
      .map((span) => this.#mark(span))
      .filter((mark) => mark !== undefined)
      .sort((a, b) => a.start - b.start || b.end - a.end);
    if (!this.#dialect.strictMarks) return marks;
    // A strict parser cannot tell where one run of marks ends and the next begins.
    const ends = new Set(marks.filter((mark) => mark.kind !== "link").map((mark) => mark.end));
    return marks.filter((mark) => mark.kind === "link" || !ends.has(mark.start));
  }

  #mark(span: FlowSpan): OpenMark | undefined {
    const from = Math.max(span.start, this.#content);
    if (span.kind === "link" && !span.auto) {
      const drawn = this.#trim(from, span.end);
      return drawn.start < drawn.end ? { kind: "link", ...drawn, mark: "", url: span.url ?? "" } : undefined;
    }
    if (span.kind !== "bold" && span.kind !== "italic" && span.kind !== "strike") return undefined;
    const drawn = this.#drawIn(from, span.end);
    if (drawn.start >= drawn.end) return undefined;
    return { kind: span.kind, ...drawn, mark: this.#markFor(span.kind, drawn.start, drawn.end), url: "" };
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
