/**
 * Reading back what a channel or thread holds: earlier messages for the model, and a message of ours whose answer was
 * lost, which is known by its metadata.
 */
import { DeliveryError } from "../../src/domain/errors.js";
import type { Route, SentRef } from "../../src/domain/message.js";
import type { HistoryMessage } from "../../src/ports/platform-adapter.js";
import type { SlackApi } from "./api.js";
import { attachmentsOf } from "./attachments.js";
import type { Directory } from "./directory.js";
import { fieldsOf, listOf, textOf, type Fields } from "./fields.js";
import { metadataType } from "./outbound.js";
import { millis, namesOf, type Self } from "./place.js";
import { idsIn, oneLine, readText } from "./text-in.js";

const pageSize = 200;
const maxPages = 10;

/** How far this machine's clock may be ahead of Slack's, in milliseconds. */
const clockSkewMs = 120_000;

interface Page {
  readonly messages: Fields[];
  readonly next: string | undefined;
}

async function page(api: SlackApi, method: string, args: Record<string, unknown>, cursor: string | undefined): Promise<Page> {
  const answer = await api.call(method, { ...args, ...(cursor === undefined ? {} : { cursor }) });
  const next = textOf(fieldsOf(answer, "response_metadata"), "next_cursor");
  return { messages: listOf(answer, "messages"), next: answer["has_more"] === true ? next : undefined };
}

function place(route: { readonly chatId: string; readonly threadId?: string | undefined }): {
  readonly method: string;
  readonly args: Record<string, unknown>;
} {
  return route.threadId === undefined
    ? { method: "conversations.history", args: { channel: route.chatId, limit: pageSize } }
    : { method: "conversations.replies", args: { channel: route.chatId, ts: route.threadId, limit: pageSize } };
}

/**
 * Looks for the message with this delivery id among those since `sentAfter`. `absent` only when all of them were seen;
 * a shared file carries no metadata, so one of ours in that time makes the answer `unknown`.
 */
export async function findSent(
  api: SlackApi,
  self: Self,
  route: Route,
  deliveryId: string,
  sentAfter: number,
): Promise<SentRef | "absent" | "unknown"> {
  const { method, args } = place(route);
  const oldest = (Math.max(0, sentAfter - clockSkewMs) / 1000).toFixed(6);
  let cursor: string | undefined;
  let unclear = false;
  try {
    for (let count = 0; count < maxPages; count += 1) {
      const { messages, next } = await page(api, method, { ...args, oldest, include_all_metadata: true }, cursor);
      const ours = messages.filter((message) => isOurs(message, self));
      const ts = ours.filter((message) => deliveryOf(message) === deliveryId).map((message) => textOf(message, "ts"))[0];
      if (ts !== undefined)
        return { chatId: route.chatId, ...(route.threadId === undefined ? {} : { threadId: route.threadId }), messageId: ts };
      unclear ||= ours.some((message) => listOf(message, "files").length > 0);
      if (next === undefined) return unclear ? "unknown" : "absent";
      cursor = next;
    }
    return "unknown";
  } catch (error) {
    if (error instanceof DeliveryError) return "unknown"; // Slack cannot be asked now: that is what "unknown" means
    throw error;
  }
}

function isOurs(message: Fields, self: Self): boolean {
  return message["user"] === self.userId || (self.botId !== undefined && message["bot_id"] === self.botId);
}

function deliveryOf(message: Fields): string | undefined {
  const metadata = fieldsOf(message, "metadata");
  return metadata["event_type"] === metadataType ? textOf(fieldsOf(metadata, "event_payload"), "delivery_id") : undefined;
}

export interface HistoryDeps {
  readonly api: SlackApi;
  readonly self: Self;
  readonly directory: Directory;
  readonly namesMs: number;
}

/**
 * The last `limit` messages before `before`, oldest first. A message that opens its own thread has nothing before it
 * there: then the channel is read.
 */
export async function readHistory(
  deps: HistoryDeps,
  chatId: string,
  threadId: string | undefined,
  before: string,
  limit: number,
): Promise<HistoryMessage[]> {
  if (limit <= 0) return [];
  const inThread = threadId !== undefined && threadId !== before;
  const found = inThread
    ? await threadBefore(deps.api, chatId, threadId, before, limit)
    : await channelBefore(deps.api, chatId, before, limit);
  const said = found.filter(
    (message) => textOf(message, "ts") !== undefined && (textOf(message, "text") !== undefined || listOf(message, "files").length > 0),
  );
  const texts = said.map((message) => idsIn(textOf(message, "text") ?? ""));
  const authors = said.map((message) => textOf(message, "user")).filter((id) => id !== undefined);
  const people = [...new Set([...authors, ...texts.flatMap((ids) => ids.people)])].filter((id) => id !== deps.self.userId);
  await deps.directory.load({ people, channels: [...new Set(texts.flatMap((ids) => ids.channels))] }, deps.namesMs);
  return said.map((message) => historyMessage(deps, message));
}

async function channelBefore(api: SlackApi, chatId: string, before: string, limit: number): Promise<Fields[]> {
  const latest = /^\d+\.\d+$/.test(before) ? { latest: before } : {}; // a slash command has no place in the channel
  const { messages } = await page(
    api,
    "conversations.history",
    { channel: chatId, ...latest, inclusive: false, limit: Math.min(limit, pageSize) },
    undefined,
  );
  return messages.toReversed().slice(-limit);
}

/** Slack gives replies from the oldest on, so the pages are walked and only the end is kept. */
async function threadBefore(api: SlackApi, chatId: string, threadId: string, before: string, limit: number): Promise<Fields[]> {
  let kept: Fields[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < maxPages; count += 1) {
    const { messages, next } = await page(
      api,
      "conversations.replies",
      { channel: chatId, ts: threadId, latest: before, inclusive: false, limit: pageSize },
      cursor,
    );
    kept = [...kept, ...messages.filter((message) => Number(message["ts"]) < Number(before))].slice(-limit);
    if (next === undefined) break;
    cursor = next;
  }
  return kept;
}

function historyMessage(deps: HistoryDeps, message: Fields): HistoryMessage {
  const ts = textOf(message, "ts") ?? "";
  const userId = textOf(message, "user");
  const fromSelf = isOurs(message, deps.self);
  const name = userId === undefined ? undefined : deps.directory.person(userId)?.name;
  return {
    author: oneLine(name ?? textOf(message, "username") ?? userId ?? ""),
    text: readText(textOf(message, "text") ?? "", deps.self.userId, namesOf(deps.directory)),
    attachments: attachmentsOf(message),
    messageId: ts,
    at: millis(ts),
    ...(fromSelf ? { fromSelf } : {}),
  };
}
