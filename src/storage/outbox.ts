/**
 * The outbox: rendered parts on their way, in order per lane (platform, chat and thread). A row that waits or is being sent
 * holds back the later rows of its lane; one that has ended, however it ended, does not.
 */
import type { Clock, Ids } from "../ports/runtime.js";
import type { Outbox, OutboxOutcome, OutboxState } from "../ports/mailbox.js";
import type { Database } from "./database.js";
import { toJson } from "./json-column.js";
import { insertOutbox, moveOutbox, noteUnknownRows, outboxRow, type StoredOutbox } from "./outbox-rows.js";
import { bodiesKeptMs, pruneBatch, rowsKeptMs } from "./retention.js";
import type { Tx } from "./sql.js";

const unfinished = "state in ('waiting', 'sending')";
/** The rows that are next in their lanes; those behind them wait for them, however long they have been due. */
const isHead = `id in (select min(id) from outbox where ${unfinished} group by platform, chat_id, thread_id)`;
const place = "platform = ? and chat_id = ? and thread_id = ?";

export function createOutbox({ db, clock, ids }: { readonly db: Database; readonly clock: Clock; readonly ids: Ids }): Outbox {
  return {
    add: (rows) => db.write((tx) => insertOutbox(tx, rows, ids, clock.now())),
    heads(now, limit) {
      return db.read((tx) =>
        tx
          .all<StoredOutbox>(`select * from outbox where ${isHead} and state = 'waiting' and next_at <= ? order by id limit ?`, [
            now,
            limit,
          ])
          .map(outboxRow),
      );
    },
    nextDue() {
      return db.read(
        (tx) =>
          tx.get<{ at: number | null }>(`select min(next_at) as at from outbox where ${isHead} and state = 'waiting'`)?.at ?? undefined,
      );
    },
    sending(id) {
      return db.write(
        (tx) =>
          tx.run("update outbox set state = 'sending', attempts = attempts + 1 where id = ? and state = 'waiting'", [id]).changes === 1,
      );
    },
    // What a platform has confirmed must not be forgotten because the file is locked just now: a lost result is a doubtful part.
    result: (id, outcome) => db.write((tx) => storeResult(tx, id, outcome), { patient: true }),
    moveChat(platform, chatId, to) {
      return db.write((tx) => {
        if ("newChatId" in to) return moveOutbox(tx, platform, chatId, to.newChatId);
        return tx.run("update outbox set state = 'refused', error = ? where platform = ? and chat_id = ? and state = 'waiting'", [
          to.refuse,
          platform,
          chatId,
        ]).changes;
      });
    },
    recover() {
      return db.write((tx) => {
        const rows = tx.all<StoredOutbox>(
          "update outbox set state = 'unknown', error = 'the program ended while this part was being sent' where state = 'sending' returning *",
        );
        return rows.map(outboxRow).sort((a, b) => a.id - b.id);
      });
    },
    hasUnknown(platform, chatId, threadId) {
      const sql = `select 1 as found from outbox where ${place} and state = 'unknown' and noted = 0 limit 1`;
      return db.read((tx) => tx.get(sql, [platform, chatId, threadId ?? ""]) !== undefined);
    },
    noteUnknown: (platform, chatId, threadId) => db.write((tx) => noteUnknownRows(tx, platform, chatId, threadId)),
    lastReply(platform, chatId, threadId) {
      return db.read((tx) => {
        const newest = tx.get<StoredOutbox>(
          `select * from outbox where ${place} and kind = 'reply' and bare = 0 order by id desc limit 1`,
          [platform, chatId, threadId ?? ""],
        );
        if (newest === undefined) return [];
        if (newest.turn_id === null) return [outboxRow(newest)];
        return tx
          .all<StoredOutbox>("select * from outbox where turn_id = ? and kind = 'reply' and bare = 0 order by id", [newest.turn_id])
          .map(outboxRow);
      });
    },
    pendingOf(turnId) {
      return db.read((tx) => tx.get(`select 1 as found from outbox where turn_id = ? and ${unfinished} limit 1`, [turnId]) !== undefined);
    },
    counts() {
      return db.read((tx) =>
        tx.all<{ platform: string; state: OutboxState; count: number; oldestAt: number }>(
          `select platform, state, count(*) as count, min(created_at) as oldestAt from outbox group by platform, state order by platform, state`,
        ),
      );
    },
    async prune(now) {
      const emptied = await pruneBatch(
        db,
        (tx, limit) =>
          tx.run(
            `update outbox set bare = 1, part = '{"plain":"","payload":null}', buttons = null, file = null where id in
             (select id from outbox where created_at < ? and bare = 0 and not ${unfinished} limit ?)`,
            [now - bodiesKeptMs, limit],
          ).changes,
      );
      const removed = await pruneBatch(
        db,
        (tx, limit) =>
          tx.run(`delete from outbox where id in (select id from outbox where created_at < ? and not ${unfinished} limit ?)`, [
            now - rowsKeptMs,
            limit,
          ]).changes,
      );
      return emptied + removed;
    },
  };
}

/** A part that has ended stays as it ended; only a doubtful one may still turn out to be sent, or to be sent again. */
function storeResult(tx: Tx, id: number, outcome: OutboxOutcome): void {
  const open = "id = @id and state in ('waiting', 'sending', 'unknown')";
  if (outcome.state === "sent") {
    tx.run(`update outbox set state = 'sent', sent = @sent, sent_at = @at, error = null where ${open}`, {
      id,
      sent: toJson(outcome.sent),
      at: outcome.at,
    });
    return;
  }
  if (outcome.state !== "waiting") {
    tx.run(`update outbox set state = @state, error = @error where ${open}`, { id, state: outcome.state, error: outcome.error });
    return;
  }
  tx.run(`update outbox set state = 'waiting', next_at = @nextAt, error = @error where ${open}`, {
    id,
    nextAt: outcome.nextAt,
    error: outcome.error,
  });
  if (outcome.dropTakeOver === true) tx.run("update outbox set takes_over = null where id = ?", [id]);
  const { route } = outcome;
  if (route === undefined) return;
  tx.run("update outbox set route = ?, platform = ?, chat_id = ?, thread_id = ? where id = ?", [
    toJson(route),
    route.platform,
    route.chatId,
    route.threadId ?? "",
    id,
  ]);
}
