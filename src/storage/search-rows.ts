/**
 * The SQL that turns matching ids into sessions and messages. Every statement here names the scope again: an id alone opens nothing.
 */
import type { FoundMessage, FoundSession, SearchScope } from "../ports/search.js";
import type { ReadStatement } from "./search-reader.js";
import type { SqlValue } from "./sql.js";

const shownLength = 20_000;
const previewLength = 200;
/** Nobody continues a conversation so often; a ring of parents must not run for ever. */
const longestChain = 1000;

/** Condition on the session `s`; null as parameter means no restriction. */
const inScope = `s.is_private = 0 and (@a is null or s.origin in (select value from json_each(@a)))`;

/** The values as the statement's `@a`, `@b` … */
function named(values: readonly SqlValue[]): { readonly [name: string]: SqlValue } {
  return Object.fromEntries(values.map((value, index) => [String.fromCodePoint(97 + index), value]));
}

function originsParam(scope: SearchScope): string | null {
  return scope.origins === "all" ? null : JSON.stringify(scope.origins);
}

/** Sessions with the oldest session they continue. */
const chains = `
  chain (start, id, parent, depth) as (
    select s.id, s.id, s.parent_id, 0 from sessions s where s.id in (select value from json_each(@b))
    union all
    select c.start, p.id, p.parent_id, c.depth + 1 from chain c join sessions p on p.id = c.parent where c.depth < ${longestChain}
  ),
  roots (start, root) as (
    select start, id from (select start, id, max(depth) from chain group by start)
  )`;

export interface MessageRow {
  readonly id: number;
  readonly session_id: string;
  readonly parent_id: string | null;
  /** As the index keeps it: tokens of each column, as variable-length integers. */
  readonly sz: Uint8Array;
  readonly before: number | null;
  readonly behind: number | null;
}

/** Messages by id, as far as the scope holds them, on demand with their neighbours. */
export function messageRows(scope: SearchScope, ids: readonly number[], withNeighbours: boolean): ReadStatement {
  const neighbours = `(select max(n.id) from messages n where n.session_id = m.session_id and n.id < m.id) as before,
        (select min(n.id) from messages n where n.session_id = m.session_id and n.id > m.id) as behind`;
  return {
    sql: `select m.id, m.session_id, s.parent_id, d.sz, ${withNeighbours ? neighbours : "null as before, null as behind"}
      from json_each(@b) j join messages m on m.id = j.value join sessions s on s.id = m.session_id
        join fts_message_docsize d on d.id = m.id
      where ${inScope} and (@c is null or m.role in (select value from json_each(@c)))`,
    params: named([originsParam(scope), JSON.stringify(ids), scope.roles === undefined ? null : JSON.stringify(scope.roles)]),
  };
}

/** Tokens of a message. */
export function tokensOf({ sz }: MessageRow): number {
  let tokens = 0;
  for (const byte of sz) {
    tokens = tokens * 128 + (byte & 127);
    if (byte < 128) break;
  }
  return tokens;
}

export interface StretchRow {
  readonly id: number;
  readonly session_id: string;
  readonly parent_id: string | null;
  readonly from_id: number;
  readonly to_id: number;
  readonly words: number;
}

export function stretchRows(scope: SearchScope, ids: readonly number[]): ReadStatement {
  return {
    sql: `select t.id, t.session_id, s.parent_id, t.from_id, t.to_id, t.words
      from json_each(@b) j join search_stretches t on t.id = j.value join sessions s on s.id = t.session_id where ${inScope}`,
    params: named([originsParam(scope), JSON.stringify(ids)]),
  };
}

export interface RootRow {
  readonly start: string;
  readonly root: string;
}

export function rootRows(sessionIds: readonly string[]): ReadStatement {
  return { sql: `with recursive ${chains} select start, root from roots`, params: { b: JSON.stringify([...new Set(sessionIds)]) } };
}

export type SessionRow = Omit<FoundSession, "title"> & { readonly root: string; readonly title: string | null };

