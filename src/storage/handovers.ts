/**
 * Sessions that continue others, and the hand-overs between them. Messages stay where they were said; a row here only names
 * which of them the model still sees, so whatever is deleted there is gone here too.
 */
import { GatewayError } from "../domain/errors.js";
import type { Continuation, Handovers } from "../ports/handovers.js";
import type { StoredEntry } from "../ports/stores.js";
import type { Database } from "./database.js";
import { insertIntents } from "./intents.js";
import { fromJson, toJson } from "./json-column.js";
import { insertOutbox } from "./outbox-rows.js";
import { entryFromRow, messageColumns, type StoredMessage } from "./session-rows.js";
import type { Tx } from "./sql.js";
import type { Ids } from "../ports/runtime.js";

export function createHandovers({ db, ids }: { readonly db: Database; readonly ids: Ids }): Handovers {
  return {
    history: (sessionId) => db.read((tx) => history(tx, sessionId)),
    prepared(sessionId) {
      return db.read((tx) => {
        const row = tx.get<{ text: string; head_ids: string; up_to: number; at: number }>(
          "select text, head_ids, up_to, at from prepared_handovers where session_id = ?",
          [sessionId],
        );
        return row === undefined
          ? undefined
          : { sessionId, text: row.text, headIds: fromJson<number[]>(row.head_ids), upTo: row.up_to, at: row.at };
      });
    },
    prepare({ sessionId, text, headIds, upTo, at }, outbox) {
      return db.write((tx) => {
        tx.run("insert or replace into prepared_handovers (session_id, text, head_ids, up_to, at) values (?, ?, ?, ?, ?)", [
          sessionId,
          text,
          toJson(headIds),
          upTo,
          at,
        ]);
        insertOutbox(tx, outbox, ids, at);
      });
    },
    discard: (sessionId) => db.write((tx) => void tx.run("delete from prepared_handovers where session_id = ?", [sessionId])),
    continueIn: (continuation, now) => db.write((tx) => continueIn(tx, continuation, now)),
    addIntents: (intents, now) => db.write((tx) => insertIntents(tx, intents, now)),
  };
}

function history(tx: Tx, sessionId: string): StoredEntry[] {
  const own = tx
    .all<StoredMessage>(`select ${messageColumns} from messages where session_id = ? order by id`, [sessionId])
    .map(entryFromRow);
  const row = tx.get<{ text: string; head_ids: string; tail_ids: string; at: number }>(
    "select text, head_ids, tail_ids, at from handovers where session_id = ?",
    [sessionId],
  );
  if (row === undefined) return own;
  const byIds = (list: string): StoredEntry[] =>
    tx
      .all<StoredMessage>(`select ${messageColumns} from messages where id in (select value from json_each(?)) order by id`, [list])
      .map(entryFromRow);
  return [...byIds(row.head_ids), handoverEntry(sessionId, row), ...byIds(row.tail_ids), ...own];
}

function continueIn(
  tx: Tx,
  { parentId, childId, text, headIds, tailIds, turn, intents }: Continuation,
  now: number,
): "continued" | "busy" | "gone" {
  if (tx.get("select 1 from sessions where id = ? and ended_at is null", [parentId]) === undefined) return "gone";
  if (tx.get("select 1 from turns where session_id = ? and state = 'running' and id <> ?", [parentId, turn?.id ?? ""]) !== undefined)
    return "busy";
  tx.run("update sessions set ended_at = ?, end_reason = 'continued' where id = ?", [now, parentId]);
  tx.run(
    `insert into sessions (id, key, space_id, space_kind, person_id, platform, chat_id, chat_kind, thread_id, origin, route, title, is_private,
       parent_id, created_at, last_active_at)
     select @childId, key, space_id, space_kind, person_id, platform, chat_id, chat_kind, thread_id, origin, route, title, is_private,
       id, @now, @now from sessions where id = @parentId`,
    { childId, parentId, now },
  );
  tx.run("insert into handovers (session_id, text, head_ids, tail_ids, at) values (?, ?, ?, ?, ?)", [
    childId,
    text,
    toJson(headIds),
    toJson(tailIds),
    now,
  ]);
  tx.run("delete from prepared_handovers where session_id = ?", [parentId]);
  if (turn !== undefined) {
    const moved = tx.run("update turns set session_id = ? where id = ? and claim = ? and state = 'running'", [
      childId,
      turn.id,
      turn.claim,
    ]);
    if (moved.changes !== 1)
      throw new GatewayError("turn.outdated", `Turn ${turn.id} lost its claim before its conversation was continued.`);
  }
  insertIntents(tx, intents, now);
  return "continued";
}

/** What a summary says nobody said: it is no source for memory (no account) and no text for search. */
function handoverEntry(sessionId: string, row: { readonly text: string; readonly at: number }): StoredEntry {
  return { id: 0, sessionId, turnId: "handover", entry: { role: "user", content: row.text }, text: "", at: row.at };
}
