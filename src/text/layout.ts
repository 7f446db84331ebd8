/**
 * Blocks to one flow: list markers, indents, empty lines between blocks. Every platform and the plain form share it.
 * Code blocks are never indented, also inside lists: their text must stay as it is.
 */
import { insertInto, type Flow, type FlowSpan, type Insertion } from "./flow.js";
import type { Block, Container, Span } from "./markdown.js";

export interface LayoutOptions {
  /** Addresses the platform can link; any other is written out behind its label. */
  readonly linkable: (url: string) => boolean;
}

/** Lays blocks out under each other. Links the platform cannot make become `label (address)`. */
export function layOut(blocks: readonly Block[], options: LayoutOptions): Flow {
  const writer = new Writer();
  for (const block of blocks) writer.add(block, options);
  return writer.finish();
}

class Writer {
  readonly #texts: string[] = [];
  readonly #spans: FlowSpan[] = [];
  readonly #borders: number[] = [];
  readonly #begun = new Set<Container>();
  #length = 0;
  #before: Block | undefined;
  #quote: { readonly container: Container; readonly start: number } | undefined;

  add(block: Block, options: LayoutOptions): void {
    if (this.#before !== undefined) this.#separate(this.#before, block);
    this.#before = block;
    this.#trackQuote(block);
    const indent = this.#beginLine(block);
    if (block.kind === "code") {
      if (indent > 0) this.#write("\n");
      this.#spans.push({ kind: "code-block", start: this.#length, end: this.#length + block.text.length, language: block.language });
      this.#write(block.text);
      return;
    }
    const content = this.#content(block, options);
    const breaks = [...content.text.matchAll(/\n/g)].map((match): Insertion => ({ at: match.index + 1, text: " ".repeat(indent) }));
    const indented = indent > 0 ? insertInto(content, breaks) : content;
    const base = this.#length;
    for (const span of indented.spans) this.#spans.push({ ...span, start: span.start + base, end: span.end + base });
    if (indent > 0) {
      breaks.forEach(({ at }, index) => {
        const start = base + at + index * indent;
        this.#spans.push({ kind: "indent", start, end: start + indent });
      });
    }
    this.#write(indented.text);
  }

  finish(): Flow {
    this.#endQuote();
    const spans = this.#spans.filter((span) => span.end > span.start).sort((a, b) => a.start - b.start || b.end - a.end);
    return { text: this.#texts.join(""), spans, borders: this.#borders };
  }

  #content(block: Exclude<Block, { kind: "code" }>, options: LayoutOptions): Flow {
    const kept: FlowSpan[] = [];
    const written: Insertion[] = [];
    for (const span of block.spans) {
      if (span.kind !== "link" || options.linkable(span.url)) kept.push(span);
      else if (!span.auto) written.push({ at: span.end, text: address(span) });
    }
    if (block.kind === "heading") kept.unshift({ kind: "heading", start: 0, end: block.text.length, level: block.level });
    if (block.kind === "rule") kept.push({ kind: "rule", start: 0, end: block.text.length });
    const byPosition = written.sort((a, b) => a.at - b.at);
    return insertInto({ text: block.text, spans: kept, borders: [] }, byPosition);
  }

  #write(text: string): void {
    this.#texts.push(text);
    this.#length += text.length;
  }

  /** Writes markers of items that begin here, and spaces for those that go on. Returns the width for further lines; 0 at the top level. */
  #beginLine(block: Block): number {
    let indent = 0;
    for (const container of block.inside) {
      if (container.kind !== "item") continue;
      const width = container.marker.length;
      const begins = !this.#begun.has(container);
      if (begins || block.kind !== "code") {
        this.#spans.push({ kind: begins ? "marker" : "indent", start: this.#length, end: this.#length + width });
        this.#write(begins ? container.marker : " ".repeat(width));
      }
      if (begins || block.kind !== "code") indent += width;
      this.#begun.add(container);
    }
    return indent;
  }

  #separate(before: Block, block: Block): void {
    const together = sharedList(before, block)?.tight === true && quoteOf(before) === quoteOf(block);
    if (!together && before.kind !== "heading") this.#borders.push(this.#length);
    if (quoteOf(block) !== quoteOf(before)) this.#endQuote();
    this.#write(together ? "\n" : "\n\n");
  }

  #trackQuote(block: Block): void {
    const container = quoteOf(block);
    if (container !== undefined && this.#quote === undefined) this.#quote = { container, start: this.#length };
  }

  #endQuote(): void {
    if (this.#quote !== undefined) this.#spans.push({ kind: "quote", start: this.#quote.start, end: this.#length });
    this.#quote = undefined;
  }
}

function address(span: Extract<Span, { kind: "link" }>): string {
  return ` (${span.url})`;
}

/** The outermost quote: chat platforms know one level only. */
function quoteOf(block: Block): Container | undefined {
  return block.inside.find((container) => container.kind === "quote");
}

/** The innermost list both blocks stand in. */
function sharedList(a: Block, b: Block): { readonly tight: boolean } | undefined {
  const lists = new Set(a.inside.map((container) => (container.kind === "item" ? container.list : undefined)));
  const shared = b.inside.filter((container) => container.kind === "item" && lists.has(container.list)).at(-1);
  return shared?.kind === "item" ? shared.list : undefined;
}