/** All that belongs to the given roots, one row each: id and title of the newest session, sums over all of them. */
export function familyRows(scope: SearchScope, roots: readonly string[]): ReadStatement {
  return {
    sql: `with recursive family (root, id, depth) as (
        select s.id, s.id, 0 from sessions s where s.id in (select value from json_each(@b))
        union all
        select f.root, c.id, f.depth + 1 from family f join sessions c on c.parent_id = f.id where f.depth < ${longestChain}
      ),
      members as (
        select f.root, f.depth, s.* from family f join sessions s on s.id = f.id where ${inScope}
      ),
      newest as (
        select m.*, row_number() over (partition by root order by depth desc, last_active_at desc, id desc) as place from members m
      )
      select n.root, n.id as sessionId, n.space_id as spaceId, n.platform,
        coalesce(n.title, (select m.title from members m where m.root = n.root and m.title is not null order by depth desc limit 1)) as title,
        coalesce((select substr(x.text, 1, ${previewLength}) from members m join messages x on x.session_id = m.id
          where m.root = n.root and x.role = 'user' order by x.id limit 1), '') as preview,
        (select min(coalesce((select min(x.at) from messages x where x.session_id = m.id), m.created_at)) from members m where m.root = n.root) as startedAt,
        (select max(m.last_active_at) from members m where m.root = n.root) as lastActiveAt,
        (select count(*) from members m join messages x on x.session_id = m.id where m.root = n.root) as messageCount
      from newest n where n.place = 1`,
    params: named([originsParam(scope), JSON.stringify(roots)]),
  };
}

export function sessionOf(row: SessionRow): FoundSession {
  const { root: _root, title, ...session } = row;
  return { ...session, ...(title === null ? {} : { title }) };
}

export interface RecentRow {
  readonly session_id: string;
  readonly parent_id: string | null;
}

/** The newest sessions with messages, but for those that are left out. */
export function recentRows(scope: SearchScope, left: readonly string[], limit: number): ReadStatement {
  return {
    sql: `select s.id as session_id, s.parent_id from sessions s
      where ${inScope} and s.id not in (select value from json_each(@b)) and exists (select 1 from messages m where m.session_id = s.id)
      order by s.last_active_at desc, s.id desc limit @c`,
    params: named([originsParam(scope), JSON.stringify(left), limit]),
  };
}

/** Ids of the messages, and of the stretches, of some sessions. */
export function heldRows(sessionIds: readonly string[]): ReadStatement[] {
  const params = { a: JSON.stringify(sessionIds) };
  return ["messages", "search_stretches"].map((table) => ({
    sql: `select id from ${table} where session_id in (select value from json_each(@a))`,
    params,
    isColumn: true,
  }));
}

export type TextRow = Omit<FoundMessage, "author"> & { readonly author: string | null };

const textColumns = `m.id, m.session_id as sessionId, m.role, m.author, m.at, substr(m.text, 1, ${shownLength}) as text`;

export function textOf({ author, ...row }: TextRow): FoundMessage {
  return { ...row, ...(author === null ? {} : { author }) };
}

export function textRows(scope: SearchScope, ids: readonly number[]): ReadStatement {
  return {
    sql: `select ${textColumns} from json_each(@b) j join messages m on m.id = j.value join sessions s on s.id = m.session_id where ${inScope}`,
    params: named([originsParam(scope), JSON.stringify(ids)]),
  };
}

/** What people and the agent said in a stretch. */
export function spanRows(scope: SearchScope, stretch: StretchRow): ReadStatement {
  return {
    sql: `select ${textColumns} from messages m join sessions s on s.id = m.session_id
      where ${inScope} and m.session_id = @b and m.id between @c and @d and m.role in ('user', 'assistant') order by m.id`,
    params: named([originsParam(scope), stretch.session_id, stretch.from_id, stretch.to_id]),
  };
}

/** Messages of some sessions from one id on, in one direction, until `characters` are reached. */
export function aroundRows(
  scope: SearchScope,
  sessionIds: readonly string[],
  from: number,
  isBefore: boolean,
  characters: number,
): ReadStatement {
  const [compare, order] = isBefore ? ["<=", "desc"] : [">", "asc"];
  return {
    sql: `select id, sessionId, role, author, at, text from (
        select x.*, sum(length(x.text)) over (order by x.id ${order} rows unbounded preceding) as total from (
          select ${textColumns} from messages m join sessions s on s.id = m.session_id
          where ${inScope} and m.session_id in (select value from json_each(@b)) and m.id ${compare} @c order by m.id ${order} limit 5000
        ) x
      ) where total - length(text) < @d order by id`,
    params: named([originsParam(scope), JSON.stringify(sessionIds), from, characters]),
  };
}

/** All sessions of the families of some sessions. */
export function memberRows(sessionIds: readonly string[]): ReadStatement {
  return {
    sql: `with recursive ${chains},
      family (id, depth) as (
        select distinct root, 0 from roots
        union all
        select c.id, f.depth + 1 from family f join sessions c on c.parent_id = f.id where f.depth < ${longestChain}
      )
      select id from family`,
    params: { b: JSON.stringify(sessionIds) },
  };
}
