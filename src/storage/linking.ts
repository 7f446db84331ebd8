/**
 * Linked accounts on SQLite. A union and a parting are one transaction each and refuse while anybody of these people writes, so that no turn or
 * job goes on with an owner that has changed under it.
 */
import type { Ids } from "../ports/runtime.js";
import type { LinkCode, LinkingStore, LinkRequest, LinkSide, Origin, Union } from "../ports/linking.js";
import type { Database } from "./database.js";
import { fromJson, toJson } from "./json-column.js";
import { isWorking, moveAccount, movePerson } from "./people-moves.js";
import type { Tx } from "./sql.js";

interface Row {
  readonly id: string;
  readonly state: "open" | "merging";
  readonly from_side: string;
  readonly to_side: string;
  readonly expires_at: number;
  readonly union: string | null;
}

const columns = `id, state, from_side, to_side, expires_at, "union"`;

export function createLinkingStore({ db, ids }: { readonly db: Database; readonly ids: Ids }): LinkingStore {
  return {
    putCode({ code, side, expiresAt }, now) {
      return db.write((tx) => {
        tx.run("delete from link_codes where expires_at <= ? or (platform = ? and account_id = ?)", [now, side.platform, side.accountId]);
        tx.run("insert into link_codes (code, platform, account_id, side, expires_at) values (?, ?, ?, ?, ?)", [
          code,
          side.platform,
          side.accountId,
          toJson(side),
          expiresAt,
        ]);
      });
    },
    takeCode(code, now) {
      return db.write((tx): LinkCode | undefined => {
        const row = tx.get<{ side: string; expires_at: number }>("delete from link_codes where code = ? returning side, expires_at", [
          code,
        ]);
        if (row === undefined || row.expires_at <= now) return undefined;
        return { code, side: fromJson<LinkSide>(row.side), expiresAt: row.expires_at };
      });
    },
    putRequest(request, now) {
      return db.write((tx) => {
        const accounts = [keyOf(request.from), keyOf(request.to)];
        // One question at a time: an older one of either account is over.
        for (const account of accounts) {
          tx.run("delete from link_requests where state = 'open' and (from_account = ? or to_account = ?)", [account, account]);
        }
        tx.run(
          "insert into link_requests (id, state, from_account, to_account, from_side, to_side, expires_at, at) values (?, ?, ?, ?, ?, ?, ?, ?)",
          [request.id, request.state, ...(accounts as [string, string]), toJson(request.from), toJson(request.to), request.expiresAt, now],
        );
      });
    },
    requestOf(platform, accountId, now) {
      const key = `${platform}:${accountId}`;
      return db.read((tx) => {
        const row = tx.get<Row>(
          `select ${columns} from link_requests where state = 'open' and expires_at > ? and (from_account = ? or to_account = ?)
           order by at desc limit 1`,
          [now, key, key],
        );
        return row === undefined ? undefined : requestFromRow(row);
      });
    },
    requestById: (id, now) => db.read((tx) => openRequest(tx, id, now)),
    confirm(id, side, now) {
      return db.write((tx) => {
        const request = openRequest(tx, id, now);
        if (request === undefined) return undefined;
        const mark = (one: LinkSide): LinkSide => (keyOf(one) === keyOf(side) ? { ...one, confirmed: true } : one);
        const marked = { ...request, from: mark(request.from), to: mark(request.to) };
        tx.run("update link_requests set from_side = ?, to_side = ? where id = ?", [toJson(marked.from), toJson(marked.to), id]);
        return marked;
      });
    },
    async drop(id) {
      await db.write((tx) => tx.run("delete from link_requests where id = ? and state = 'open'", [id]));
    },
    async accept(id) {
      await db.write((tx) => tx.run("update link_requests set state = 'merging' where id = ? and state = 'open'", [id]));
    },
    merging: () =>
      db.read((tx) => tx.all<Row>(`select ${columns} from link_requests where state = 'merging' order by at`).map(requestFromRow)),
    unite: (requestId, now) => db.write((tx) => unite(tx, requestId, now)),
    async finish(requestId, now) {
      await db.write((tx) => {
        tx.run("update link_requests set state = 'done', from_side = '', to_side = '' where id = ?", [requestId]);
        tx.run("delete from link_requests where state <> 'merging' and expires_at < ?", [now - 86_400_000]);
      });
    },
    originOf: (platform, accountId) => db.read((tx) => originOf(tx, platform, accountId)),
    part: (platform, accountId, now) => db.write((tx) => part(tx, { platform, accountId }, now, ids)),
  };
}

