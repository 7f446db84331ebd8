/** Takes messages out of both search indexes, in the transaction that removes them from the transcript: search and transcript agree. */
import { idList } from "./json-column.js";
import { feedStretches } from "./search-feed.js";
import type { Tx } from "./sql.js";

/** Removes messages (still stored) from the index of single messages. */
export function unfeedMessages(tx: Tx, ids: readonly number[]): void {
  const indexed = tx.all<{ id: number; origin: string }>(
    `select m.id, s.origin from messages m join sessions s on s.id = m.session_id join fts_message_docsize d on d.id = m.id
     where m.id in (select value from json_each(?))`,
    [idList(ids)],
  );
  for (const { id, origin } of indexed) {
    tx.run("delete from fts_message where rowid = ?", [id]);
    tx.run("update search_origins set messages = messages - 1 where origin = ?", [origin]);
  }
}

/** Removes the stretches of a session from the one that holds `fromId` on. */
export function unfeedStretches(tx: Tx, sessionId: string, fromId: number): void {
  const origin = tx.get<{ origin: string }>("select origin from sessions where id = ?", [sessionId])?.origin ?? "";
  for (const { id } of tx.all<{ id: number }>("select id from search_stretches where session_id = ? and to_id >= ?", [sessionId, fromId])) {
    tx.run("delete from fts_stretch where rowid = ?", [id]);
    tx.run("delete from search_stretches where id = ?", [id]);
    tx.run("update search_origins set stretches = stretches - 1 where origin = ?", [origin]);
  }
}

/** Deletes messages of one session for good, and feeds anew what is left of the stretches they stood in. */
export function deleteMessages(tx: Tx, sessionId: string, ids: readonly number[]): void {
  const first = Math.min(...ids);
  if (ids.length === 0) return;
  const hadStretch = tx.get("select 1 from search_stretches where session_id = ? and to_id >= ?", [sessionId, first]) !== undefined;
  unfeedMessages(tx, ids);
  unfeedStretches(tx, sessionId, first);
  tx.run("delete from messages where id in (select value from json_each(?))", [idList(ids)]);
  if (hadStretch) feedStretches(tx, sessionId, Number.MAX_SAFE_INTEGER);
}
