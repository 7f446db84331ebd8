/**
 * Outbox rows as they are stored: insertion inside any transaction (a reply is stored with what it answers) and reading.
 */
import type { Ids } from "../ports/runtime.js";
import type { NewOutbox, OutboxRow, OutboxState } from "../ports/mailbox.js";
import { fromJson, optional, optionalJson, toJson } from "./json-column.js";
import type { Tx } from "./sql.js";

export interface StoredOutbox {
  readonly id: number;
  readonly delivery_id: string;
  readonly kind: NewOutbox["kind"];
  readonly route: string;
  readonly part: string;
  readonly buttons: string | null;
  readonly file: string | null;
  readonly turn_id: string | null;
  readonly session_id: string | null;
  readonly takes_over: string | null;
  readonly silent: number;
  readonly state: OutboxState;
  readonly attempts: number;
  readonly created_at: number;
  readonly next_at: number;
  readonly sent: string | null;
  readonly sent_at: number | null;
  readonly error: string | null;
}

/** Stores rows in order and returns their ids. */
export function insertOutbox(tx: Tx, rows: readonly NewOutbox[], ids: Ids, now: number): number[] {
  return rows.map(
    (row) =>
      tx.run(
        `insert into outbox (delivery_id, kind, platform, chat_id, thread_id, route, part, buttons, file, turn_id, session_id,
           takes_over, silent, created_at, next_at)
         values (@deliveryId, @kind, @platform, @chatId, @thread, @route, @part, @buttons, @file, @turnId, @sessionId, @takesOver,
           @silent, @now, @now)`,
        {
          deliveryId: ids.next(),
          kind: row.kind,
          platform: row.route.platform,
          chatId: row.route.chatId,
          thread: row.route.threadId ?? "",
          route: toJson(row.route),
          part: toJson(row.part),
          buttons: toJson(row.buttons),
          file: toJson(row.file),
          turnId: row.turnId ?? null,
          sessionId: row.sessionId ?? null,
          takesOver: toJson(row.takesOver),
          silent: row.silent === true ? 1 : 0,
          now,
        },
      ).id,
  );
}

export function outboxRow(row: StoredOutbox): OutboxRow {
  return {
    id: row.id,
    deliveryId: row.delivery_id,
    kind: row.kind,
    route: fromJson(row.route),
    part: fromJson(row.part),
    state: row.state,
    attempts: row.attempts,
    createdAt: row.created_at,
    nextAt: row.next_at,
    ...(row.silent === 1 ? { silent: true } : {}),
    ...optionalJson<NonNullable<OutboxRow["buttons"]>, "buttons">("buttons", row.buttons),
    ...optionalJson<NonNullable<OutboxRow["file"]>, "file">("file", row.file),
    ...optional("turnId", row.turn_id),
    ...optional("sessionId", row.session_id),
    ...optionalJson<NonNullable<OutboxRow["takesOver"]>, "takesOver">("takesOver", row.takes_over),
    ...optionalJson<NonNullable<OutboxRow["sent"]>, "sent">("sent", row.sent),
    ...optional("sentAt", row.sent_at),
    ...optional("error", row.error),
  };
}

/** The next thing sent to this place has said that an earlier part may not have arrived. */
export function noteUnknownRows(tx: Tx, platform: string, chatId: string, threadId: string | undefined): void {
  tx.run("update outbox set noted = 1 where platform = ? and chat_id = ? and thread_id = ? and state = 'unknown' and noted = 0", [
    platform,
    chatId,
    threadId ?? "",
  ]);
}

/** Waiting rows of a chat go to its new id. Previews of the old chat can no longer be edited, so nothing is taken over. */
export function moveOutbox(tx: Tx, platform: string, from: string, to: string): number {
  return tx.run(
    `update outbox set chat_id = @to, route = json_set(route, '$.chatId', @to), takes_over = null
     where platform = @platform and chat_id = @from and state = 'waiting'`,
    { platform, from, to },
  ).changes;
}
