/** Uncovered turns and the end of a review on SQLite. The notice and the watermarks are one commit with the end of the job. */
import type { Ids } from "../ports/runtime.js";
import type { LearningStore, UncoveredTurns } from "../ports/learning.js";
import type { StoredEntry } from "../ports/stores.js";
import type { Database } from "./database.js";
import { insertIntents } from "./intents.js";
import { closeJob } from "./job-ledger.js";
import { fromJson } from "./json-column.js";
import { insertOutbox } from "./outbox-rows.js";

interface Row {
  readonly id: number;
  readonly session_id: string;
  readonly turn_id: string;
  readonly entry: string;
  readonly text: string | null;
  readonly at: number;
  readonly account_id: string | null;
  readonly author: string | null;
  readonly platform: string;
}

const above = "coalesce((select up_to from watermarks w where w.kind = @kind and w.session_id = s.id), 0)";

export function createLearningStore({ db, ids }: { readonly db: Database; readonly ids: Ids }): LearningStore {
  return {
    addIntents: (intents, now) => db.write((tx) => insertIntents(tx, intents, now)),
    uncoveredCount(sessionId, kind) {
      return db.read((tx) => {
        const row = tx.get<{ turns: number; last: number | null }>(
          `select sum(m.role = 'user') as turns, max(m.id) as last from sessions s join messages m on m.session_id = s.id
           where s.id = @sessionId and m.id > ${above}`,
          { sessionId, kind },
        );
        return { userTurns: row?.turns ?? 0, lastMessageId: row?.last ?? 0 };
      });
    },
    uncovered(spaceId, kind, limit) {
      return db.read((tx) =>
        bySession(
          tx.all<Row>(
            `select m.id, m.session_id, m.turn_id, m.entry, m.text, m.at, m.account_id, m.author, s.platform
             from sessions s join messages m on m.session_id = s.id
             where s.space_id = @spaceId and s.is_private = 0 and m.role = 'user' and m.id > ${above}
             order by m.id limit @limit`,
            { spaceId, kind, limit },
          ),
        ),
      );
    },
    finishReview(job, watermarks, notice, now) {
      return db.write((tx) => {
        closeJob(tx, job, watermarks, now);
        insertOutbox(tx, notice, ids, now);
      });
    },
  };
}

function bySession(rows: readonly Row[]): UncoveredTurns[] {
  const sessions = new Map<string, { platform: string; entries: StoredEntry[] }>();
  for (const row of rows) {
    const session = sessions.get(row.session_id) ?? { platform: row.platform, entries: [] };
    session.entries.push({
      id: row.id,
      sessionId: row.session_id,
      turnId: row.turn_id,
      entry: fromJson(row.entry),
      text: row.text ?? "",
      at: row.at,
      ...(row.account_id === null ? {} : { accountId: row.account_id }),
      ...(row.author === null ? {} : { author: row.author }),
    });
    sessions.set(row.session_id, session);
  }
  return [...sessions].map(([sessionId, { platform, entries }]) => ({ sessionId, platform, entries, upTo: entries.at(-1)?.id ?? 0 }));
}
