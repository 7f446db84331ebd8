/**
 * Model Markdown to blocks of text and spans; the only file that touches the parser.
 * What a reader would get wrong: link definitions and underlined headings are switched off on purpose. The first would
 * swallow text that nothing refers to, the second turns a list that is still being written into a heading.
 */
import MarkdownIt, { type StateBlock, type Token } from "markdown-it";
import cjkFriendly from "markdown-it-cjk-friendly";
import { tableText, type Alignment } from "./table.js";

export type Mark = "bold" | "italic" | "strike" | "code";

/** A marked stretch; offsets are UTF-16 units of the block's text, `end` exclusive. */
export type Span =
  | { readonly kind: Mark; readonly start: number; readonly end: number }
  /** `auto`: the text is the address itself. */
  | { readonly kind: "link"; readonly start: number; readonly end: number; readonly url: string; readonly auto: boolean };

/** A list; `tight` is false when its items are parted by empty lines. */
export interface List {
  tight: boolean;
}

/** What a block stands in, outermost first. Blocks of one quote or one item share the same object. */
export type Container =
  | { readonly kind: "quote" }
  /** `marker` is what a reader sees before the item: "• " or "3. ". */
  | { readonly kind: "item"; readonly list: List; readonly marker: string };

interface BlockBase {
  readonly text: string;
  readonly spans: readonly Span[];
  readonly inside: readonly Container[];
}

/** `code` is also a table, already aligned; its language is then empty. Code text has no final line break of its own. */
export type Block =
  | (BlockBase & { readonly kind: "paragraph" | "rule" })
  | (BlockBase & { readonly kind: "heading"; readonly level: number })
  | (BlockBase & { readonly kind: "code"; readonly language: string });

/** Nesting beyond this is kept as plain text: the parser itself would drop it silently at 100. */
const maxDepth = 40;

const ruleText = "──────────";

const parser = new MarkdownIt({ html: false, linkify: true }).use(cjkFriendly).disable(["reference", "lheading"]);
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false }).add("//", null).add("mailto:", null);
parser.normalizeLinkText = (url) => url;
parser.block.ruler.before("table", "too-deep", tooDeep);

/**
 * Parses Markdown of any state, also unfinished (open fence, half table). Never throws; raw HTML is text; nothing visible is
 * lost but link titles and what a fence's info string holds besides a language name. Lone surrogates become U+FFFD, one at the very end
 * (a cut stream) goes.
 */
export function parseMarkdown(markdown: string): Block[] {
  const source = markdown.replace(/[\ud800-\udbff]$/, "").replace(/\p{Surrogate}/gu, "\ufffd");
  return new Reader().read(parser.parse(source, {}));
}

/** True when a reader would see something: more than spaces, control and zero-width characters. */
export function isVisible(text: string): boolean {
  return /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);
}

function tooDeep(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  if (state.level < maxDepth) return false;
  if (silent) return true;
  let next = startLine + 1;
  while (next < endLine && !state.isEmpty(next) && (state.sCount[next] ?? 0) >= state.blkIndent) next++;
  state.line = next;
  state.push("paragraph_open", "p", 1);
  const inline = state.push("inline", "", 0);
  inline.content = state.getLines(startLine, next, state.blkIndent, false).trim();
  inline.children = [];
  state.push("paragraph_close", "p", -1);
  return true;
}

/** Walks the parser's flat tokens once. */
class Reader {
  readonly #blocks: Block[] = [];
  readonly #inside: Container[] = [];
  readonly #lists: { readonly list: List; ordered: boolean }[] = [];
  /** Blocks written when each open item began: an item without any still shows its marker. */
  readonly #itemStarts: number[] = [];
  #heading = 0;
  #rows: string[][] | undefined;
  #aligns: Alignment[] = [];

  read(tokens: readonly Token[]): Block[] {
    for (const token of tokens) this.#take(token);
    return this.#blocks;
  }

  #take(token: Token): void {
    switch (token.type) {
      case "blockquote_open":
        this.#inside.push({ kind: "quote" });
        break;
      case "blockquote_close":
        this.#inside.pop();
        break;
      case "bullet_list_open":
      case "ordered_list_open":
        this.#lists.push({ list: { tight: true }, ordered: token.type === "ordered_list_open" });
        break;
      case "bullet_list_close":
      case "ordered_list_close":
        this.#lists.pop();
        break;
      case "list_item_open":
        this.#openItem(token);
        break;
      case "list_item_close":
        if (this.#itemStarts.pop() === this.#blocks.length) this.#add({ kind: "paragraph", text: "", spans: [] });
        this.#inside.pop();
        break;
      case "paragraph_open":
        this.#noteLoose(token);
        break;
      case "heading_open":
        this.#heading = Number(token.tag.slice(1));
        break;
      case "heading_close":
        this.#heading = 0;
        break;
      case "hr":
        this.#add({ kind: "rule", text: ruleText, spans: [] });
        break;
      case "fence":
      case "code_block":
        this.#code(token);
        break;
      case "inline":
        this.#inline(token);
        break;
      default:
        this.#table(token);
    }
  }

