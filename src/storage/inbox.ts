/**
 * The inbox: each act once, with what became of it. A row is never dropped without a disposition; what was said may be
 * removed from it, its key stays for 90 days.
 */
import type { ChatKind, InboundEvent } from "../domain/message.js";
import type { Clock, Ids } from "../ports/runtime.js";
import type { Disposition, Inbox, InboxRow } from "../ports/mailbox.js";
import type { Database } from "./database.js";
import { fromJson, idList, optional, toJson } from "./json-column.js";
import { insertOutbox } from "./outbox-rows.js";
import { bodiesKeptMs, pruneBatch, rowsKeptMs } from "./retention.js";
import type { Tx } from "./sql.js";

interface Row {
  readonly id: number;
  readonly event: string;
  readonly state: InboxRow["state"];
  readonly received_at: number;
  readonly turn_id: string | null;
  readonly disposition: Disposition | null;
  readonly reason: string | null;
  readonly repeats: number;
}

const columns = "id, event, state, received_at, turn_id, disposition, reason, repeats";

export function createInbox({ db, clock, ids }: { readonly db: Database; readonly clock: Clock; readonly ids: Ids }): Inbox {
  return {
    accept(events) {
      return db.write((tx) => events.flatMap((event) => acceptOne(tx, event, clock.now())), { patient: true });
    },
    open() {
      return db.read((tx) =>
        tx.all<Row>(`select ${columns} from inbox where state in ('new', 'waiting') and turn_id is null order by id`).map(fromRow),
      );
    },
    async wait(rowIds) {
      if (rowIds.length === 0) return;
      await db.write((tx) =>
        tx.run("update inbox set state = 'waiting' where state = 'new' and id in (select value from json_each(?))", [idList(rowIds)]),
      );
    },
    settle(rowIds, disposition, options = {}) {
      return db.write(
        (tx) => {
          const settled = rowIds.filter((id) => settleRow(tx, id, disposition, options.reason));
          if (options.dropText === true) for (const id of rowIds) dropWords(tx, id);
          // Answered before: the same answer is not stored a second time.
          if (rowIds.length > 0 && settled.length === 0) return [];
          return insertOutbox(tx, options.outbox ?? [], ids, clock.now());
        },
        { patient: true },
      );
    },
    replaceText(originalKey, text) {
      return db.write((tx) => {
        const row = tx.get<Row>(
          `select ${columns} from inbox where key = ? and kind = 'message' and state in ('new', 'waiting') and turn_id is null`,
          [originalKey],
        );
        if (row === undefined) return false;
        storeEvent(tx, row.id, { ...fromJson<Extract<InboundEvent, { kind: "message" }>>(row.event), text });
        return true;
      });
    },
    list({ platform, chatId, limit }) {
      return db.read((tx) =>
        tx
          .all<Row>(
            `select ${columns} from inbox where (@platform is null or platform = @platform) and (@chatId is null or chat_id = @chatId)
             order by id desc limit @limit`,
            { platform: platform ?? null, chatId: chatId ?? null, limit },
          )
          .map(fromRow),
      );
    },
    lastSeen(platform, limit) {
      return db.read((tx) =>
        tx.all<{ chatId: string; kind: ChatKind; messageId: string }>(
          `select chat_id as chatId, kind, message_id as messageId from seen_chats where platform = ? order by at desc, chat_id limit ?`,
          [platform, limit],
        ),
      );
    },
    async prune(now) {
      const emptied = await pruneBatch(db, (tx, limit) => {
        const found = tx.all<{ id: number }>("select id from inbox where state = 'done' and bare = 0 and received_at < ? limit ?", [
          now - bodiesKeptMs,
          limit,
        ]);
        for (const { id } of found) dropWords(tx, id);
        return found.length;
      });
      const removed = await pruneBatch(
        db,
        (tx, limit) =>
          tx.run("delete from inbox where id in (select id from inbox where state = 'done' and received_at < ? limit ?)", [
            now - rowsKeptMs,
            limit,
          ]).changes,
      );
      return emptied + removed;
    },
  };
}

function acceptOne(tx: Tx, event: InboundEvent, now: number): InboxRow[] {
  const stored = tx.get<Row>(
    `insert into inbox (key, platform, chat_id, kind, event, received_at) values (?, ?, ?, ?, ?, ?)
     on conflict (key) do update set repeats = repeats + 1 returning ${columns}`,
    [event.key, event.platform, event.chat.id, event.kind, toJson(event), now],
  );
  if (stored === undefined || stored.repeats > 0) return [];
  if (event.kind === "message") {
    tx.run(
      `insert into seen_chats (platform, chat_id, kind, message_id, at) values (?, ?, ?, ?, ?)
       on conflict (platform, chat_id) do update set kind = excluded.kind, message_id = excluded.message_id, at = excluded.at
       where excluded.at >= seen_chats.at`,
      [event.platform, event.chat.id, event.chat.kind, event.messageId, event.at],
    );
  }
  return [fromRow(stored)];
}

/** Ends a row that has no disposition yet; false when it has one. Shared with the turn's commit. */
export function settleRow(tx: Tx, id: number, disposition: Disposition, reason: string | undefined): boolean {
  const sql = "update inbox set state = 'done', disposition = ?, reason = ? where id = ? and state <> 'done'";
  return tx.run(sql, [disposition, reason ?? null, id]).changes > 0;
}

function dropWords(tx: Tx, id: number): void {
  const row = tx.get<{ event: string }>("select event from inbox where id = ? and bare = 0", [id]);
  if (row === undefined) return;
  storeEvent(tx, id, withoutWords(fromJson<InboundEvent>(row.event)));
  tx.run("update inbox set bare = 1 where id = ?", [id]);
}

function storeEvent(tx: Tx, id: number, event: InboundEvent): void {
  tx.run("update inbox set event = ? where id = ?", [toJson(event), id]);
}

/** The event without anything that was said: who, where and when stay. */
function withoutWords(event: InboundEvent): InboundEvent {
  switch (event.kind) {
    case "message": {
      const { replyTo: _replyTo, forwardedFrom: _forwardedFrom, command, ...rest } = event;
      return { ...rest, text: "", attachments: [], ...optional("command", command && { name: command.name, args: "" }) };
    }
    case "edit":
      return { ...event, text: "" };
    case "button":
      return { ...event, data: "" };
    case "chat":
      return event;
  }
}

function fromRow(row: Row): InboxRow {
  return {
    id: row.id,
    event: fromJson<InboundEvent>(row.event),
    state: row.state,
    receivedAt: row.received_at,
    repeats: row.repeats,
    ...optional("turnId", row.turn_id),
    ...optional("disposition", row.disposition),
    ...optional("reason", row.reason),
  };
}
