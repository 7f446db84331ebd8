/**
 * Turns: who holds a session's turn, what it has done so far, and how it ends. Every write checks the claim in the same
 * transaction, so whoever lost a turn can neither journal nor commit.
 */
import { GatewayError } from "../domain/errors.js";
import type { AssistantEntry, Entry } from "../domain/transcript.js";
import type { Ids } from "../ports/runtime.js";
import type { NewTurn, Turns, TurnRow } from "../ports/stores.js";
import type { Database } from "./database.js";
import { fromJson, idList, toJson } from "./json-column.js";
import { ownerOfAccount } from "./people-moves.js";
import type { Tx } from "./sql.js";
import type { OnEntries } from "./indexed-message.js";
import { commitTurn } from "./turn-commit.js";
import { heldTurn, turnFromRow, type StoredTurn } from "./turn-rows.js";

/** A turn that has begun is worth waiting for: giving up a write here would give up an answer that was paid for. */
const patient = { patient: true };

export interface TurnsDeps {
  readonly db: Database;
  readonly ids: Ids;
  /** Feeds the search index inside the message's transaction. */
  readonly onEntries?: OnEntries;
}

export function createTurns({ db, ids, onEntries }: TurnsDeps): Turns {
  return {
    begin: (turn, now) => db.write((tx) => beginTurn(tx, turn, now), patient),
    join(turnId, claim, more) {
      return db.write((tx) => {
        heldTurn(tx, turnId, claim);
        takeInbox(tx, turnId, more.inboxIds);
        tx.run("update turns set user_entry = ?, said = ? where id = ?", [toJson(more.user), more.said, turnId]);
        // The model is asked again with the longer message: what it said before is void unless a call has begun.
        if (tx.get("select 1 from journal_calls where turn_id = ?", [turnId]) === undefined) {
          tx.run("delete from journal_entries where turn_id = ?", [turnId]);
        }
      }, patient);
    },
    takeOver(turnId, attempt) {
      return db.write((tx) => {
        heldTurn(tx, turnId, undefined);
        tx.run("update turns set claim = claim + 1, attempts = attempts + ? where id = ?", [attempt ? 1 : 0, turnId]);
        return turnFromRow(tx, heldTurn(tx, turnId, undefined));
      }, patient);
    },
    unfinished: () => db.read((tx) => turnRows(tx, "where state = 'running' order by started_at, id", [])),
    byId: (turnId) => db.read((tx) => turnRows(tx, "where id = ?", [turnId])[0]),
    assistant(turnId, claim, entry) {
      return db.write((tx) => {
        heldTurn(tx, turnId, claim);
        tx.run(
          `insert into journal_entries (turn_id, seq, entry)
           values (@turnId, (select coalesce(max(seq), 0) + 1 from journal_entries where turn_id = @turnId), @entry)`,
          { turnId, entry: toJson(entry) },
        );
      }, patient);
    },
    startCall(turnId, claim, call) {
      return db.write((tx) => {
        heldTurn(tx, turnId, claim);
        const seq = entryOfCall(tx, turnId, call.id);
        const known = tx.get<{ result: string | null }>(
          "select result from journal_calls where turn_id = ? and entry_seq = ? and call_id = ?",
          [turnId, seq, call.id],
        );
        if (known !== undefined) return known.result === null ? "started" : { result: known.result };
        tx.run("insert into journal_calls (turn_id, entry_seq, call_id) values (?, ?, ?)", [turnId, seq, call.id]);
        return "run";
      }, patient);
    },
    finishCall(turnId, claim, callId, result) {
      return db.write((tx) => {
        heldTurn(tx, turnId, claim);
        tx.run(
          `insert into journal_calls (turn_id, entry_seq, call_id, result) values (?, ?, ?, ?)
           on conflict (turn_id, entry_seq, call_id) do update set result = coalesce(result, excluded.result)`,
          [turnId, entryOfCall(tx, turnId, callId), callId, result],
        );
      }, patient);
    },
    journal: (turnId) => db.read((tx) => readJournal(tx, turnId)),
    async preview(turnId, claim, record) {
      await db.write((tx) => {
        heldTurn(tx, turnId, claim);
        tx.run("update turns set preview = ? where id = ?", [toJson(record), turnId]);
      });
    },
    commit: (commit, now) => db.write((tx) => commitTurn(tx, commit, now, ids, onEntries), patient),
    recent(sessionId, limit) {
      return db.read((tx) =>
        tx
          .all<StoredTurn>("select * from turns where session_id = ? and state <> 'running' order by started_at desc, id desc limit ?", [
            sessionId,
            limit,
          ])
          .map((row) => ({
            ...turnFromRow(tx, row),
            iterations: row.iterations,
            usage: {
              inputTokens: row.input_tokens,
              cachedTokens: row.cached_tokens,
              outputTokens: row.output_tokens,
              exact: row.usage_exact === 1,
            },
          })),
      );
    },
    countSince(where, since) {
      const [column, value] = "personId" in where ? ["person_id", where.personId] : ["session_id", where.sessionId];
      const sql = `select count(*) as count from turns where ${column} = ? and started_at >= ? and state <> 'running'`;
      return db.read((tx) => tx.get<{ count: number }>(sql, [value, since])?.count ?? 0);
    },
  };
}

