/**
 * Search over what was said, on the two full-text tables. Reads run in a thread of their own; what they return is ranked here. A message
 * is found as soon as its turn is committed, a stretch after its job.
 */
import { originOf } from "../domain/identity.js";
import type { FoundMessage, FoundSession, SearchHit, SearchIndex, SearchQuery, SearchScope } from "../ports/search.js";
import type { Database } from "./database.js";
import { checkSearch, rebuildSearch } from "./search-care.js";
import { feedStretches } from "./search-feed.js";
import { exactList, scopeFacts, termLists, type ScopeFacts } from "./search-lists.js";
import { best, collect, likeliest, rankSessions, type Matches, type RankedSession } from "./search-ranking.js";
import { createSearchReader, type SearchReader } from "./search-reader.js";
import * as rows from "./search-rows.js";

/** Messages and stretches looked at closely for a question; for an exact search so many messages for each session asked for. */
const messageCandidates = 250;
const stretchCandidates = 200;
const exactCandidates = 40;
const shownMessages = 5;
const nothing: Matches = { masks: new Map(), weights: [] };

export function createSearchIndex({ db }: { readonly db: Database }): SearchIndex {
  const reader = createSearchReader(db.file);
  return {
    search: (query, scope, limit) => search(reader, query, scope, limit),
    recent: (scope, limit) => recent(reader, scope, limit),
    around: (messageId, scope, characters) => around(reader, messageId, scope, characters),
    indexStretches: (sessionId, upTo) => db.write((tx) => feedStretches(tx, sessionId, upTo)),
    check: () => checkSearch(db),
    rebuild: () => rebuildSearch(db),
    originsOf: (personId) =>
      db.read((tx) =>
        tx
          .all<{ platform: string; accountId: string }>("select platform, account_id as accountId from accounts where person_id = ?", [
            personId,
          ])
          .map(({ platform, accountId }) => originOf({ platform, accountId, chat: { id: "", kind: "dm" } })),
      ),
    originsOfGroup: (spaceId) =>
      db.read((tx) =>
        tx
          .all<{ origin: string }>("select distinct origin from sessions where space_id = ? and space_kind = 'group'", [spaceId])
          .map(({ origin }) => origin),
      ),
    close: () => reader.close(),
  };
}

async function search(reader: SearchReader, query: SearchQuery, scope: SearchScope, limit: number): Promise<SearchHit[]> {
  if (query.exact === "" && query.broad.length === 0) return [];
  const facts = await scopeFacts(reader, scope);
  if (facts === undefined) return [];
  const asked: Asked = { reader, facts, scope, limit, left: await leftOut(reader, scope) };
  if (query.mode !== "natural" && query.exact !== "") {
    const found = await searchExact(asked, query);
    if (found.length > 0 || query.mode === "strict") return found;
  }
  return query.broad.length === 0 ? [] : searchBroad(asked, query.broad);
}

interface LeftOut {
  readonly messages: ReadonlySet<number>;
  readonly stretches: ReadonlySet<number>;
}

interface Asked {
  readonly reader: SearchReader;
  readonly facts: ScopeFacts;
  readonly scope: SearchScope;
  readonly limit: number;
  readonly left: LeftOut;
}

/** Messages that fit the expression, ranked by the terms in them. */
async function searchExact(asked: Asked, query: SearchQuery): Promise<SearchHit[]> {
  const { reader, facts, left } = asked;
  // One word is its own expression; its list is not read twice.
  const isOneTerm = query.exact === `(${query.terms[0] ?? ""})`;
  const [all, lists] = await Promise.all([
    exactList(reader, facts, query.exact, left.messages.size),
    termLists(reader, facts, isOneTerm ? [] : query.terms, { left: left.messages.size, withStretches: false }),
  ]);
  const fitting = all.filter((id) => !left.messages.has(id));
  if (fitting.length === 0) return [];
  const only = new Set(fitting);
  // What fits stays, also where all its terms lie behind the limit of their lists.
  const matches = collect([{ ids: fitting, isCut: false }, ...lists.messages], facts.messages, (id) => only.has(id));
  return rank(asked, { terms: query.terms, messages: matches, stretches: nothing });
}

async function searchBroad(asked: Asked, terms: readonly string[]): Promise<SearchHit[]> {
  const { reader, facts, left } = asked;
  const lists = await termLists(reader, facts, terms, { left: left.messages.size, withStretches: true });
  const messages = collect(lists.messages, facts.messages, (id) => !left.messages.has(id));
  return rank(asked, { terms, messages, stretches: collect(lists.stretches, facts.stretches, (id) => !left.stretches.has(id)) });
}

interface Ranking {
  readonly terms: readonly string[];
  readonly messages: Matches;
  readonly stretches: Matches;
}

