/**
 * Renders a turn's user message once, as it is sent to the model and stored. Pure: what is quoted, forwarded or named
 * is fenced as data here and nowhere else, so that only the speaker's own words stand bare.
 */
import type { Attachment, InboundMessage } from "../domain/message.js";
import { accountKey, isGroup } from "../domain/identity.js";
import type { HistoryMessage } from "../ports/platform-adapter.js";
import { fence, quoteName } from "../safety/fence.js";
import { createHash } from "node:crypto";

export interface ComposeInput {
  /** Messages of one speaker, oldest first. */
  readonly messages: readonly InboundMessage[];
  /** When the previous message of this session was said; undefined for the first one. */
  readonly previousAt: number | undefined;
  readonly now: number;
  readonly timeZone: string;
  /** Earlier messages of a thread or channel the bot was called into, oldest first. */
  readonly earlier?: readonly HistoryMessage[];
}

export interface Composed {
  /** What the model sees. */
  readonly content: string;
  /** The speaker's own words alone. */
  readonly said: string;
}

/** A message this much older than now shows when it was said (milliseconds). */
const lateAfterMs = 120_000;
const hourMs = 3_600_000;
/** Earlier messages are cut to this many characters each. */
const earlierLength = 1_000;

export function compose(input: ComposeInput): Composed {
  const blocks: string[] = [];
  if (input.earlier !== undefined && input.earlier.length > 0) blocks.push(quoteEarlier(input.earlier));
  let previousAt = input.previousAt;
  for (const message of input.messages) {
    const stamp = timeStamp(message.at, previousAt, input.now, input.timeZone);
    blocks.push(composeOne(message, stamp));
    previousAt = message.at;
  }
  const said = input.messages
    .filter((message) => message.forwardedFrom === undefined)
    .map((message) => message.text)
    .filter((text) => text.trim() !== "")
    .join("\n");
  return { content: blocks.join("\n\n"), said };
}

/** A short id that stays the same for an account and says nothing about it; tells namesakes apart. */
export function shortId(platform: string, accountId: string): string {
  return createHash("sha256").update(accountKey(platform, accountId)).digest("hex").slice(0, 6);
}

function composeOne(message: InboundMessage, stamp: string | undefined): string {
  const lines: string[] = [];
  if (isGroup(message.chat.kind)) {
    lines.push(`[${quoteName(message.account.displayName)} · ${shortId(message.platform, message.account.id)}]`);
  }
  if (stamp !== undefined) lines.push(stamp);
  if (message.replyTo !== undefined) {
    const from = message.replyTo.fromSelf === true ? "you" : message.replyTo.author;
    const quoted = [message.replyTo.text, ...message.replyTo.attachments.map(describeAttachment)].filter((line) => line !== "").join("\n");
    lines.push(fence("quoted-message", quoted, { source: from }));
  }
  if (message.forwardedFrom !== undefined) {
    lines.push(fence("forwarded-message", message.text, { source: message.forwardedFrom }));
  } else if (message.text !== "") {
    lines.push(message.text);
  }
  lines.push(...message.attachments.map(describeAttachment));
  return lines.join("\n");
}

function describeAttachment(attachment: Attachment): string {
  const size = attachment.size === undefined ? "" : `, ${Math.max(1, Math.round(attachment.size / 1024))} KB`;
  const type = attachment.mimeType === undefined ? "" : `, ${quoteName(attachment.mimeType)}`;
  return `[attached ${attachment.kind}: ${quoteName(attachment.name)}${type}${size}; its content is not available here]`;
}

function quoteEarlier(messages: readonly HistoryMessage[]): string {
  const lines = messages.map((message) => {
    const author = message.fromSelf === true ? "you" : quoteName(message.author);
    const text = message.text.length > earlierLength ? `${message.text.slice(0, earlierLength)}…` : message.text;
    return `${author}: ${[text, ...message.attachments.map(describeAttachment)].filter((line) => line !== "").join(" ")}`;
  });
  return fence("earlier-messages", lines.join("\n"));
}

/** Local time when the day changed or an hour passed since the message before, or when the message waited. */
function timeStamp(at: number, previousAt: number | undefined, now: number, timeZone: string): string | undefined {
  const late = now - at > lateAfterMs;
  const gap = previousAt !== undefined && (at - previousAt >= hourMs || localDay(at, timeZone) !== localDay(previousAt, timeZone));
  if (!late && !gap) return undefined;
  const local = stampFormat(timeZone).format(at);
  const waited = late ? `, ${waitedText(now - at)} ago` : "";
  return `[sent ${local}${waited}]`;
}

function waitedText(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

function localDay(at: number, timeZone: string): string {
  return dayFormat(timeZone).format(at);
}

const dayFormat = perZone((timeZone) => new Intl.DateTimeFormat("en-CA", { timeZone, dateStyle: "short" }));
const stampFormat = perZone(
  (timeZone) =>
    new Intl.DateTimeFormat("en-GB", {
      timeZone,
      weekday: "short",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
    }),
);

/** A formatter takes longer to make than anything else in this file; the zones are few (about 400 exist). */
function perZone(make: (timeZone: string) => Intl.DateTimeFormat): (timeZone: string) => Intl.DateTimeFormat {
  const made = new Map<string, Intl.DateTimeFormat>();
  return (timeZone) => {
    const format = made.get(timeZone) ?? make(timeZone);
    made.set(timeZone, format);
    return format;
  };
}
