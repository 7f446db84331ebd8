/**
 * Telegram text with entities to Markdown. Offsets are UTF-16 units, which are JavaScript's own; entities that reach
 * outside the text or overlap halfway are clipped, never an error.
 */
import type { TelegramEntity } from "./update.js";

export interface EntityText {
  readonly text: string;
  readonly entities: readonly TelegramEntity[];
}

/** Renders the text as Markdown: bold, italic, strike, code, fences, links, quotes. What people typed is not escaped. Pure, never throws. */
export function entityMarkdown({ text, entities }: EntityText): string {
  const sorted = entities
    .map((entity) => ({ entity, from: Math.min(entity.offset, text.length), to: Math.min(entity.offset + entity.length, text.length) }))
    .filter(({ from, to }) => to > from)
    .sort((a, b) => a.from - b.from || b.to - a.to || rank(a.entity.type) - rank(b.entity.type));
  return renderRange(text, 0, text.length, sorted);
}

interface Span {
  readonly entity: TelegramEntity;
  readonly from: number;
  readonly to: number;
}

/** Where two entities cover the same text, quotes go outside and links inside bold. */
function rank(type: string): number {
  if (type === "blockquote" || type === "expandable_blockquote") return 0;
  return type === "text_link" ? 1 : 2;
}

function renderRange(text: string, from: number, to: number, spans: readonly Span[]): string {
  let out = "";
  let at = from;
  let index = 0;
  while (index < spans.length) {
    const span = spans[index];
    if (span === undefined) break;
    index += 1;
    if (span.from < at || span.from >= to) continue; // halfway overlaps: the earlier entity wins
    const end = Math.min(span.to, to);
    const inside: Span[] = [];
    while (spans[index] !== undefined && (spans[index] as Span).from < end) {
      inside.push(spans[index] as Span);
      index += 1;
    }
    out += text.slice(at, span.from);
    out += wrap(span.entity, text.slice(span.from, end), () => renderRange(text, span.from, end, inside));
    at = end;
    if (isBlock(span.entity.type) && at < to && text[at] !== "\n") out += "\n";
  }
  return out + text.slice(at, to);
}

function isBlock(type: string): boolean {
  return type === "pre" || type === "blockquote" || type === "expandable_blockquote";
}

function wrap(entity: TelegramEntity, raw: string, inner: () => string): string {
  switch (entity.type) {
    case "bold":
      return around("**", inner());
    case "italic":
      return around("_", inner());
    case "strikethrough":
      return around("~~", inner());
    case "code":
      return inlineCode(raw);
    case "pre":
      return fence(raw, entity.language ?? "");
    case "blockquote":
    case "expandable_blockquote":
      return inner()
        .split("\n")
        .map((line) => `> ${line}`)
        .join("\n");
    case "text_link": {
      const url = entity.url ?? "";
      const label = inner();
      if (url === "" || label === url) return label;
      return `[${label}](${/[()\s]/.test(url) ? `<${url}>` : url})`;
    }
    default:
      return inner();
  }
}

/** Markdown marks must touch the text: white space at the ends goes outside. */
function around(mark: string, inner: string): string {
  const core = inner.trim();
  if (core === "") return inner;
  const lead = inner.length - inner.trimStart().length;
  return inner.slice(0, lead) + mark + core + mark + inner.slice(lead + core.length);
}

function inlineCode(raw: string): string {
  const ticks = "`".repeat(longestRun(raw) + 1);
  const pad = raw.startsWith("`") || raw.endsWith("`") ? " " : "";
  return `${ticks}${pad}${raw}${pad}${ticks}`;
}

function fence(raw: string, language: string): string {
  const ticks = "`".repeat(Math.max(3, longestRun(raw) + 1));
  return `${ticks}${language}\n${raw}${raw.endsWith("\n") ? "" : "\n"}${ticks}`;
}

function longestRun(raw: string): number {
  return Math.max(0, ...[...raw.matchAll(/`+/g)].map((run) => run[0].length));
}

/**
 * Removes a range, with the spaces that would be doubled (and a comma or colon after a mention that opened the
 * text), and moves the entities with it. Pure.
 */
export function cut({ text, entities }: EntityText, from: number, length: number): EntityText {
  let to = Math.min(from + length, text.length);
  const opens = text.slice(0, from).trim() === "";
  if (opens) to += /^[,:]?\s*/.exec(text.slice(to))?.[0].length ?? 0;
  else if (/\s/.test(text[from - 1] ?? "")) to += /^[ \t]*/.exec(text.slice(to))?.[0].length ?? 0;
  const shift = (position: number): number => (position <= from ? position : Math.max(from, position - (to - from)));
  return {
    text: text.slice(0, from) + text.slice(to),
    entities: entities
      .map((entity) => {
        const start = shift(entity.offset);
        return { ...entity, offset: start, length: shift(entity.offset + entity.length) - start };
      })
      .filter((entity) => entity.length > 0),
  };
}
