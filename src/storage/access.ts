/**
 * People, accounts, chats, codes and the audit. `admitted` is literal: whether this very account or chat was admitted,
 * never whether its container or its person was; what follows from that is the gate's decision.
 */
import { spaceChatId, type Account, type Role } from "../domain/identity.js";
import type { ChatKind, ChatRef } from "../domain/message.js";
import type { Ids } from "../ports/runtime.js";
import type { Access, AuditRow, ChatRow, PairingCode } from "../ports/access.js";
import type { Database } from "./database.js";
import { fromJson, optional, toJson } from "./json-column.js";
import type { Tx } from "./sql.js";

interface StoredAccount {
  readonly platform: string;
  readonly account_id: string;
  readonly person_id: string;
  readonly display_name: string;
  readonly handle: string | null;
  readonly role: Role;
  readonly admitted_at: number | null;
}

interface StoredChat {
  readonly platform: string;
  readonly chat_id: string;
  readonly kind: ChatKind;
  readonly parent_id: string | null;
  readonly container_id: string | null;
  readonly title: string | null;
  readonly admitted: number;
  readonly unreachable: string | null;
}

const triesKeptMs = 86_400_000;

export function createAccess({ db, ids }: { readonly db: Database; readonly ids: Ids }): Access {
  return {
    account: (platform, accountId) => db.read((tx) => findAccount(tx, platform, accountId)),
    async ensureAccount(platform, seen, now) {
      // Most events change nothing: look before taking the write lock.
      const known = await db.read((tx) => findAccount(tx, platform, seen.id));
      if (known !== undefined && known.displayName === seen.displayName && known.handle === seen.handle) return known;
      return db.write((tx) => ensureAccount(tx, platform, seen, ids, now));
    },
    admit(platform, accountId, role, actor, now) {
      return db.write((tx) => {
        // Somebody may be admitted by id before they have ever written.
        if (findAccount(tx, platform, accountId) === undefined) {
          ensureAccount(tx, platform, { id: accountId, displayName: accountId }, ids, now);
        }
        const sql = "update accounts set role = ?, admitted_at = ? where platform = ? and account_id = ?";
        tx.run(sql, [role ?? "guest", role === undefined ? null : now, platform, accountId]);
        const act = role === undefined ? "remove" : "admit";
        insertAudit(tx, { at: now, actor, act, subject: `${platform}:${accountId}`, ...optional("detail", role) });
      });
    },
    accounts(filter = {}) {
      return db.read((tx) =>
        tx
          .all<StoredAccount>(
            `select * from accounts where (@role is null or role = @role) and (@personId is null or person_id = @personId)
             order by created_at, platform, account_id`,
            { role: filter.role ?? null, personId: filter.personId ?? null },
          )
          .map(accountFromRow),
      );
    },
    chat: (platform, chatId) => db.read((tx) => findChat(tx, platform, chatId)),
    async noteChat(platform, chat, now) {
      const known = await db.read((tx) => unchangedChat(tx, platform, chat));
      return known ?? db.write((tx) => noteChat(tx, platform, chat, ids, now));
    },
    admitChat(platform, chatId, admitted, actor, now) {
      return db.write((tx) => {
        tx.run(
          `insert into chats (platform, chat_id, kind, admitted, seen_at) values (?, ?, 'group', ?, ?)
           on conflict (platform, chat_id) do update set admitted = excluded.admitted`,
          [platform, chatId, admitted ? 1 : 0, now],
        );
        insertAudit(tx, { at: now, actor, act: admitted ? "admit-chat" : "remove-chat", subject: `${platform}:${chatId}` });
      });
    },
    async markChat(platform, chatId, unreachable) {
      await db.write((tx) =>
        tx.run("update chats set unreachable = ? where platform = ? and chat_id = ?", [unreachable ?? null, platform, chatId]),
      );
    },
    codes(now) {
      return db.read((tx) =>
        tx
          .all<Omit<PairingCode, "route"> & { readonly route: string }>(
            `select code, subject, platform, subject_id as subjectId, label, route, created_at as createdAt, expires_at as expiresAt,
               shown_at as shownAt from codes where expires_at > ? order by created_at, code`,
            [now],
          )
          .map((row) => ({ ...row, route: fromJson(row.route) })),
      );
    },
    putCode(code) {
      return db.write((tx) => {
        tx.run("delete from codes where expires_at <= ?", [code.createdAt]);
        tx.run(
          `insert into codes (code, subject, platform, subject_id, label, route, created_at, expires_at, shown_at)
           values (@code, @subject, @platform, @subjectId, @label, @route, @createdAt, @expiresAt, @shownAt)
           on conflict (code) do update set label = excluded.label, route = excluded.route, expires_at = excluded.expires_at,
             shown_at = excluded.shown_at`,
          {
            code: code.code,
            subject: code.subject,
            platform: code.platform,
            subjectId: code.subjectId,
            label: code.label,
            route: toJson(code.route),
            createdAt: code.createdAt,
            expiresAt: code.expiresAt,
            shownAt: code.shownAt,
          },
        );
      });
    },
    async dropCode(code) {
      await db.write((tx) => tx.run("delete from codes where code = ?", [code]));
    },
    wrongTries(caller, since) {
      const sql = "select count(*) as count from wrong_tries where caller = ? and at >= ?";
      return db.read((tx) => tx.get<{ count: number }>(sql, [caller, since])?.count ?? 0);
    },
    noteWrongTry(caller, now) {
      return db.write((tx) => {
        tx.run("delete from wrong_tries where at < ?", [now - triesKeptMs]);
        tx.run("insert into wrong_tries (caller, at) values (?, ?)", [caller, now]);
      });
    },
    audit: (row) => db.write((tx) => insertAudit(tx, row)),
    audits(limit) {
      return db.read((tx) =>
        tx
          .all<Omit<AuditRow, "detail"> & { readonly detail: string | null }>(
            "select at, actor, act, subject, detail from audit order by id desc limit ?",
            [limit],
          )
          .map(({ detail, ...row }) => ({ ...row, ...optional("detail", detail) })),
      );
    },
  };
}

