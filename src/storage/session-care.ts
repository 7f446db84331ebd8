/**
 * Sessions taken up again, turns taken back, and what was overheard in groups. A session with a running turn is never touched.
 */
import type { InboundEvent } from "../domain/message.js";
import type { LastTurn, Overheard, SessionCare, SessionPlaceRow } from "../ports/session-care.js";
import type { Database } from "./database.js";
import { insertIntents } from "./intents.js";
import { fromJson, optional, toJson } from "./json-column.js";
import { pruneBatch } from "./retention.js";
import { deleteMessages } from "./search-remove.js";
import type { Tx } from "./sql.js";

export function createSessionCare({ db }: { readonly db: Database }): SessionCare {
  return {
    resume: (sessionId, place, now, intents) =>
      db.write((tx) => {
        const done = resume(tx, sessionId, place, now);
        if (done === "resumed") insertIntents(tx, intents, now);
        return done;
      }),
    lastTurn: (sessionId) => db.read((tx) => lastTurn(tx, sessionId)),
    removeTurn(sessionId, turnId) {
      return db.write((tx) => {
        if (isRunning(tx, sessionId) || lastTurnId(tx, sessionId) !== turnId) return false;
        const ids = tx.all<{ id: number }>("select id from messages where session_id = ? and turn_id = ?", [sessionId, turnId]);
        deleteMessages(
          tx,
          sessionId,
          ids.map(({ id }) => id),
        );
        return true;
      });
    },
    running: (sessionId) => db.read((tx) => isRunning(tx, sessionId)),
    overheard: (place, notBefore, limit) => db.read((tx) => overheard(tx, place, notBefore, limit)),
    forgetOverheard(before) {
      return pruneBatch(
        db,
        (tx, limit) =>
          tx.run(
            `update inbox set bare = 1, event = json_remove(json_set(event, '$.text', '', '$.attachments', json('[]')), '$.replyTo', '$.forwardedFrom')
           where id in (select id from inbox where disposition = 'not-addressed' and kind = 'message' and bare = 0 and state = 'done'
             and received_at < ? limit ?)`,
            [before, limit],
          ).changes,
      );
    },
  };
}

function isRunning(tx: Tx, sessionId: string): boolean {
  return tx.get("select 1 from turns where session_id = ? and state = 'running'", [sessionId]) !== undefined;
}

function resume(tx: Tx, sessionId: string, place: SessionPlaceRow, now: number): "resumed" | "busy" | "gone" {
  if (tx.get("select 1 from sessions where id = ?", [sessionId]) === undefined) return "gone";
  const active = tx.get<{ id: string }>("select id from sessions where key = ? and ended_at is null", [place.key]);
  if (isRunning(tx, sessionId) || (active !== undefined && isRunning(tx, active.id))) return "busy";
  if (active !== undefined && active.id !== sessionId) {
    tx.run("update sessions set ended_at = ?, end_reason = 'resumed another' where id = ?", [now, active.id]);
  }
  tx.run(
    `update sessions set key = @key, platform = @platform, chat_id = @chatId, chat_kind = @chatKind, thread_id = @threadId, route = @route,
       ended_at = null, end_reason = null, needs_rebuild = 1, last_active_at = @now where id = @id`,
    {
      id: sessionId,
      key: place.key,
      platform: place.platform,
      chatId: place.chatId,
      chatKind: place.chatKind,
      threadId: place.threadId ?? null,
      route: toJson(place.route),
      now,
    },
  );
  return "resumed";
}

function lastTurnId(tx: Tx, sessionId: string): string | undefined {
  return tx.get<{ id: string }>("select turn_id as id from messages where session_id = ? order by id desc limit 1", [sessionId])?.id;
}

function lastTurn(tx: Tx, sessionId: string): LastTurn | undefined {
  const turnId = lastTurnId(tx, sessionId);
  if (turnId === undefined) return undefined;
  const row = tx.get<{ said: string; platform: string; accountId: string }>(
    `select said, json_extract(speaker, '$.platform') as platform, json_extract(speaker, '$.accountId') as accountId from turns where id = ?`,
    [turnId],
  );
  if (row === undefined) return undefined;
  const inbox = tx.get<{ event: string }>(
    "select event from inbox where turn_id = ? and kind = 'message' and bare = 0 order by id limit 1",
    [turnId],
  );
  const event = inbox === undefined ? undefined : fromJson<InboundEvent>(inbox.event);
  return { turnId, ...row, ...optional("message", event?.kind === "message" ? event : undefined) };
}

function overheard(tx: Tx, place: Parameters<SessionCare["overheard"]>[0], notBefore: number, limit: number): Overheard[] {
  return tx
    .all<{ author: string; text: string; at: number }>(
      `select json_extract(event, '$.account.displayName') as author, json_extract(event, '$.text') as text, json_extract(event, '$.at') as at
       from inbox where platform = @platform and chat_id = @chatId and disposition = 'not-addressed' and bare = 0 and kind = 'message'
         and id < @before and received_at >= @notBefore and coalesce(json_extract(event, '$.threadId'), '') = @threadId
         and id > coalesce((select max(i.id) from inbox i join turns t on t.id = i.turn_id where t.session_id = @sessionId and i.id < @before), 0)
         and json_extract(event, '$.text') <> ''
       order by id desc limit @limit`,
      {
        platform: place.platform,
        chatId: place.chatId,
        threadId: place.threadId ?? "",
        sessionId: place.sessionId,
        before: place.beforeInboxId,
        notBefore,
        limit,
      },
    )
    .toReversed();
}
