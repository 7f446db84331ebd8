/**
 * What the external memory keeps here: breaker, cached recall, remote ids, links. The breaker's row and the notice about it
 * are one transaction, so that operators are told once, whichever process saw it.
 */
import type { BreakerState, CachedRecall, ProviderStore, RemoteRef } from "../ports/provider-store.js";
import type { Ids } from "../ports/runtime.js";
import type { NewOutbox } from "../ports/mailbox.js";
import type { Database } from "./database.js";
import { insertIntents } from "./intents.js";
import { fromJson, idList, optional, toJson } from "./json-column.js";
import { insertOutbox } from "./outbox-rows.js";
import { operatorRoutes, sessionsOf } from "./provider-people.js";
import type { Tx } from "./sql.js";

interface StoredState {
  readonly failures: number;
  readonly opened_at: number | null;
  readonly trial_at: number | null;
  readonly told: number;
  readonly last_error: string | null;
  readonly last_failure_at: number | null;
  readonly last_success_at: number | null;
}

interface StoredRef {
  readonly local_id: string;
  readonly state: RemoteRef["state"];
  readonly remote_ids: string;
  readonly scope: string;
}

const errorLength = 500;
/** How exact the time of the last success is kept: a write per call would be too dear, ms. */
const successGrainMs = 60_000;