function keyOf(side: { readonly platform: string; readonly accountId: string }): string {
  return `${side.platform}:${side.accountId}`;
}

function openRequest(tx: Tx, id: string, now: number): LinkRequest | undefined {
  const row = tx.get<Row>(`select ${columns} from link_requests where id = ? and state = 'open' and expires_at > ?`, [id, now]);
  return row === undefined ? undefined : requestFromRow(row);
}

function requestFromRow(row: Row): LinkRequest {
  return { id: row.id, state: row.state, from: fromJson(row.from_side), to: fromJson(row.to_side), expiresAt: row.expires_at };
}

function personOf(tx: Tx, side: { readonly platform: string; readonly accountId: string }): string | undefined {
  return tx.get<{ id: string }>("select person_id as id from accounts where platform = ? and account_id = ?", [
    side.platform,
    side.accountId,
  ])?.id;
}

function originOf(tx: Tx, platform: string, accountId: string): Origin | undefined {
  return tx.get<Origin>("select person_id as personId, stamp from link_origins where platform = ? and account_id = ?", [
    platform,
    accountId,
  ]);
}

function unite(tx: Tx, requestId: string, now: number): Union | undefined {
  const row = tx.get<Row>(`select ${columns} from link_requests where id = ? and state = 'merging'`, [requestId]);
  if (row === undefined) return undefined;
  if (row.union !== null) return fromJson<Union>(row.union);
  const sides = [fromJson<LinkSide>(row.from_side), fromJson<LinkSide>(row.to_side)] as const;
  const people = sides.map((side) => personOf(tx, side));
  const [keep, gone] = people;
  if (keep === undefined || gone === undefined) return undefined;
  if (isWorking(tx, [keep, gone])) return undefined;
  const stamp = new Date(now).toISOString().replaceAll(/[:.]/gu, "-");
  for (const personId of new Set([keep, gone])) {
    tx.run(
      `insert or ignore into link_origins (platform, account_id, person_id, stamp, at)
       select platform, account_id, person_id, ?, ? from accounts where person_id = ?`,
      [stamp, now, personId],
    );
  }
  if (keep !== gone) movePerson(tx, gone, keep);
  const union: Union = { requestId, keep, gone, stamp, sides };
  tx.run(`update link_requests set "union" = ? where id = ?`, [toJson(union), requestId]);
  tx.run("insert into audit (at, actor, act, subject, detail) values (?, ?, 'link', ?, ?)", [
    now,
    keyOf(sides[1]),
    keyOf(sides[0]),
    `${gone} into ${keep}`,
  ]);
  return union;
}

function part(
  tx: Tx,
  account: { readonly platform: string; readonly accountId: string },
  now: number,
  ids: Ids,
): { readonly from: string; readonly to: string; readonly origin: Origin } | undefined {
  const from = personOf(tx, account);
  const origin = originOf(tx, account.platform, account.accountId);
  if (from === undefined || origin === undefined || isWorking(tx, [from])) return undefined;
  // Where its old person is the one that others go on with (or that another account has gone back to), it gets a new one.
  const taken = tx.get("select 1 from accounts where person_id = ? and not (platform = ? and account_id = ?)", [
    origin.personId,
    account.platform,
    account.accountId,
  ]);
  const to = taken === undefined ? origin.personId : ids.next();
  if (taken !== undefined) {
    tx.run("insert into people (id, created_at) values (?, ?)", [to, now]);
    tx.run("insert into spaces (id, kind, created_at) values (?, 'person', ?)", [to, now]);
  }
  moveAccount(tx, account, from, to);
  // Its running conversations hold what was known of both: they go no further.
  tx.run("update sessions set ended_at = ?, end_reason = 'unlinked' where space_id = ? and ended_at is null", [now, to]);
  tx.run("delete from link_origins where platform = ? and account_id = ?", [account.platform, account.accountId]);
  tx.run("insert into audit (at, actor, act, subject, detail) values (?, ?, 'unlink', ?, ?)", [
    now,
    keyOf(account),
    keyOf(account),
    `${from} to ${to}`,
  ]);
  return { from, to, origin };
}