function findAccount(tx: Tx, platform: string, accountId: string): Account | undefined {
  const row = tx.get<StoredAccount>("select * from accounts where platform = ? and account_id = ?", [platform, accountId]);
  return row === undefined ? undefined : accountFromRow(row);
}

function accountFromRow(row: StoredAccount): Account {
  return {
    platform: row.platform,
    accountId: row.account_id,
    personId: row.person_id,
    displayName: row.display_name,
    role: row.role,
    ...optional("handle", row.handle),
    ...optional("admittedAt", row.admitted_at),
  };
}

type SeenAccount = Parameters<Access["ensureAccount"]>[1];

function ensureAccount(tx: Tx, platform: string, seen: SeenAccount, ids: Ids, now: number): Account {
  const changed = tx.run("update accounts set display_name = ?, handle = ? where platform = ? and account_id = ?", [
    seen.displayName,
    seen.handle ?? null,
    platform,
    seen.id,
  ]);
  if (changed.changes === 0) {
    const personId = ids.next();
    tx.run("insert into people (id, created_at) values (?, ?)", [personId, now]);
    tx.run("insert into spaces (id, kind, created_at) values (?, 'person', ?)", [personId, now]);
    tx.run("insert into accounts (platform, account_id, person_id, display_name, handle, created_at) values (?, ?, ?, ?, ?, ?)", [
      platform,
      seen.id,
      personId,
      seen.displayName,
      seen.handle ?? null,
      now,
    ]);
  }
  const account = findAccount(tx, platform, seen.id);
  if (account === undefined) throw new Error("an account that was just stored is not there");
  return account;
}

function findChat(tx: Tx, platform: string, chatId: string): ChatRow | undefined {
  const row = tx.get<StoredChat>("select * from chats where platform = ? and chat_id = ?", [platform, chatId]);
  if (row === undefined) return undefined;
  return {
    platform: row.platform,
    chatId: row.chat_id,
    kind: row.kind,
    admitted: row.admitted === 1,
    ...optional("parentId", row.parent_id),
    ...optional("containerId", row.container_id),
    ...optional("title", row.title),
    ...optional("unreachable", row.unreachable),
  };
}

/** The space of a group's chat; "" for a DM, whose space is its person's. */
function spaceIdOf(tx: Tx, platform: string, chat: ChatRef): string | undefined {
  if (chat.kind === "dm") return "";
  return tx.get<{ id: string }>("select id from spaces where kind = 'group' and platform = ? and chat_id = ?", [
    platform,
    spaceChatId(chat),
  ])?.id;
}

function unchangedChat(tx: Tx, platform: string, chat: ChatRef): (ChatRow & { spaceId: string }) | undefined {
  const row = findChat(tx, platform, chat.id);
  const spaceId = spaceIdOf(tx, platform, chat);
  if (row === undefined || spaceId === undefined || row.kind !== chat.kind) return undefined;
  const same = (known: string | undefined, seen: string | undefined): boolean => seen === undefined || seen === known;
  if (!same(row.parentId, chat.parentId) || !same(row.containerId, chat.containerId) || !same(row.title, chat.title)) return undefined;
  return { ...row, spaceId };
}

function noteChat(tx: Tx, platform: string, chat: ChatRef, ids: Ids, now: number): ChatRow & { spaceId: string } {
  let spaceId = spaceIdOf(tx, platform, chat);
  if (spaceId === undefined) {
    spaceId = ids.next();
    const sql = "insert into spaces (id, kind, platform, chat_id, created_at) values (?, 'group', ?, ?, ?)";
    tx.run(sql, [spaceId, platform, spaceChatId(chat), now]);
  }
  tx.run(
    `insert into chats (platform, chat_id, kind, parent_id, container_id, title, space_id, seen_at) values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (platform, chat_id) do update set kind = excluded.kind, parent_id = coalesce(excluded.parent_id, parent_id),
       container_id = coalesce(excluded.container_id, container_id), title = coalesce(excluded.title, title),
       space_id = excluded.space_id, seen_at = excluded.seen_at`,
    [
      platform,
      chat.id,
      chat.kind,
      chat.parentId ?? null,
      chat.containerId ?? null,
      chat.title ?? null,
      spaceId === "" ? null : spaceId,
      now,
    ],
  );
  const row = findChat(tx, platform, chat.id);
  if (row === undefined) throw new Error("a chat that was just stored is not there");
  return { ...row, spaceId };
}

function insertAudit(tx: Tx, row: AuditRow): void {
  tx.run("insert into audit (at, actor, act, subject, detail) values (?, ?, ?, ?, ?)", [
    row.at,
    row.actor,
    row.act,
    row.subject,
    row.detail ?? null,
  ]);
}