export function createProviderStore({ db, ids }: { readonly db: Database; readonly ids: Ids }): ProviderStore {
  const tell = (tx: Tx, name: string, told: boolean, notice: () => readonly NewOutbox[], now: number): boolean => {
    tx.run("update provider_state set told = ? where name = ?", [told ? 1 : 0, name]);
    insertOutbox(tx, notice(), ids, now);
    return true;
  };
  return {
    breaker: (name) => db.read((tx) => stateOf(tx, name)),
    claimTrial(name, notBefore, now) {
      return db.write((tx) => {
        const sql = "update provider_state set trial_at = ? where name = ? and (trial_at is null or trial_at <= ?)";
        return tx.run(sql, [now, name, notBefore]).changes === 1;
      });
    },
    failed(name, error, limit, now, notice) {
      return db.write((tx) => {
        tx.run(
          `insert into provider_state (name, failures, last_error, last_failure_at) values (@name, 1, @error, @now)
           on conflict (name) do update set failures = failures + 1, last_error = excluded.last_error, last_failure_at = excluded.last_failure_at`,
          { name, error: error.slice(0, errorLength), now },
        );
        const { failures, told } = stateOf(tx, name);
        if (failures < limit) return false;
        tx.run("update provider_state set opened_at = ? where name = ?", [now, name]);
        return told ? false : tell(tx, name, true, notice, now);
      });
    },
    async succeeded(name, now, notice) {
      const before = await db.read((tx) => stateOf(tx, name));
      if (before.failures === 0 && !before.told && now - (before.lastSuccessAt ?? 0) < successGrainMs) return false;
      return db.write((tx) => {
        const { told } = stateOf(tx, name);
        tx.run(
          `insert into provider_state (name, last_success_at) values (@name, @now)
           on conflict (name) do update set failures = 0, opened_at = null, trial_at = null, last_success_at = excluded.last_success_at`,
          { name, now },
        );
        return told ? tell(tx, name, false, notice, now) : false;
      });
    },

    cached(sessionId, notBefore) {
      return db.read((tx) =>
        tx.all<CachedRecall>("select layer, turn, text, at from provider_cache where session_id = ? and at >= ? order by layer desc", [
          sessionId,
          notBefore,
        ]),
      );
    },
    putCached({ sessionId, spaceId, personId }, rows, startedAt) {
      return db.write((tx) => {
        const scopes = idList([`session:${sessionId}`, `space:${spaceId}`, `person:${personId}`]);
        const dropped = tx.get("select 1 from provider_drops where scope in (select value from json_each(?)) and at >= ?", [
          scopes,
          startedAt,
        ]);
        if (dropped !== undefined) return false;
        for (const { layer, turn, text, at } of rows)
          tx.run(
            `insert into provider_cache (session_id, layer, space_id, person_id, turn, text, at) values (?, ?, ?, ?, ?, ?, ?)
             on conflict (session_id, layer) do update set space_id = excluded.space_id, person_id = excluded.person_id,
               turn = excluded.turn, text = excluded.text, at = excluded.at`,
            [sessionId, layer, spaceId, personId, turn, text, at],
          );
        return true;
      });
    },
    async dropCached(where, now) {
      const [kind, value] =
        "spaceId" in where ? ["space", where.spaceId] : "personId" in where ? ["person", where.personId] : ["session", where.sessionId];
      await db.write((tx) => {
        tx.run(`delete from provider_cache where ${kind}_id = ?`, [value]);
        tx.run("insert into provider_drops (scope, at) values (?, ?) on conflict (scope) do update set at = excluded.at", [
          `${kind}:${value}`,
          now,
        ]);
      });
    },
    deleting(spaceIds) {
      const sql = `select 1 from intents where state in ('open', 'active', 'failed') and kind in ('provider-sync', 'provider-mirror', 'provider-forget')
        and space_id in (select value from json_each(?)) and json_extract(payload, '$.removes') = 1 limit 1`;
      return db.read((tx) => tx.get(sql, [idList(spaceIds)]) !== undefined);
    },

    ref(provider, kind, localId) {
      const sql = "select local_id, state, remote_ids, scope from provider_refs where provider = ? and kind = ? and local_id = ?";
      return db.read((tx) => refs(tx.all<StoredRef>(sql, [provider, kind, localId]))[0]);
    },
    refs(provider, kind, scope) {
      const sql = "select local_id, state, remote_ids, scope from provider_refs where scope = ? and kind = ? and provider = ? order by at";
      return db.read((tx) => refs(tx.all<StoredRef>(sql, [scope, kind, provider])));
    },
    async beginRef(provider, kind, localId, scope, now) {
      const sql = `insert into provider_refs (provider, kind, local_id, scope, at) values (?, ?, ?, ?, ?)
        on conflict (provider, kind, local_id) do nothing`;
      await db.write((tx) => tx.run(sql, [provider, kind, localId, scope, now]));
    },
    async endRef(provider, kind, localId, { state, remoteIds }) {
      const sql = "update provider_refs set state = ?, remote_ids = ? where provider = ? and kind = ? and local_id = ?";
      await db.write((tx) => tx.run(sql, [state, toJson(remoteIds), provider, kind, localId]));
    },
    async dropRef(provider, kind, localId) {
      await db.write((tx) =>
        tx.run("delete from provider_refs where provider = ? and kind = ? and local_id = ?", [provider, kind, localId]),
      );
    },

    generation: (sessionId) =>
      db.read(
        (tx) =>
          tx.get<{ generation: number }>("select generation from provider_sessions where session_id = ?", [sessionId])?.generation ?? 0,
      ),
    startOver(provider, sessionId) {
      return db.write((tx) => {
        tx.run("delete from provider_refs where scope = ? and provider = ? and kind in ('turn', 'fact')", [sessionId, provider]);
        tx.run("delete from watermarks where kind = 'provider-sync' and session_id = ?", [sessionId]);
        tx.run("delete from provider_cache where session_id = ?", [sessionId]);
        tx.run(
          `insert into provider_sessions (session_id, generation) values (?, 1)
           on conflict (session_id) do update set generation = generation + 1`,
          [sessionId],
        );
      });
    },

    aliases: (personId) =>
      db.read((tx) =>
        tx
          .all<{ alias: string }>("select alias from provider_aliases where person_id = ? order by alias", [personId])
          .map(({ alias }) => alias),
      ),
    async addAlias(personId, alias, now) {
      const sql = "insert into provider_aliases (person_id, alias, at) values (?, ?, ?) on conflict (person_id, alias) do nothing";
      await db.write((tx) => tx.run(sql, [personId, alias, now]));
    },
    async dropAlias(personId, alias) {
      await db.write((tx) => tx.run("delete from provider_aliases where person_id = ? and alias = ?", [personId, alias]));
    },

    sessionsOf: (personIds, accounts) => db.read((tx) => sessionsOf(tx, personIds, accounts)),
    operatorRoutes: (listed) => db.read((tx) => operatorRoutes(tx, listed)),
    addIntents: (intents, now) => db.write((tx) => insertIntents(tx, intents, now)),
    waiting() {
      const kinds = idList(["provider-sync", "provider-mirror", "provider-forget"]);
      const sql =
        "select count(*) as n from intents where state in (select value from json_each(?)) and kind in (select value from json_each(?))";
      return db.read((tx) => {
        const count = (states: readonly string[]): number => tx.get<{ n: number }>(sql, [idList(states), kinds])?.n ?? 0;
        return { open: count(["open", "active"]), failed: count(["failed"]) };
      });
    },
  };
}

function stateOf(tx: Tx, name: string): BreakerState {
  const row = tx.get<StoredState>("select * from provider_state where name = ?", [name]);
  if (row === undefined) return { failures: 0, told: false };
  return {
    failures: row.failures,
    told: row.told === 1,
    ...optional("openedAt", row.opened_at),
    ...optional("trialAt", row.trial_at),
    ...optional("lastError", row.last_error),
    ...optional("lastFailureAt", row.last_failure_at),
    ...optional("lastSuccessAt", row.last_success_at),
  };
}

function refs(rows: readonly StoredRef[]): RemoteRef[] {
  return rows.map((row) => ({ localId: row.local_id, state: row.state, remoteIds: fromJson<string[]>(row.remote_ids), scope: row.scope }));
}