async function rank({ reader, scope, limit }: Asked, { terms, messages, stretches }: Ranking): Promise<SearchHit[]> {
  // An exact search is about the message itself.
  const withNeighbours = stretches !== nothing;
  const [messageRows, stretchRows] = (await reader.read([
    rows.messageRows(scope, best(messages, withNeighbours ? Math.max(messageCandidates, limit) : exactCandidates * limit), withNeighbours),
    rows.stretchRows(scope, best(stretches, stretchCandidates)),
  ])) as [rows.MessageRow[], rows.StretchRow[]];
  const roots = await rootsOf(reader, [...messageRows, ...stretchRows]);
  const family = (sessionId: string): string => roots.get(sessionId) ?? sessionId;
  const ranked = rankSessions({
    messages: messageRows.map((row) => ({
      id: row.id,
      family: family(row.session_id),
      length: rows.tokensOf(row),
      before: row.before ?? undefined,
      behind: row.behind ?? undefined,
    })),
    messageMatches: messages,
    stretches: stretchRows.map((row) => ({
      id: row.id,
      family: family(row.session_id),
      from: row.from_id,
      to: row.to_id,
      words: row.words,
    })),
    stretchMatches: stretches,
    withNeighbours,
  });
  // With a role filter only what was said in that role counts as found.
  const found = scope.roles === undefined ? ranked : ranked.filter(({ messageIds }) => messageIds.length > 0);
  return hits(reader, { scope, terms, ranked: found.slice(0, limit), stretchRows });
}

/** The oldest session that each one continues, for those that continue one. */
async function rootsOf(
  reader: SearchReader,
  found: readonly { readonly session_id: string; readonly parent_id: string | null }[],
): Promise<ReadonlyMap<string, string>> {
  const continued = found.flatMap((row) => (row.parent_id === null ? [] : [row.session_id]));
  if (continued.length === 0) return new Map();
  const [roots] = (await reader.read([rows.rootRows(continued)])) as [rows.RootRow[]];
  return new Map(roots.map(({ start, root }) => [start, root]));
}

/** What the sessions to be left out hold, so that they do not take the places of others. */
async function leftOut(reader: SearchReader, { exceptSessions }: SearchScope): Promise<LeftOut> {
  if (exceptSessions.length === 0) return { messages: new Set(), stretches: new Set() };
  const members = await membersOf(reader, exceptSessions);
  const [messages, stretches] = (await reader.read(rows.heldRows(members))) as [Float64Array, Float64Array];
  return { messages: new Set(messages), stretches: new Set(stretches) };
}

async function membersOf(reader: SearchReader, sessionIds: readonly string[]): Promise<string[]> {
  const [members] = (await reader.read([rows.memberRows(sessionIds)])) as [{ readonly id: string }[]];
  return members.map(({ id }) => id);
}

interface Ranked {
  readonly scope: SearchScope;
  readonly terms: readonly string[];
  readonly ranked: readonly RankedSession[];
  readonly stretchRows: readonly rows.StretchRow[];
}

/** The ranked sessions with what there is to show of them. */
async function hits(reader: SearchReader, { scope, terms, ranked, stretchRows }: Ranked): Promise<SearchHit[]> {
  if (ranked.length === 0) return [];
  const stretchById = new Map(stretchRows.map((row) => [row.id, row]));
  // A session found by its stretch alone shows what was said in it.
  const spans = ranked.flatMap(({ messageIds, stretch }) => {
    const row = messageIds.length > 0 || stretch === undefined ? undefined : stretchById.get(stretch.id);
    return row === undefined ? [] : [row];
  });
  const ids = ranked.flatMap(({ messageIds }) => messageIds.slice(0, shownMessages));
  const [families, texts, ...said] = (await reader.read([
    rows.familyRows(
      scope,
      ranked.map(({ family }) => family),
    ),
    rows.textRows(scope, ids),
    ...spans.map((span) => rows.spanRows(scope, span)),
  ])) as [rows.SessionRow[], ...rows.TextRow[][]];
  const sessionByRoot = new Map(families.map((row) => [row.root, rows.sessionOf(row)]));
  const textById = new Map((texts ?? []).map((row) => [row.id, rows.textOf(row)]));
  return ranked.flatMap(({ family, score, messageIds, stretch }) => {
    const session = sessionByRoot.get(family);
    const span = spans.findIndex(({ id }) => id === stretch?.id);
    const messages =
      messageIds.length > 0
        ? messageIds.slice(0, shownMessages).flatMap((id) => textById.get(id) ?? [])
        : likeliest((said[span] ?? []).map(rows.textOf), terms, shownMessages);
    return session === undefined || messages.length === 0 ? [] : [{ session, score, messages }];
  });
}

async function recent(reader: SearchReader, scope: SearchScope, limit: number): Promise<FoundSession[]> {
  const left = scope.exceptSessions.length === 0 ? [] : await membersOf(reader, scope.exceptSessions);
  // Several sessions may be one conversation, so more are read than are shown.
  const [newest] = (await reader.read([rows.recentRows(scope, left, limit * 4 + 20)])) as [rows.RecentRow[]];
  const roots = await rootsOf(reader, newest);
  const wanted = [...new Set(newest.map(({ session_id: id }) => roots.get(id) ?? id))].slice(0, limit);
  const [families] = (await reader.read([rows.familyRows(scope, wanted)])) as [rows.SessionRow[]];
  return families.map(rows.sessionOf).toSorted((a, b) => b.lastActiveAt - a.lastActiveAt || (a.sessionId < b.sessionId ? 1 : -1));
}

async function around(reader: SearchReader, messageId: number, scope: SearchScope, characters: number): Promise<FoundMessage[]> {
  const [[message]] = (await reader.read([rows.textRows(scope, [messageId])])) as [rows.TextRow[]];
  if (message === undefined) return [];
  const sessionIds = await membersOf(reader, [message.sessionId]);
  const [before, behind] = (await reader.read([
    rows.aroundRows(scope, sessionIds, messageId, true, characters),
    rows.aroundRows(scope, sessionIds, messageId, false, characters),
  ])) as [rows.TextRow[], rows.TextRow[]];
  return [...before, ...behind].map(rows.textOf);
}
