/**
 * Renders a turn's user message once, as it is sent to the model and stored. Pure: what is quoted, forwarded or named
 * is fenced as data here and nowhere else, so that only the speaker's own words stand bare.
 */
import type { Attachment, InboundMessage } from "../domain/message.js";
import { accountKey, isGroup } from "../domain/identity.js";
import type { UserEntry } from "../domain/transcript.js";
import type { ReadFile, StoredImage } from "../ports/media.js";
import type { HistoryMessage } from "../ports/platform-adapter.js";
import { fence, quoteName } from "../safety/fence.js";
import { AttachedFiles, type Attached } from "./attached.js";
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
  /** What could be read of the messages' files; a file that is not there is only named. */
  readonly files?: ReadonlyMap<Attachment, ReadFile>;
  /** Characters of all documents together. */
  readonly documentChars?: number;
}

export interface Composed {
  /** What the model sees. */
  readonly content: string;
  /** In the order of their numbers in `content`. */
  readonly images: readonly StoredImage[];
  /** The speaker's own words alone, spoken ones too. */
  readonly said: string;
}

/** A message this much older than now shows when it was said (milliseconds). */
const lateAfterMs = 120_000;
const hourMs = 3_600_000;
const documentLimit = 80_000;
/** Earlier messages are cut to this many characters each. */
const earlierLength = 1_000;

export function compose(input: ComposeInput): Composed {
  const files = new AttachedFiles(input.files ?? new Map(), input.documentChars ?? documentLimit);
  const blocks: string[] = [];
  const said: string[] = [];
  if (input.earlier !== undefined && input.earlier.length > 0) blocks.push(quoteEarlier(input.earlier));
  let previousAt = input.previousAt;
  for (const message of input.messages) {
    const stamp = timeStamp(message.at, previousAt, input.now, input.timeZone);
    const one = composeOne(message, stamp, files);
    blocks.push(one.content);
    said.push(...one.said);
    previousAt = Number.isNaN(new Date(message.at).getTime()) ? previousAt : message.at;
  }
  return { content: blocks.join("\n\n"), images: files.images, said: said.filter((text) => text.trim() !== "").join("\n") };
}

/** A composed message as the transcript keeps it. */
export function userEntry({ content, images }: Composed): UserEntry {
  return { role: "user", content, ...(images.length === 0 ? {} : { images }) };
}

/** A short id that stays the same for an account and says nothing about it; tells namesakes apart. */
export function shortId(platform: string, accountId: string): string {
  return createHash("sha256").update(accountKey(platform, accountId)).digest("hex").slice(0, 6);
}

function composeOne(message: InboundMessage, stamp: string | undefined, files: AttachedFiles): { content: string; said: string[] } {
  const lines: string[] = [];
  if (isGroup(message.chat.kind)) {
    lines.push(`[${quoteName(message.account.displayName)} · ${shortId(message.platform, message.account.id)}]`);
  }
  if (stamp !== undefined) lines.push(stamp);
  if (message.replyTo !== undefined) {
    const from = message.replyTo.fromSelf === true ? "you" : message.replyTo.author;
    const attached = message.replyTo.attachments.map((file) => files.describe(file, from));
    lines.push(
      fence("quoted-message", [message.replyTo.text, ...attached.map(labelled)].filter((line) => line !== "").join("\n"), { source: from }),
    );
    lines.push(...documentsOf(attached));
  }
  const { forwardedFrom } = message;
  const attached = message.attachments.map((file) => files.describe(file, forwardedFrom));
  if (forwardedFrom !== undefined) {
    const spoken = attached.flatMap((file) => file.speech ?? []);
    lines.push(fence("forwarded-message", [message.text, ...spoken].filter((line) => line !== "").join("\n"), { source: forwardedFrom }));
    lines.push(...attached.map((file) => file.line), ...documentsOf(attached));
    return { content: lines.join("\n"), said: [] };
  }
  if (message.text !== "") lines.push(message.text);
  lines.push(...attached.map(labelled), ...documentsOf(attached));
  return { content: lines.join("\n"), said: [message.text, ...attached.flatMap((file) => file.speech ?? [])] };
}

function labelled({ line, speech }: Attached): string {
  return speech === undefined ? line : `${line}\n${speech}`;
}

function documentsOf(attached: readonly Attached[]): string[] {
  return attached.flatMap((file) => file.document ?? []);
}

function quoteEarlier(messages: readonly HistoryMessage[]): string {
  const unread = new AttachedFiles(new Map(), 0);
  const lines = messages.map((message) => {
    const author = message.fromSelf === true ? "you" : quoteName(message.author);
    const text = message.text.length > earlierLength ? `${message.text.slice(0, earlierLength)}…` : message.text;
    return `${author}: ${[text, ...message.attachments.map((file) => unread.describe(file).line)].filter((line) => line !== "").join(" ")}`;
  });
  return fence("earlier-messages", lines.join("\n"));
}

/** Local time when the day changed or an hour passed since the message before, or when the message waited. */
function timeStamp(at: number, previousAt: number | undefined, now: number, timeZone: string): string | undefined {
  // A platform may name an instant that no calendar has.
  if (Number.isNaN(new Date(at).getTime())) return undefined;
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
