/**
 * Turn rows as the ports show them, and the one check that a caller still holds its turn.
 */
import { GatewayError } from "../domain/errors.js";
import type { TurnRow } from "../ports/stores.js";
import { fromJson, optional, optionalJson } from "./json-column.js";
import type { Tx } from "./sql.js";

export interface StoredTurn {
  readonly id: string;
  readonly session_id: string;
  readonly claim: number;
  readonly attempts: number;
  readonly state: TurnRow["state"];
  readonly speaker: string;
  readonly route: string;
  readonly user_entry: string;
  readonly said: string;
  readonly preview: string | null;
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly usage_exact: number;
  readonly iterations: number;
  readonly started_at: number;
  readonly ended_at: number | null;
}

export function turnFromRow(tx: Tx, row: StoredTurn): TurnRow {
  return {
    id: row.id,
    sessionId: row.session_id,
    claim: row.claim,
    attempts: row.attempts,
    state: row.state,
    inboxIds: tx.all<{ id: number }>("select id from inbox where turn_id = ? order by id", [row.id]).map((held) => held.id),
    speaker: fromJson(row.speaker),
    route: fromJson(row.route),
    user: fromJson(row.user_entry),
    said: row.said,
    startedAt: row.started_at,
    ...optionalJson<NonNullable<TurnRow["preview"]>, "preview">("preview", row.preview),
    ...optional("endedAt", row.ended_at),
  };
}

/** The running turn of this id and claim. Throws `turn.not-found`, or `turn.outdated` when the caller has lost it. */
export function heldTurn(tx: Tx, turnId: string, claim: number | undefined): StoredTurn {
  const row = tx.get<StoredTurn>("select * from turns where id = ?", [turnId]);
  if (row === undefined) throw new GatewayError("turn.not-found", `There is no turn ${turnId}.`);
  if (row.state !== "running" || (claim !== undefined && row.claim !== claim)) {
    throw new GatewayError("turn.outdated", `Turn ${turnId} is ${row.state} with claim ${row.claim}; the caller holds ${claim ?? "none"}.`);
  }
  return row;
}
