/**
 * Session and message rows as the ports show them.
 */
import type { ChatKind } from "../domain/message.js";
import type { Entry } from "../domain/transcript.js";
import type { Frozen, Session, StoredEntry } from "../ports/stores.js";
import { fromJson, optional, optionalJson } from "./json-column.js";

export interface StoredSession {
  readonly id: string;
  readonly key: string;
  readonly space_id: string;
  readonly space_kind: "person" | "group";
  readonly person_id: string | null;
  readonly platform: string;
  readonly chat_id: string;
  readonly chat_kind: ChatKind;
  readonly thread_id: string | null;
  readonly origin: string;
  readonly route: string;
  readonly title: string | null;
  readonly is_private: number;
  readonly parent_id: string | null;
  readonly frozen: string | null;
  readonly needs_rebuild: number;
  readonly created_at: number;
  readonly last_active_at: number;
  readonly ended_at: number | null;
  readonly end_reason: string | null;
}

export function sessionFromRow(row: StoredSession): Session {
  return {
    id: row.id,
    key: row.key,
    spaceId: row.space_id,
    spaceKind: row.space_kind,
    platform: row.platform,
    chatId: row.chat_id,
    chatKind: row.chat_kind,
    origin: row.origin,
    route: fromJson(row.route),
    isPrivate: row.is_private === 1,
    needsRebuild: row.needs_rebuild === 1,
    createdAt: row.created_at,
    lastActiveAt: row.last_active_at,
    ...optional("personId", row.person_id),
    ...optional("threadId", row.thread_id),
    ...optional("title", row.title),
    ...optional("parentId", row.parent_id),
    ...optionalJson<Frozen, "frozen">("frozen", row.frozen),
    ...optional("endedAt", row.ended_at),
    ...optional("endReason", row.end_reason),
  };
}

export interface StoredMessage {
  readonly id: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly entry: string;
  readonly text: string;
  readonly account_id: string | null;
  readonly author: string | null;
  readonly at: number;
}

export const messageColumns = "id, session_id, turn_id, entry, text, account_id, author, at";

export function entryFromRow(row: StoredMessage): StoredEntry {
  return {
    id: row.id,
    sessionId: row.session_id,
    turnId: row.turn_id,
    entry: fromJson<Entry>(row.entry),
    text: row.text,
    at: row.at,
    ...optional("accountId", row.account_id),
    ...optional("author", row.author),
  };
}
