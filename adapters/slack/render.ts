/**
 * Markdown to one Slack `markdown` block per part, with the same content as mrkdwn in `text` for notifications and old clients.
 * Slack has no switch against mentions and reads its own `<…>` tokens in both forms: every angle bracket of text is escaped.
 */
import type { RenderedPart } from "../../src/domain/message.js";
import type { Flow } from "../../src/text/flow.js";
import { layOut } from "../../src/text/layout.js";
import { parseMarkdown } from "../../src/text/markdown.js";
import { writeMarked } from "../../src/text/marked.js";
import { plainText } from "../../src/text/plain.js";
import { quietFlow, quietText, type PingRule } from "../../src/text/quiet.js";
import { splitFlow } from "../../src/text/split.js";
import { escapeAngles, markdownDialect, mrkdwnDialect } from "./dialects.js";

/** Characters of a part in any of its forms. Slack allows 12,000 in all `markdown` blocks of a message; the rest is margin. */
export const maxPartLength = 11_500;
/** `chat.update` refuses a longer `text`, also beside blocks. */
export const maxUpdateText = 4000;
/** A `section` with plain text. */
const maxSectionText = 3000;

/** What `payload` holds: fields of `chat.postMessage`. */
export interface SlackPayload {
  readonly [key: string]: string | readonly { readonly type: "markdown"; readonly text: string }[];
  readonly text: string;
  readonly blocks: readonly { readonly type: "markdown"; readonly text: string }[];
}

export interface PlainSection {
  readonly type: "section";
  readonly text: { readonly type: "plain_text"; readonly text: string; readonly emoji: false };
}

/** Tokens are escaped as well; a break makes them dead under any reading. Words like "@here" are dead unless a setting revives them. */
const pings: readonly PingRule[] = [
  { sign: /<(?=[@!#])/g, keepAddresses: false },
  { sign: /@(?=channel|everyone|here)/gi, keepAddresses: true },
];

/** Model Markdown to parts of at most 11,500 characters in each form; text without anything visible gives none. */
export function render(markdown: string): RenderedPart[] {
  const flow = quietFlow(layOut(parseMarkdown(markdown), { linkable }), pings);
  const measure = (part: Flow): number => {
    const { text, blocks } = payloadOf(part);
    return Math.max(text.length, blocks[0]?.text.length ?? 0, plainTextForm(plainOf(part)).text.length);
  };
  return splitFlow(flow, { limit: maxPartLength, measure }).map((part) => ({ plain: plainOf(part), payload: payloadOf(part) }));
}

/** The same part for `chat.update`: the blocks are shown, the text beside them is cut to what an edit allows. */
export function editForm(payload: SlackPayload): SlackPayload {
  return { text: cutEscaped(payload.text, maxUpdateText), blocks: payload.blocks };
}

/** Plain text for `chat.postMessage` when the blocks were refused; send it with `mrkdwn: false`. Escaped once. */
export function plainTextForm(plain: string): { readonly text: string } {
  return { text: escapeAngles(quietText(plain, pings)) };
}

/** Plain text of a part for `chat.update`, whose `text` would be too short for it: shown by plain-text sections, which need no escapes. */
export function plainEditForm(plain: string): { readonly text: string; readonly blocks: readonly PlainSection[] } {
  const quiet = quietText(plain, pings);
  const pieces = splitFlow({ text: quiet, spans: [], borders: [] }, { limit: maxSectionText, measure: (part) => part.text.length });
  return {
    text: cutEscaped(escapeAngles(quiet), maxUpdateText),
    blocks: pieces.map((piece) => ({ type: "section", text: { type: "plain_text", text: piece.text, emoji: false } })),
  };
}

function linkable(url: string): boolean {
  return url.length <= 2000 && /^(https?:\/\/[^/]|mailto:|tel:)/i.test(url);
}

function plainOf(part: Flow): string {
  return quietText(plainText(part), pings).trimEnd();
}

function payloadOf(part: Flow): SlackPayload {
  return { text: writeMarked(part, mrkdwnDialect), blocks: [{ type: "markdown", text: writeMarked(part, markdownDialect) }] };
}

/** Cuts escaped text between characters: not within an entity, a `<…>` token or a surrogate pair. */
function cutEscaped(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit - 1);
  return `${cut.replace(/&[a-z]{0,3}$|<[^>]*$|[\ud800-\udbff]$/, "").trimEnd()}…`;
}
