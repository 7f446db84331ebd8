/**
 * The full-text part of a search: lists of matching row ids. The scope token stands in every expression, so a list never holds
 * a message of another origin.
 */
import type { SearchRole, SearchScope } from "../ports/search.js";
import { messageToken, roleLetters, stretchToken, type OriginRow } from "./search-feed.js";
import type { Postings } from "./search-ranking.js";
import type { ReadStatement, SearchReader } from "./search-reader.js";

/** Hits of one term that are looked at, newest first. Rare words, which decide, never reach it. */
const messageLimit = 4000;
const stretchLimit = 4000;
/** Messages that fit a whole expression. */
const exactLimit = 4000;
const mostLeft = 20_000;

export interface ScopeFacts {
  /** Scope tokens; undefined = everything. */
  readonly messageTokens: string | undefined;
  readonly stretchTokens: string | undefined;
  readonly messages: number;
  readonly stretches: number;
}

/** What the scope holds; undefined when nothing was ever said in it. */
export async function scopeFacts(reader: SearchReader, scope: SearchScope): Promise<ScopeFacts | undefined> {
  const columns = "select id, messages, stretches from search_origins";
  const [rows] = (await reader.read([
    scope.origins === "all"
      ? { sql: columns, params: [] }
      : { sql: `${columns} where origin in (select value from json_each(?))`, params: [JSON.stringify(scope.origins)] },
  ])) as [OriginRow[]];
  if (rows.length === 0) return undefined;
  const roles = scope.roles ?? (Object.keys(roleLetters) as SearchRole[]);
  const isAll = scope.origins === "all";
  const sum = (value: (row: OriginRow) => number): number => rows.reduce((total, row) => total + value(row), 0);
  return {
    messageTokens: isAll ? undefined : anyOf(rows.flatMap(({ id }) => roles.map((role) => messageToken(id, role)))),
    stretchTokens: isAll ? undefined : anyOf(rows.map(({ id }) => stretchToken(id))),
    messages: sum((row) => row.messages),
    stretches: sum((row) => row.stretches),
  };
}

function anyOf(tokens: readonly string[]): string {
  return tokens.map((token) => `"${token}"`).join(" OR ");
}

function list(table: "fts_message" | "fts_stretch", tokens: string | undefined, expression: string, limit: number): ReadStatement {
  const body = `body : (${expression})`;
  return {
    sql: `select rowid from ${table} where ${table} match ? order by rowid desc limit ?`,
    params: [tokens === undefined ? body : `scope : (${tokens}) AND ${body}`, limit],
    isColumn: true,
  };
}

function postings(ids: Float64Array, limit: number): Postings {
  return { ids, isCut: ids.length >= limit };
}

export interface Lists {
  /** One for each term. */
  readonly messages: readonly Postings[];
  readonly stretches: readonly Postings[];
}

export interface ListOptions {
  /** Messages that will be left out: so many more are listed, within reason. */
  readonly left: number;
  readonly withStretches: boolean;
}

/** Where each of the terms occurs, in messages and, with `withStretches`, in stretches. */
export async function termLists(
  reader: SearchReader,
  facts: ScopeFacts,
  terms: readonly string[],
  { left, withStretches }: ListOptions,
): Promise<Lists> {
  const limit = messageLimit + Math.min(left, mostLeft);
  const results = (await reader.read([
    ...terms.map((term) => list("fts_message", facts.messageTokens, term, limit)),
    ...(withStretches ? terms.map((term) => list("fts_stretch", facts.stretchTokens, term, stretchLimit)) : []),
  ])) as Float64Array[];
  return {
    messages: results.slice(0, terms.length).map((ids) => postings(ids, limit)),
    stretches: results.slice(terms.length).map((ids) => postings(ids, stretchLimit)),
  };
}

/** The newest messages that fit an expression, newest first. */
export async function exactList(reader: SearchReader, facts: ScopeFacts, expression: string, left: number): Promise<Float64Array> {
  const [ids] = (await reader.read([list("fts_message", facts.messageTokens, expression, exactLimit + Math.min(left, mostLeft))])) as [
    Float64Array,
  ];
  return ids;
}
