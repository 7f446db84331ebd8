/**
 * How long finished rows are kept, and removal in small transactions, so that a large backlog never holds the database
 * or the event loop.
 */
import type { Database } from "./database.js";
import type { Tx } from "./sql.js";

const dayMs = 86_400_000;
/** Bodies of finished rows. */
export const bodiesKeptMs = 7 * dayMs;
/** The rows themselves, so that an act delivered again within this time is still known. */
export const rowsKeptMs = 90 * dayMs;

const batchSize = 200;

/** Repeats `step` (at most `limit` rows each, returns how many) until one finds fewer; returns the sum. */
export async function pruneBatch(db: Database, step: (tx: Tx, limit: number) => number): Promise<number> {
  let total = 0;
  for (;;) {
    const touched = await db.write((tx) => step(tx, batchSize));
    total += touched;
    if (touched < batchSize) return total;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
