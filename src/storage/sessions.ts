/**
 * Sessions and their transcripts. At most one session of a key is active, which the database itself enforces; the
 * transcript grows only through a turn's commit.
 */
import { GatewayError } from "../domain/errors.js";
import type { NewSession, Session, Sessions } from "../ports/stores.js";
import { migrateChat } from "./chat-migration.js";
import type { Database } from "./database.js";
import { insertIntents } from "./intents.js";
import { toJson } from "./json-column.js";
import { ownerOfOrigin } from "./people-moves.js";
import { entryFromRow, messageColumns, sessionFromRow, type StoredMessage, type StoredSession } from "./session-rows.js";
import type { Tx } from "./sql.js";

const previewLength = 200;

export function createSessions({ db }: { readonly db: Database }): Sessions {
  return {
    active: (key) => db.read((tx) => activeSession(tx, key)),
    lastEnded(key) {
      const sql = "select max(ended_at) as at from sessions where key = ?";
      return db.read((tx) => tx.get<{ at: number | null }>(sql, [key])?.at ?? undefined);
    },
    byId(id) {
      return db.read((tx) => {
        const row = tx.get<StoredSession>("select * from sessions where id = ?", [id]);
        return row === undefined ? undefined : sessionFromRow(row);
      });
    },
    create: (session, now) => db.write((tx) => createSession(tx, session, now)),
    async freeze(id, frozen) {
      await db.write((tx) => tx.run("update sessions set frozen = ?, needs_rebuild = 0 where id = ?", [toJson(frozen), id]));
    },
    end(id, reason, now, intents) {
      return db.write((tx) => {
        const ended = tx.run("update sessions set ended_at = ?, end_reason = ? where id = ? and ended_at is null", [now, reason, id]);
        if (ended.changes > 0) insertIntents(tx, intents, now);
      });
    },
    async setTitle(id, title) {
      await db.write((tx) => tx.run("update sessions set title = ? where id = ?", [title, id]));
    },
    async rebuild(where) {
      const [column, value] =
        "personId" in where ? ["person_id", where.personId] : "spaceId" in where ? ["space_id", where.spaceId] : ["id", where.sessionId];
      await db.write((tx) => tx.run(`update sessions set needs_rebuild = 1 where ${column} = ? and ended_at is null`, [value]));
    },
    entries(sessionId) {
      return db.read((tx) =>
        tx.all<StoredMessage>(`select ${messageColumns} from messages where session_id = ? order by id`, [sessionId]).map(entryFromRow),
      );
    },
    list(spaceId, limit) {
      return db.read((tx) =>
        tx
          .all<StoredSession & { readonly message_count: number; readonly preview: string | null }>(
            `select s.*, (select count(*) from messages m where m.session_id = s.id) as message_count,
               (select substr(m.text, 1, ${previewLength}) from messages m where m.session_id = s.id and m.role = 'user' order by m.id limit 1) as preview
             from sessions s where s.space_id = ? order by s.last_active_at desc, s.created_at desc, s.id desc limit ?`,
            [spaceId, limit],
          )
          .map((row) => ({ ...sessionFromRow(row), messageCount: row.message_count, preview: row.preview ?? "" })),
      );
    },
    idle(from, to) {
      return db.read((tx) =>
        tx
          .all<StoredSession>("select * from sessions where ended_at is null and last_active_at between ? and ? order by last_active_at", [
            from,
            to,
          ])
          .map(sessionFromRow),
      );
    },
    migrateChat: (platform, fromChatId, toChatId) => db.write((tx) => migrateChat(tx, platform, fromChatId, toChatId)),
  };
}

function activeSession(tx: Tx, key: string): Session | undefined {
  const row = tx.get<StoredSession>("select * from sessions where key = ? and ended_at is null", [key]);
  return row === undefined ? undefined : sessionFromRow(row);
}

function createSession(tx: Tx, given: NewSession, now: number): Session {
  // Who an account belongs to may have changed since the message came in.
  const owner = given.spaceKind === "person" ? ownerOfOrigin(tx, given.platform, given.origin) : undefined;
  const session = owner === undefined ? given : { ...given, spaceId: owner, personId: owner };
  tx.run(
    `insert into sessions (id, key, space_id, space_kind, person_id, platform, chat_id, chat_kind, thread_id, origin, route, is_private,
       parent_id, created_at, last_active_at)
     values (@id, @key, @spaceId, @spaceKind, @personId, @platform, @chatId, @chatKind, @threadId, @origin, @route, @isPrivate, @parentId, @now, @now)
     on conflict (key) where ended_at is null do nothing`,
    {
      id: session.id,
      key: session.key,
      spaceId: session.spaceId,
      spaceKind: session.spaceKind,
      personId: session.personId ?? null,
      platform: session.platform,
      chatId: session.chatId,
      chatKind: session.chatKind,
      threadId: session.threadId ?? null,
      origin: session.origin,
      route: toJson(session.route),
      isPrivate: session.isPrivate === true ? 1 : 0,
      parentId: session.parentId ?? null,
      now,
    },
  );
  const active = activeSession(tx, session.key);
  if (active === undefined) throw new GatewayError("internal", "A session that was just created is not there.");
  return active;
}
