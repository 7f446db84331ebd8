/**
 * A search over conversations that a test tells: real stores on a real file, filled through the turns' own commits.
 */
import { onTestFinished } from "vitest";
import { noUsage, type Entry } from "../../src/domain/transcript.js";
import type { SearchHit, SearchIndex, SearchScope } from "../../src/ports/search.js";
import type { NewSession } from "../../src/ports/stores.js";
import { parseQuery } from "../../src/recall/query.js";
import { openDatabase, type Database } from "../../src/storage/database.js";
import { createSearchIndex } from "../../src/storage/search-index.js";
import { createStores, type Stores } from "../../src/storage/stores.js";
import { tempHome } from "./temp-home.js";

export interface SearchStore {
  readonly db: Database;
  readonly stores: Stores;
  readonly index: SearchIndex;
  readonly clock: { time: number; now(): number; after(): () => void };
  /** A session of a person's direct messages (`amy`), or what is given. */
  begin(id: string, more?: Partial<NewSession>): Promise<void>;
  /** One committed turn: what the person said and what was answered, and further entries between. */
  turn(sessionId: string, said: string, answer: string, between?: readonly Entry[]): Promise<void>;
  end(sessionId: string): Promise<void>;
  search(typed: string, scope?: Partial<SearchScope>, limit?: number): Promise<SearchHit[]>;
  /** Ids of the sessions found, best first. */
  found(typed: string, scope?: Partial<SearchScope>, limit?: number): Promise<string[]>;
}

export const amyOrigin = "chat:dm:amy";

export async function openSearchStore(): Promise<SearchStore> {
  const home = tempHome();
  const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
  const clock = { time: 1_700_000_000_000, now: () => clock.time, after: () => () => undefined };
  const db = await openDatabase({ file: home.path("mneme.db"), logger: silent, clock });
  let count = 0;
  const stores = createStores({ db, clock, ids: { next: () => `id${String((count += 1)).padStart(6, "0")}` } });
  const index = createSearchIndex({ db });
  onTestFinished(async () => {
    await index.close();
    await db.close();
  });
  const speaker = { platform: "chat", accountId: "amy", personId: "p1", role: "user", displayName: "Amy" } as const;
  const route = { platform: "chat", chatId: "c1" };
  const store: SearchStore = {
    db,
    stores,
    index,
    clock,
    async begin(id, more = {}) {
      clock.time += 1000;
      await stores.sessions.create(
        {
          id,
          key: `key-${id}`,
          spaceId: "p1",
          spaceKind: "person",
          personId: "p1",
          platform: "chat",
          chatId: "c1",
          chatKind: "dm",
          origin: amyOrigin,
          route,
          ...more,
        },
        clock.time,
      );
    },
    async turn(sessionId, said, answer, between = []) {
      clock.time += 1000;
      const id = `t${(count += 1)}`;
      const { claim } = await stores.turns.begin(
        { id, sessionId, inboxIds: [], speaker, route, user: { role: "user", content: `[10:00] ${said}` }, said },
        clock.time,
      );
      await stores.turns.commit(
        {
          turnId: id,
          claim,
          outcome: "answered",
          entries: [{ role: "user", content: `[10:00] ${said}` }, ...between, { role: "assistant", content: answer }],
          outbox: [],
          inbox: [],
          usage: noUsage,
          model: "m",
          iterations: 1,
          counts: { memoryTurns: 1, skillIterations: 0 },
          decide: (counters) => ({ counters, intents: [] }),
        },
        clock.time,
      );
    },
    end: (sessionId) => stores.sessions.end(sessionId, "new", clock.time, []),
    search: (typed, scope = {}, limit = 5) =>
      index.search(parseQuery(typed), { origins: [amyOrigin], exceptSessions: [], ...scope }, limit),
    found: async (typed, scope, limit) => (await store.search(typed, scope, limit)).map(({ session }) => session.sessionId),
  };
  return store;
}
