/**
 * One outbound message to the arguments of chat.postMessage or chat.update; pure. Plain text is escaped and its marks
 * are switched off, so that nothing in it can ping anybody or be taken for markup.
 */
import type { Button, Json, OutboundMessage, Route, SentRef } from "../../src/domain/message.js";
import { asFields, textOf, type Fields } from "./fields.js";
import { plainEditForm, plainTextForm } from "./render.js";

type TextMessage = Extract<OutboundMessage, { kind: "part" | "plain" }>;
type Block = Record<string, unknown>;

/** Marks our messages so that one whose answer was lost can be found again. */
export const metadataType = "mneme_delivery";

/** The docs allow 40,000 characters in a new message, but Slack shows a text above 4,000 as several messages. */
const postText = 4_000;
/** chat.update: text, in bytes of UTF-8 as reported by others; `msg_too_long` above. */
const updateText = 4_000;

/** The arguments for a new message. */
export function postArgs(route: Route, message: TextMessage, deliveryId: string): Record<string, unknown> {
  const form = formOf(message, (text) => text.length <= postText);
  return {
    channel: route.chatId,
    ...form,
    ...(route.threadId === undefined ? {} : { thread_ts: route.threadId }),
    mrkdwn: message.kind === "part",
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: metadataType, event_payload: { delivery_id: deliveryId } },
  };
}

/** The arguments for an edit. Old blocks stay unless blocks are sent, so they always are. */
export function updateArgs(sent: SentRef, message: TextMessage): Record<string, unknown> {
  const form = formOf(message, (text) => Buffer.byteLength(text) <= updateText);
  return { channel: sent.chatId, ts: sent.messageId, blocks: [], ...form };
}

/** Text and blocks. Beside blocks the text is only what notifications show; then it may be cut. */
function formOf(message: TextMessage, fits: (text: string) => boolean): { text: string; blocks?: readonly Block[] } {
  const payload = message.kind === "part" ? payloadOf(message.part.payload) : undefined;
  const plain = message.kind === "part" ? message.part.plain : message.text;
  const buttons = buttonBlocks(message.buttons ?? []);
  if (payload !== undefined) return { text: shortened(payload.text, fits), blocks: [...payload.blocks, ...buttons] };
  const { text } = plainTextForm(plain);
  if (buttons.length === 0 && fits(text)) return { text };
  return { text: shortened(text, fits), blocks: [...plainEditForm(plain).blocks.map((block) => ({ ...block })), ...buttons] };
}

/** What `render` made: `{text, blocks}`. */
function payloadOf(payload: Json): { text: string; blocks: readonly Block[] } | undefined {
  const fields = asFields(payload);
  const blocks = fields?.["blocks"];
  if (fields === undefined || !Array.isArray(blocks)) return undefined;
  return { text: textOf(fields, "text") ?? "", blocks: blocks.filter((block): block is Fields => asFields(block) !== undefined) };
}

/** Cuts a text that only stands in for blocks: not within an entity, a `<…>` token or a character. */
function shortened(text: string, fits: (text: string) => boolean): string {
  if (fits(text)) return text;
  const cut = text.slice(0, fits(text.slice(0, 3_900)) ? 3_900 : 1_000);
  return `${cut.replace(/&[a-z]{0,3}$|<[^>]*$|[\ud800-\udbff]$/, "").trimEnd()}…`;
}

/** One row of buttons; Slack takes 25 in a row and 75 characters on each. */
function buttonBlocks(buttons: readonly Button[]): Block[] {
  if (buttons.length === 0) return [];
  const elements = buttons.slice(0, 25).map((button, index) => ({
    type: "button",
    text: { type: "plain_text", text: [...button.label].slice(0, 70).join("") || "…", emoji: true },
    action_id: `mneme_${index}`,
    value: button.data,
  }));
  return [{ type: "actions", elements }];
}

/** What a response address takes: seen by the one person only, the message above stays. */
export function responseArgs(message: TextMessage): Record<string, unknown> {
  return { ...formOf(message, (text) => text.length <= postText), response_type: "ephemeral", replace_original: false };
}

/** The response address that came with a command or press, while it is good and Slack's own. */
export function responseUrlOf(route: Route, apiUrl: string, now: number): string | undefined {
  const hint = asFields(route.hint);
  const address = hint === undefined ? undefined : textOf(hint, "responseUrl");
  if (hint === undefined || address === undefined || !URL.canParse(address)) return undefined;
  const until = hint["responseUntil"];
  if (typeof until !== "number" || now >= until) return undefined;
  const url = new URL(address);
  const slacks = url.protocol === "https:" && /(^|\.)slack(-gov)?\.com$/.test(url.hostname);
  return slacks || url.origin === new URL(apiUrl).origin ? address : undefined;
}
