/**
 * Earlier messages of a chat, as quoted context. A thread started from a message does not contain that message nor what
 * led to it: where the thread is empty or not there yet, its parent is read.
 */
import type { ChatRef } from "../../src/domain/message.js";
import type { HistoryMessage } from "../../src/ports/platform-adapter.js";
import type { Api } from "./api.js";
import { apiCode, codes } from "./failures.js";
import { type Fields, numberOf, textOf } from "./fields.js";
import { quotedOf } from "./inbound.js";
import { isSnowflake, timeOf } from "./snowflake.js";
import type { TextContext } from "./text-in.js";

const mostMessages = 200;
const pageSize = 100;
/** Plain, reply, and answers to commands. */
const spoken: ReadonlySet<number> = new Set([0, 19, 20, 23]);

/** Oldest first, at most `limit`. Throws as the library does. */
export async function readHistory(api: Api, chat: ChatRef, before: string, limit: number, texts: TextContext): Promise<HistoryMessage[]> {
  const wanted = Math.min(limit, mostMessages);
  if (wanted <= 0) return [];
  const cursor = isSnowflake(before) ? before : undefined;
  try {
    return await read(api, chat.id, cursor, wanted, texts);
  } catch (error) {
    if (chat.parentId === undefined || apiCode(api.sdk, error) !== codes.unknownChannel) throw error;
    return read(api, chat.parentId, chat.id, wanted, texts);
  }
}

async function read(
  api: Api,
  channelId: string,
  before: string | undefined,
  wanted: number,
  texts: TextContext,
): Promise<HistoryMessage[]> {
  const found: Fields[] = [];
  let cursor = before;
  while (found.length < wanted) {
    const limit = Math.min(pageSize, wanted - found.length);
    const page = await api.messages(channelId, { limit, ...(cursor === undefined ? {} : { before: cursor }) });
    found.push(...page);
    cursor = textOf(page.at(-1) ?? {}, "id");
    if (page.length < limit || cursor === undefined) break;
  }
  return found.reverse().flatMap((message): HistoryMessage[] => {
    const quoted = spoken.has(numberOf(message, "type") ?? 0) ? quotedOf(message, texts) : undefined;
    if (quoted === undefined || (quoted.text === "" && quoted.attachments.length === 0)) return [];
    return [{ ...quoted, at: timeOf(quoted.messageId ?? "") ?? 0 }];
  });
}
