/**
 * Checking and repairing the search indexes. Both are made of the messages alone, so feeding them again cures whatever is wrong.
 */
import { errorText } from "../domain/errors.js";
import type { Database } from "./database.js";
import { emptySearch, feedStretches } from "./search-feed.js";
import { feedAll } from "./search-schema.js";
import type { Tx } from "./sql.js";

/** Messages and sessions fed in one transaction: other writes wait no longer than that takes. */
const messagesAtOnce = 500;

export async function checkSearch(db: Database): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const faults = await db.write((tx) => [...structureFaults(tx), ...contentFaults(tx)]);
  return faults.length === 0
    ? { ok: true, detail: "Both search indexes are sound." }
    : { ok: false, detail: `${faults.join(" ")} Feeding the indexes again from the messages cures it.` };
}

function structureFaults(tx: Tx): string[] {
  return ["fts_message", "fts_stretch"].flatMap((table) => {
    try {
      tx.run(`insert into ${table} (${table}) values ('integrity-check')`);
      return [];
    } catch (error) {
      return [`${table} is damaged (${errorText(error)}).`];
    }
  });
}

function contentFaults(tx: Tx): string[] {
  const count = (sql: string): number => tx.get<{ count: number }>(`select count(*) as count ${sql}`)?.count ?? 0;
  const missing = count(
    `from messages m join sessions s on s.id = m.session_id where s.is_private = 0 and m.text <> ''
       and not exists (select 1 from fts_message_docsize d where d.id = m.id)`,
  );
  const loose = count(
    `from fts_message_docsize d left join messages m on m.id = d.id left join sessions s on s.id = m.session_id
       where m.id is null or s.is_private = 1`,
  );
  const stretches = count("from search_stretches t where not exists (select 1 from fts_stretch_docsize d where d.id = t.id)");
  return [
    ...(missing === 0 ? [] : [`${missing} messages are not in the search index.`]),
    ...(loose === 0 ? [] : [`${loose} rows of the search index have no message.`]),
    ...(stretches === 0 ? [] : [`${stretches} stretches are not in the search index.`]),
  ];
}

/** May run beside a gateway: what is said meanwhile is fed by its own commit, and feeding a message twice is harmless. */
export async function rebuildSearch(db: Database): Promise<void> {
  await db.write(emptySearch);
  for (let above: number | undefined = 0; above !== undefined;) {
    const from: number = above;
    above = await db.write((tx) => feedAll(tx, from, messagesAtOnce));
  }
  const sessions = await db.read((tx) => tx.all<{ id: string }>("select id from sessions where is_private = 0 order by created_at"));
  for (const { id } of sessions) await db.write((tx) => feedStretches(tx, id, Number.MAX_SAFE_INTEGER));
  await tidySearch(db);
}

/** Pages merged in one transaction, and how long such a step about takes: some ms. */
const pagesAtOnce = 200;

/** Merges each index into one piece, in steps that other writes fit between; makes it smaller and faster after much was fed. */
export async function tidySearch(db: Database): Promise<void> {
  for (const table of ["fts_message", "fts_stretch"]) {
    let pages = -pagesAtOnce;
    for (let isMore = true; isMore; pages = pagesAtOnce) {
      const now: number = pages;
      isMore = await db.write((tx) => mergeStep(tx, table, now));
    }
  }
}

/** A negative number takes in all pieces. True when there may be more to do: SQLite then has changed at least two rows. */
function mergeStep(tx: Tx, table: string, pages: number): boolean {
  const changes = (): number => tx.get<{ count: number }>("select total_changes() as count")?.count ?? 0;
  const before = changes();
  tx.run(`insert into ${table} (${table}, rank) values ('merge', ?)`, [pages]);
  return changes() - before >= 2;
}