function turnRows(tx: Tx, rest: string, params: readonly string[]): TurnRow[] {
  return tx.all<StoredTurn>(`select * from turns ${rest}`, params).map((row) => turnFromRow(tx, row));
}

function beginTurn(tx: Tx, turn: NewTurn, now: number): TurnRow {
  const running = tx.get<{ id: string }>("select id from turns where session_id = ? and state = 'running'", [turn.sessionId]);
  if (running !== undefined) throw new GatewayError("turn.outdated", `Session ${turn.sessionId} has the running turn ${running.id}.`);
  // Who the account belongs to may have changed since the message came in.
  const { platform, accountId } = turn.speaker;
  const speaker = { ...turn.speaker, personId: ownerOfAccount(tx, platform, accountId) ?? turn.speaker.personId };
  tx.run("insert into turns (id, session_id, person_id, speaker, route, user_entry, said, started_at) values (?, ?, ?, ?, ?, ?, ?, ?)", [
    turn.id,
    turn.sessionId,
    speaker.personId,
    toJson(speaker),
    toJson(turn.route),
    toJson(turn.user),
    turn.said,
    now,
  ]);
  takeInbox(tx, turn.id, turn.inboxIds);
  tx.run("update sessions set last_active_at = max(last_active_at, ?) where id = ?", [now, turn.sessionId]);
  return turnFromRow(tx, heldTurn(tx, turn.id, 1));
}

/** A message that another turn holds, or that has its disposition, must not be answered again: then nothing begins. */
function takeInbox(tx: Tx, turnId: string, ids: readonly number[]): void {
  if (ids.length === 0) return;
  const taken = tx.run(
    `update inbox set state = 'running', turn_id = ? where state in ('new', 'waiting') and turn_id is null
     and id in (select value from json_each(?))`,
    [turnId, idList(ids)],
  );
  if (taken.changes === new Set(ids).size) return;
  throw new GatewayError("turn.outdated", `Turn ${turnId}: ${ids.length - taken.changes} of its messages are taken or done already.`);
}

function assistantEntries(tx: Tx, turnId: string): { readonly seq: number; readonly entry: Entry }[] {
  return tx
    .all<{ seq: number; entry: string }>("select seq, entry from journal_entries where turn_id = ? order by seq", [turnId])
    .map((row) => ({ seq: row.seq, entry: fromJson<Entry>(row.entry) }));
}

/** The newest message that made this call: some servers count their call ids anew in every message. */
function entryOfCall(tx: Tx, turnId: string, callId: string): number {
  const found = assistantEntries(tx, turnId).findLast(({ entry }) => callsOf(entry).some((call) => call.id === callId));
  if (found === undefined) throw new GatewayError("internal", `Turn ${turnId}: call ${callId} was not journaled before it ran.`);
  return found.seq;
}

function readJournal(tx: Tx, turnId: string): Entry[] {
  const results = new Map<string, string>();
  const calls = tx.all<{ entry_seq: number; call_id: string; result: string }>(
    "select entry_seq, call_id, result from journal_calls where turn_id = ? and result is not null",
    [turnId],
  );
  for (const row of calls) results.set(`${row.entry_seq} ${row.call_id}`, row.result);
  return assistantEntries(tx, turnId).flatMap(({ seq, entry }) => [
    entry,
    ...callsOf(entry).flatMap((call): Entry[] => {
      const content = results.get(`${seq} ${call.id}`);
      return content === undefined ? [] : [{ role: "tool", callId: call.id, name: call.name, content }];
    }),
  ]);
}

function callsOf(entry: Entry): NonNullable<AssistantEntry["toolCalls"]> {
  return entry.role === "assistant" ? (entry.toolCalls ?? []) : [];
}
