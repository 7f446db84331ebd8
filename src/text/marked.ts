/**
 * A flow written in a markup language of its own (Discord's Markdown, Slack's, a terminal's), line by line.
 * Code blocks stand at the left edge, also within lists; what follows them begins the list anew.
 */
import type { Dialect } from "./dialect.js";
import type { Flow } from "./flow.js";
import { MarkedLine } from "./marked-line.js";
import { SpanIndex } from "./span-index.js";

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
      const line = new MarkedLine(flow, blocks, at, end, dialect);
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

  before(line: MarkedLine, quoted: boolean): string {
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