  #openItem(token: Token): void {
    const current = this.#lists.at(-1);
    if (current === undefined) return;
    const marker = current.ordered ? `${token.info}. ` : "• ";
    this.#inside.push({ kind: "item", list: current.list, marker });
    this.#itemStarts.push(this.#blocks.length);
  }

  #noteLoose(token: Token): void {
    const parent = this.#inside.at(-1);
    if (parent?.kind === "item" && !token.hidden) parent.list.tight = false;
  }

  #code(token: Token): void {
    const text = token.content.replace(/\n$/, "");
    const language = token.type === "fence" ? (/^\s*([\w+#.:/-]+)(?=\s|$)/.exec(token.info)?.[1] ?? "") : "";
    if (text.trim() !== "") this.#add({ kind: "code", text, spans: [], language });
  }

  #inline(token: Token): void {
    const { text, spans } = readInline(token.children ?? []);
    if (this.#rows !== undefined) this.#rows.at(-1)?.push(withAddresses(text, spans));
    else if (this.#heading > 0) this.#add({ kind: "heading", text, spans, level: this.#heading });
    else if (text !== "") this.#add({ kind: "paragraph", text, spans });
  }

  #table(token: Token): void {
    if (token.type === "table_open") {
      this.#rows = [];
      this.#aligns = [];
    } else if (token.type === "tr_open") {
      this.#rows?.push([]);
    } else if (token.type === "th_open") {
      const style = String(token.attrGet("style") ?? "");
      this.#aligns.push(style.endsWith("center") ? "center" : style.endsWith("right") ? "right" : "left");
    } else if (token.type === "table_close" && this.#rows !== undefined) {
      this.#add({ kind: "code", text: tableText(this.#rows, this.#aligns), spans: [], language: "" });
      this.#rows = undefined;
    }
  }

  #add(block: WithoutInside<Block>): void {
    this.#blocks.push({ ...block, inside: [...this.#inside] });
  }
}

type WithoutInside<T> = T extends Block ? Omit<T, "inside"> : never;

type Paired = Exclude<Mark, "code">;

const markOf: Readonly<Record<string, Paired>> = { strong: "bold", em: "italic", s: "strike" };

interface OpenLink {
  readonly start: number;
  readonly url: string;
  readonly auto: boolean;
}

function readInline(children: readonly Token[]): { text: string; spans: Span[] } {
  const reader = new InlineReader();
  for (const token of children) reader.take(token);
  const spans = reader.spans.filter((span) => span.end > span.start).sort((a, b) => a.start - b.start || b.end - a.end);
  return { text: reader.text, spans };
}

/** Walks the tokens of one line of text; marks within the same mark count once. */
class InlineReader {
  text = "";
  readonly spans: Span[] = [];
  readonly #open: Record<Paired, { depth: number; start: number }> = {
    bold: { depth: 0, start: 0 },
    italic: { depth: 0, start: 0 },
    strike: { depth: 0, start: 0 },
  };
  #link: OpenLink | undefined;

  take(token: Token): void {
    const mark = markOf[token.type.replace(/_(open|close)$/, "")];
    if (mark !== undefined) this.#mark(mark, token.nesting);
    else if (token.type === "link_open") this.#openLink(token);
    else if (token.type === "link_close") this.#closeLink();
    else if (token.type === "image") this.#image(token);
    else if (token.type === "softbreak" || token.type === "hardbreak") this.text += "\n";
    else {
      const start = this.text.length;
      this.text += token.content;
      if (token.type === "code_inline") this.spans.push({ kind: "code", start, end: this.text.length });
    }
  }

  #mark(kind: Paired, nesting: number): void {
    const state = this.#open[kind];
    if (nesting > 0 && state.depth++ === 0) state.start = this.text.length;
    if (nesting < 0 && --state.depth === 0) this.spans.push({ kind, start: state.start, end: this.text.length });
  }

  #openLink(token: Token): void {
    this.#link = { start: this.text.length, url: String(token.attrGet("href") ?? ""), auto: token.info === "auto" };
  }

  #closeLink(): void {
    if (this.#link !== undefined) this.#addLink(this.#link);
    this.#link = undefined;
  }

  #image(token: Token): void {
    const start = this.text.length;
    const url = String(token.attrGet("src") ?? "");
    this.text += readInline(token.children ?? []).text || url;
    if (this.#link === undefined) this.#addLink({ start, url, auto: false });
    else if (url !== "") this.text += ` (${url})`;
  }

  /** A label is one line; a link without a visible one shows its address. */
  #addLink({ start, url, auto }: OpenLink): void {
    if (url === "") return;
    const label = this.text.slice(start).replaceAll("\n", " ");
    const shown = isVisible(label) ? label : label + url;
    this.text = this.text.slice(0, start) + shown;
    const isAddress = auto || shown === url;
    if (!(isAddress && url.startsWith("mailto:"))) {
      this.spans.push({ kind: "link", start, end: this.text.length, url, auto: isAddress });
    }
  }
}

/** Text of a table cell: links keep their address, since a code block has no links. */
function withAddresses(text: string, spans: readonly Span[]): string {
  let result = text;
  for (const span of [...spans].reverse()) {
    if (span.kind === "link" && !span.auto) result = `${result.slice(0, span.end)} (${span.url})${result.slice(span.end)}`;
  }
  return result;
}
