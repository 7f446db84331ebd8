/**
 * Markdown to Telegram text with entities, in parts. Pure. No parse_mode, so there is nothing to escape and nothing to refuse;
 * offsets are UTF-16 units, and an entity's limits count as much as the text's.
 */
import type { RenderedPart } from "../../src/domain/message.js";
import { sliceFlow, type Flow, type FlowSpan } from "../../src/text/flow.js";
import { layOut } from "../../src/text/layout.js";
import { parseMarkdown } from "../../src/text/markdown.js";
import { plainText } from "../../src/text/plain.js";
import { quietFlow, quietText, type PingRule } from "../../src/text/quiet.js";
import { splitFlow } from "../../src/text/split.js";

/** Bot API: UTF-16 units of a message's text after parsing (safe also where code points are counted). */
export const maxTextLength = 4096;
/** Bot API: entities beyond this are ignored. */
export const maxEntities = 100;
/** Bytes of text and entities as JSON; servers were seen to refuse more than about 32 KiB. */
const maxBytes = 30_000;

export interface TelegramEntity {
  readonly [key: string]: string | number;
  readonly type: "bold" | "italic" | "strikethrough" | "code" | "pre" | "text_link" | "blockquote";
  readonly offset: number;
  readonly length: number;
}

/** What `payload` holds: fields of `sendMessage` and `editMessageText`. */
export interface TelegramPayload {
  readonly [key: string]: string | readonly TelegramEntity[];
  readonly text: string;
  readonly entities: readonly TelegramEntity[];
}

/** "@name" pings that person or group whoever writes it; "tg://user" links do too and are therefore no links here. */
const pings: readonly PingRule[] = [{ sign: /(?<![\p{L}\p{N}_])@(?=[A-Za-z0-9_])/gu, keepAddresses: true }];

/** Addresses with a handle that the parser did not link ("medium.com/@amy"): linked here, so that they stay whole and ping nobody. */
const bareAddress =
  /(?<![\w@/.:-])(?:https?:\/\/)?(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}\/[\w\-./?=&%#~+:]{0,500}@[\w\-./?=&%#~+:@]{0,500}/gi;

/** Model Markdown to parts of at most 4096 UTF-16 units and 100 entities; text without anything visible gives none. */
export function render(markdown: string): RenderedPart[] {
  const flow = quietFlow(linkBare(layOut(parseMarkdown(markdown), { linkable })), pings);
  return splitFlow(flow, { limit: maxTextLength, measure }).map((part) => ({ plain: plainOf(part), payload: payloadOf(part) }));
}

function linkable(url: string): boolean {
  return url.length <= 2048 && /^https?:\/\/[^/]/i.test(url);
}

function measure(part: Flow): number {
  const payload = payloadOf(part);
  const tooMuch = payload.entities.length > maxEntities || Buffer.byteLength(JSON.stringify(payload)) > maxBytes;
  return tooMuch ? maxTextLength + 1 : Math.max(payload.text.length, plainOf(part).length);
}

function plainOf(part: Flow): string {
  return quietText(plainText(part), pings).trim();
}

function linkBare(flow: Flow): Flow {
  const added: FlowSpan[] = [];
  for (const match of flow.text.matchAll(bareAddress)) {
    const start = match.index;
    const end = start + match[0].length;
    const taken = flow.spans.some((span) => ["code", "code-block", "link"].includes(span.kind) && span.start < end && span.end > start);
    if (!taken) added.push({ kind: "link", start, end, url: /^https?:/i.test(match[0]) ? match[0] : `https://${match[0]}`, auto: true });
  }
  if (added.length === 0) return flow;
  return { ...flow, spans: [...flow.spans, ...added].sort((a, b) => a.start - b.start || b.end - a.end) };
}

/** Telegram trims a text's ends and would move the entities; so they are trimmed here. */
function payloadOf(part: Flow): TelegramPayload {
  const start = part.text.length - part.text.trimStart().length;
  const flow = sliceFlow(part, start, Math.max(start, part.text.trimEnd().length));
  return { text: flow.text, entities: entitiesOf(flow) };
}

function entitiesOf(flow: Flow): TelegramEntity[] {
  const links = flow.spans.filter((span) => span.kind === "link" && isEntity(span));
  const codes = flow.spans.filter((span) => span.kind === "code-block" || (span.kind === "code" && !overlapsAny(span, links)));
  const found: TelegramEntity[] = [];
  const boldHeadings = flow.spans.filter((span) => span.kind === "heading");
  for (const span of flow.spans) {
    if (span.kind === "code-block") found.push(...entity(flow, "pre", span, span.language ? { language: span.language } : {}));
    else if (span.kind === "code" && codes.includes(span)) found.push(...entity(flow, "code", span));
    else if (span.kind === "quote") found.push(...entity(flow, "blockquote", span, {}, startsWithCode(flow, span, codes)));
    else if (span.kind === "link" && isEntity(span)) found.push(...entity(flow, "text_link", span, { url: span.url ?? "" }));
    else if (span.kind === "heading") found.push(...aroundCode(flow, "bold", span, codes));
    else if (span.kind === "bold" && !overlapsAny(span, boldHeadings)) found.push(...aroundCode(flow, "bold", span, codes));
    else if (span.kind === "italic") found.push(...aroundCode(flow, "italic", span, codes));
    else if (span.kind === "strike") found.push(...aroundCode(flow, "strikethrough", span, codes));
  }
  return found.sort((a, b) => a.offset - b.offset || b.length - a.length || rank(a) - rank(b));
}

/** Of entities over the same text a quote is the outermost, code the innermost. */
function rank({ type }: TelegramEntity): number {
  if (type === "blockquote") return 0;
  return type === "pre" || type === "code" ? 2 : 1;
}

/** Telegram links plain addresses by itself; one with a handle is linked here, since a link's text cannot ping. */
function isEntity(span: FlowSpan): boolean {
  return span.auto !== true || (span.url ?? "").includes("@") || span.cutStart === true || span.cutEnd === true;
}

/** A quote must hold the code it begins with, white space and all. */
function startsWithCode(flow: Flow, span: FlowSpan, codes: readonly FlowSpan[]): boolean {
  return codes.some(({ start, end }) => start === span.start && flow.text.slice(start, end).trim() !== "");
}

function overlapsAny(span: FlowSpan, others: readonly FlowSpan[]): boolean {
  return others.some((other) => other.start < span.end && other.end > span.start);
}

/** Bold and the like may not hold code: one entity for each stretch between. */
function aroundCode(flow: Flow, type: TelegramEntity["type"], span: FlowSpan, codes: readonly FlowSpan[]): TelegramEntity[] {
  const found: TelegramEntity[] = [];
  let start = span.start;
  for (const code of codes) {
    if (code.end <= start || code.start >= span.end) continue;
    found.push(...entity(flow, type, { start, end: code.start }));
    start = code.end;
  }
  return [...found, ...entity(flow, type, { start, end: span.end })];
}

/** One entity without white space at its ends, or none. Code keeps its own at the start. */
function entity(
  flow: Flow,
  type: TelegramEntity["type"],
  span: { readonly start: number; readonly end: number },
  extra: Readonly<Record<string, string>> = {},
  keepStart = type === "pre" || type === "code",
): TelegramEntity[] {
  const text = flow.text.slice(span.start, span.end);
  const length = text.trimEnd().length;
  if (length === 0) return [];
  const lead = keepStart ? 0 : text.length - text.trimStart().length;
  return [{ type, offset: span.start + lead, length: length - lead, ...extra }];
}
