/**
 * The end of a turn: everything it leaves behind, in one transaction or not at all. A caller that lost its claim writes
 * nothing.
 */
import { GatewayError } from "../domain/errors.js";
import type { Speaker } from "../domain/identity.js";
import type { Route } from "../domain/message.js";
import type { Ids } from "../ports/runtime.js";
import type { Counters, TurnCommit } from "../ports/stores.js";
import { settleRow } from "./inbox.js";
import type { IndexedMessage, OnEntries } from "./indexed-message.js";
import { insertIntents } from "./intents.js";
import { fromJson, toJson } from "./json-column.js";
import { insertOutbox, noteUnknownRows } from "./outbox-rows.js";
import type { Tx } from "./sql.js";
import { heldTurn, type StoredTurn } from "./turn-rows.js";

interface SessionFacts {
  readonly space_id: string;
  readonly origin: string;
  readonly is_private: number;
}

export function commitTurn(tx: Tx, commit: TurnCommit, now: number, ids: Ids, onEntries: OnEntries | undefined): number[] {
  const turn = heldTurn(tx, commit.turnId, commit.claim);
  const session = tx.get<SessionFacts>("select space_id, origin, is_private from sessions where id = ?", [turn.session_id]);
  if (session === undefined) throw new GatewayError("internal", `Turn ${turn.id} has no session.`);
  endTurn(tx, commit, now);
  const messages = storeEntries(tx, commit, turn, session, now);
  if (messages.length > 0) onEntries?.(tx, messages);
  const route = fromJson<Route>(turn.route);
  // Before the new rows: what they say is about the rows that were there.
  if (commit.notesUnknown === true) noteUnknownRows(tx, route.platform, route.chatId, route.threadId);
  const outbox = insertOutbox(tx, commit.outbox, ids, now);
  for (const row of commit.inbox) settleRow(tx, row.id, row.disposition, row.reason);
  // A message that the commit does not name has no answer yet: it waits again.
  tx.run("update inbox set state = 'waiting', turn_id = null where turn_id = ? and state <> 'done'", [turn.id]);
  count(tx, commit, session.space_id, messages.at(-1)?.id ?? 0, now);
  tx.run("update sessions set last_active_at = max(last_active_at, ?) where id = ?", [now, turn.session_id]);
  return outbox;
}

function endTurn(tx: Tx, commit: TurnCommit, now: number): void {
  tx.run(
    `update turns set state = @state, reason = @reason, input_tokens = @input, cached_tokens = @cached, output_tokens = @output,
       usage_exact = @exact, model = @model, iterations = @iterations, ended_at = @now where id = @id`,
    {
      id: commit.turnId,
      state: commit.outcome,
      reason: commit.reason ?? null,
      input: commit.usage.inputTokens,
      cached: commit.usage.cachedTokens,
      output: commit.usage.outputTokens,
      exact: commit.usage.exact ? 1 : 0,
      model: commit.model,
      iterations: commit.iterations,
      now,
    },
  );
  tx.run("delete from journal_calls where turn_id = ?", [commit.turnId]);
  tx.run("delete from journal_entries where turn_id = ?", [commit.turnId]);
}

function storeEntries(tx: Tx, commit: TurnCommit, turn: StoredTurn, session: SessionFacts, now: number): IndexedMessage[] {
  const speaker = fromJson<Speaker>(turn.speaker);
  return commit.entries.map((entry, seq) => {
    // Only the turn's own user entry wraps the speaker's words; one added while it ran is what was said.
    const said = entry.role === "user" && seq === 0 ? turn.said : null;
    const fromSpeaker = entry.role === "user";
    const { id } = tx.run(
      "insert into messages (session_id, turn_id, seq, role, entry, said, account_id, author, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        turn.session_id,
        turn.id,
        seq,
        entry.role,
        toJson(entry),
        said,
        fromSpeaker ? speaker.accountId : null,
        fromSpeaker ? speaker.displayName : null,
        now,
      ],
    );
    return {
      id,
      sessionId: turn.session_id,
      spaceId: session.space_id,
      origin: session.origin,
      isPrivate: session.is_private === 1,
      role: entry.role,
      text: said ?? entry.content,
      at: now,
    };
  });
}

function count(tx: Tx, commit: TurnCommit, spaceId: string, lastMessageId: number, now: number): void {
  const before = tx.get<Counters>(
    "select memory_turns as memoryTurns, skill_iterations as skillIterations from counters where space_id = ?",
    [spaceId],
  );
  const sums = {
    memoryTurns: (before?.memoryTurns ?? 0) + commit.counts.memoryTurns,
    skillIterations: (before?.skillIterations ?? 0) + commit.counts.skillIterations,
  };
  const decided = commit.decide(sums, lastMessageId);
  tx.run(
    `insert into counters (space_id, memory_turns, skill_iterations) values (?, ?, ?)
     on conflict (space_id) do update set memory_turns = excluded.memory_turns, skill_iterations = excluded.skill_iterations`,
    [spaceId, decided.counters.memoryTurns, decided.counters.skillIterations],
  );
  insertIntents(tx, decided.intents, now);
}
