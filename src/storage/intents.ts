/**
 * Writing a job down inside somebody else's transaction. The id is the idempotency key: the same intent twice is one job.
 */
import { jobKinds, type NewIntent } from "../domain/job.js";
import { toJson } from "./json-column.js";
import type { Tx } from "./sql.js";

export function insertIntents(tx: Tx, intents: readonly NewIntent[], now: number): void {
  for (const intent of intents) {
    tx.run(
      `insert into intents (id, kind, space_id, session_id, payload, run_at, max_attempts, created_at)
       values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`,
      [intent.id, intent.kind, intent.spaceId, intent.sessionId, toJson(intent.payload), intent.runAt, jobKinds[intent.kind].attempts, now],
    );
  }
}
