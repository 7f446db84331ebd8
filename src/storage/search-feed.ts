/**
 * Writes the search indexes. Feeding a message or stretch again replaces it, so whatever fed it may be repeated; what a private session
 * says is never fed.
 */
import { broadText, exactText } from "../domain/search-terms.js";
import type { Tx } from "./sql.js";
import type { IndexedMessage } from "./indexed-message.js";

/** Messages of one row of the stretch index. */
const stretchLength = 30;

export interface OriginRow {
  readonly id: number;
  readonly messages: number;
  readonly stretches: number;
}

export const roleLetters = { user: "u", assistant: "a", tool: "t" } as const;

/** The scope token of an origin's messages of one role; letters and digits only, because the index cuts at anything else. */
export function messageToken(originId: number, role: keyof typeof roleLetters): string {
  return `c${originId}${roleLetters[role]}`;
}

export function stretchToken(originId: number): string {
  return `c${originId}`;
}

/** Indexes messages that have just been stored, in their own transaction. */
export function feedMessages(tx: Tx, messages: readonly IndexedMessage[]): void {
  const origins = new Map<string, OriginSums>();
  for (const message of messages) {
    if (message.isPrivate || message.text === "") continue;
    const origin = origins.get(message.origin) ?? { id: originId(tx, message.origin), messages: 0 };
    origins.set(message.origin, origin);
    const isNew = tx.get("select 1 from fts_message_docsize where id = ?", [message.id]) === undefined;
    tx.run("insert or replace into fts_message (rowid, body, scope) values (?, ?, ?)", [
      message.id,
      exactText(message.text),
      messageToken(origin.id, message.role),
    ]);
    if (isNew) origin.messages += 1;
  }
  for (const { id, messages: count } of origins.values()) {
    tx.run("update search_origins set messages = messages + ? where id = ?", [count, id]);
  }
}

interface OriginSums {
  readonly id: number;
  messages: number;
}

function originId(tx: Tx, origin: string): number {
  const known = tx.get<{ id: number }>("select id from search_origins where origin = ?", [origin]);
  return known?.id ?? tx.run("insert into search_origins (origin) values (?)", [origin]).id;
}

interface StretchRow {
  readonly id: number;
  readonly from_id: number;
  readonly to_id: number;
  readonly messages: number;
}

interface SaidRow {
  readonly id: number;
  readonly text: string;
  readonly author: string | null;
  readonly at: number;
}

/** Indexes the stretches of a session that are new or have grown, up to a message id. Tool output is left out: it is found by its words. */
export function feedStretches(tx: Tx, sessionId: string, upTo: number): void {
  const session = tx.get<{ origin: string; title: string | null }>("select origin, title from sessions where id = ? and is_private = 0", [
    sessionId,
  ]);
  if (session === undefined) return;
  const last = tx.get<StretchRow>("select * from search_stretches where session_id = ? order by from_id desc limit 1", [sessionId]);
  const isOpen = last !== undefined && last.messages < stretchLength;
  const above = last === undefined ? 0 : isOpen ? last.from_id - 1 : last.to_id;
  const said = tx.all<SaidRow>(
    `select id, text, author, at from messages
     where session_id = ? and id > ? and id <= ? and role in ('user', 'assistant') and text <> '' order by id`,
    [sessionId, above, upTo],
  );
  if (said.length === 0 || (isOpen && said.length <= last.messages)) return;
  const origin = originId(tx, session.origin);
  for (let at = 0; at < said.length; at += stretchLength) {
    feedStretch(tx, { origin, sessionId, title: session.title ?? "", said: said.slice(at, at + stretchLength) });
  }
}

interface Stretch {
  readonly origin: number;
  readonly sessionId: string;
  readonly title: string;
  readonly said: readonly SaidRow[];
}

function feedStretch(tx: Tx, { origin, sessionId, title, said }: Stretch): void {
  const [first, last] = [said[0], said.at(-1)];
  if (first === undefined || last === undefined) return;
  const authors = [...new Set(said.map(({ author }) => author ?? ""))];
  const { text, words } = broadText([dateWords(first.at), title, ...authors, ...said.map((one) => one.text)].join("\n"));
  const known = tx.get<{ id: number }>("select id from search_stretches where session_id = ? and from_id = ?", [sessionId, first.id]);
  const values = [last.id, said.length, words];
  const id =
    known?.id ??
    tx.run("insert into search_stretches (to_id, messages, words, session_id, from_id) values (?, ?, ?, ?, ?)", [
      ...values,
      sessionId,
      first.id,
    ]).id;
  if (known === undefined) tx.run("update search_origins set stretches = stretches + 1 where id = ?", [origin]);
  else tx.run("update search_stretches set to_id = ?, messages = ?, words = ? where id = ?", [...values, id]);
  tx.run("insert or replace into fts_stretch (rowid, body, scope) values (?, ?, ?)", [id, text, stretchToken(origin)]);
}

/** The day as people write it; its numbers also find it in other languages. UTC: the day before or after is near enough for ranking. */
function dateWords(at: number): string {
  const day = new Date(at);
  const written = day.toLocaleDateString("en-GB", { timeZone: "UTC", weekday: "long", day: "numeric", month: "long", year: "numeric" });
  return `${written} ${day.getUTCMonth() + 1}`;
}

/** Takes everything out of both indexes, to be fed again. */
export function emptySearch(tx: Tx): void {
  tx.exec("insert into fts_message (fts_message) values ('delete-all'); insert into fts_stretch (fts_stretch) values ('delete-all');");
  tx.exec("delete from search_stretches; update search_origins set messages = 0, stretches = 0;");
}
