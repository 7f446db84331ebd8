/**
 * A chat gets a new id and keeps everything: sessions, access, space, waiting parts, open events. What was begun under the
 * new id in the meantime joins the old space; of two active sessions with one key the older goes on. Session origins
 * stay, because the search index holds them.
 */
import { sessionKey } from "../domain/identity.js";
import type { InboundEvent } from "../domain/message.js";
import { fromJson, toJson } from "./json-column.js";
import { moveOutbox } from "./outbox-rows.js";
import type { Tx } from "./sql.js";

export function migrateChat(tx: Tx, platform: string, from: string, to: string): void {
  if (from === to) return;
  moveSpace(tx, platform, from, to);
  moveSessions(tx, platform, from, to);
  moveChatRow(tx, platform, from, to);
  moveOutbox(tx, platform, from, to);
  moveInbox(tx, platform, from, to);
  tx.run("update or ignore codes set subject_id = ? where subject = 'chat' and platform = ? and subject_id = ?", [to, platform, from]);
}

function spaceOf(tx: Tx, platform: string, chatId: string): string | undefined {
  return tx.get<{ id: string }>("select id from spaces where kind = 'group' and platform = ? and chat_id = ?", [platform, chatId])?.id;
}

function moveSpace(tx: Tx, platform: string, from: string, to: string): void {
  const kept = spaceOf(tx, platform, from);
  if (kept === undefined) return;
  const newer = spaceOf(tx, platform, to);
  if (newer !== undefined) {
    tx.run("update sessions set space_id = ? where space_id = ?", [kept, newer]);
    tx.run("update intents set space_id = ? where space_id = ? and state in ('open', 'active')", [kept, newer]);
    tx.run("update chats set space_id = ? where space_id = ?", [kept, newer]);
    tx.run("update spaces set chat_id = null where id = ?", [newer]);
  }
  tx.run("update spaces set chat_id = ? where id = ?", [to, kept]);
}

function moveSessions(tx: Tx, platform: string, from: string, to: string): void {
  const oldStart = sessionKey({ platform, chat: { id: from, kind: "group" }, accountId: "" }, "chat");
  const newStart = sessionKey({ platform, chat: { id: to, kind: "group" }, accountId: "" }, "chat");
  const sessions = tx.all<{ id: string; key: string; ended_at: number | null; last_active_at: number }>(
    "select id, key, ended_at, last_active_at from sessions where platform = ? and chat_id = ?",
    [platform, from],
  );
  for (const session of sessions) {
    const rest = session.key.slice(oldStart.length);
    const moves = session.key.startsWith(oldStart) && (rest === "" || rest.startsWith("/") || rest.startsWith("@"));
    const key = moves ? newStart + rest : session.key;
    if (session.ended_at === null && moves) {
      tx.run("update sessions set ended_at = last_active_at, end_reason = 'migrated' where key = ? and ended_at is null and id <> ?", [
        key,
        session.id,
      ]);
    }
    tx.run("update sessions set key = ?, chat_id = ?, route = json_set(route, '$.chatId', ?) where id = ?", [key, to, to, session.id]);
  }
}

function moveChatRow(tx: Tx, platform: string, from: string, to: string): void {
  const names = { platform, from, to };
  tx.run(
    `insert into chats (platform, chat_id, kind, parent_id, container_id, title, admitted, unreachable, space_id, seen_at)
     select platform, @to, kind, parent_id, container_id, title, admitted, null, space_id, seen_at
     from chats where platform = @platform and chat_id = @from
     on conflict (platform, chat_id) do update set title = coalesce(title, excluded.title),
       container_id = coalesce(container_id, excluded.container_id), admitted = max(admitted, excluded.admitted), space_id = excluded.space_id`,
    names,
  );
  tx.run("delete from chats where platform = @platform and chat_id = @from", names);
  tx.run("update chats set parent_id = @to where platform = @platform and parent_id = @from", names);
}

function moveInbox(tx: Tx, platform: string, from: string, to: string): void {
  const open = tx.all<{ id: number; event: string }>("select id, event from inbox where platform = ? and chat_id = ? and state <> 'done'", [
    platform,
    from,
  ]);
  for (const row of open) {
    const event = fromJson<InboundEvent>(row.event);
    const chat = { ...event.chat, id: to };
    const moved =
      event.kind === "message" || event.kind === "button" ? { ...event, chat, route: { ...event.route, chatId: to } } : { ...event, chat };
    tx.run("update inbox set event = ?, chat_id = ? where id = ?", [toJson(moved), to, row.id]);
  }
  tx.run("update or replace seen_chats set chat_id = ? where platform = ? and chat_id = ?", [to, platform, from]);
}
