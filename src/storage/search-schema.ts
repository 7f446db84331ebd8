/**
 * The tables of search. Both indexes are contentless: they hold no text, the program feeds them, and the row id of `fts_message` is the
 * message's. A message of a private session is in neither.
 */
import { feedMessages, feedStretches } from "./search-feed.js";
import type { Tx } from "./sql.js";

/** `search_origins.id` gives an origin its short scope token; the sums are what ranking needs to know of an origin. */
const searchTables = `
create table search_origins (
  id integer primary key,
  origin text not null unique,
  messages integer not null default 0,
  stretches integer not null default 0
) strict;

create table search_stretches (
  id integer primary key,
  session_id text not null,
  from_id integer not null,
  to_id integer not null,
  messages integer not null,
  words integer not null
) strict;
create unique index search_stretches_session on search_stretches (session_id, from_id);

create virtual table fts_message using fts5(
  body, scope, content = '', contentless_delete = 1, detail = full, tokenize = 'unicode61 remove_diacritics 2'
);
create virtual table fts_stretch using fts5(
  body, scope, content = '', contentless_delete = 1, detail = full, tokenize = 'porter unicode61 remove_diacritics 2'
);

create index sessions_origin on sessions (origin, last_active_at);
create index sessions_parent on sessions (parent_id) where parent_id is not null;
`;

/** Creates the tables and feeds them what is stored already. */
export function createSearch(tx: Tx): void {
  tx.exec(searchTables);
  feedAll(tx, 0, Number.MAX_SAFE_INTEGER);
  for (const { id } of tx.all<{ id: string }>("select id from sessions where is_private = 0"))
    feedStretches(tx, id, Number.MAX_SAFE_INTEGER);
}

interface StoredText {
  readonly id: number;
  readonly sessionId: string;
  readonly spaceId: string;
  readonly origin: string;
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  readonly at: number;
}

/** Feeds the next `limit` messages above an id into the message index; returns the last id fed, or undefined at the end. */
export function feedAll(tx: Tx, above: number, limit: number): number | undefined {
  const rows = tx.all<StoredText>(
    `select m.id, m.session_id as sessionId, s.space_id as spaceId, s.origin, m.role, m.text, m.at
     from messages m join sessions s on s.id = m.session_id where m.id > ? and s.is_private = 0 order by m.id limit ?`,
    [above, limit],
  );
  feedMessages(
    tx,
    rows.map((row) => ({ ...row, isPrivate: false })),
  );
  return rows.at(-1)?.id;
}
