/**
 * Measures search on a synthetic store: insert rate, index sizes, latency of five kinds of query, the longest stop of the event loop, and
 * what a scan of the same messages finds.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { SearchIndex, SearchScope } from "../../src/ports/search.js";
import type { Logger } from "../../src/ports/runtime.js";
import { parseQuery } from "../../src/recall/query.js";
import { Connection } from "../../src/storage/connection.js";
import { openDatabase } from "../../src/storage/database.js";
import { createSearchIndex } from "../../src/storage/search-index.js";
import { importTranscripts } from "../../src/storage/transcript-import.js";
import { corpus, seeded, type Corpus, type CorpusMessage } from "./search-corpus.js";

export interface SearchFigures {
  readonly messages: number;
  readonly textBytes: number;
  readonly insertsPerSecond: number;
  readonly messageIndexBytes: number;
  readonly stretchIndexBytes: number;
  readonly databaseBytes: number;
  readonly scopes: readonly ScopeFigures[];
}

export interface ScopeFigures {
  readonly name: string;
  readonly kinds: readonly {
    readonly kind: string;
    readonly p50: number;
    readonly p95: number;
    readonly max: number;
    readonly cpu: number;
  }[];
  /** Longest time for which the event loop did nothing else, ms; `idleBlock`: the same with nothing to do, which is what the machine adds. */
  readonly idleBlock: number;
  readonly longestBlock: number;
  readonly checked: number;
  /** Queries for words, phrases, OR and prefixes whose set of sessions differs from the scan's, with an example. */
  readonly wrong: readonly string[];
}

export interface RunOptions {
  readonly dir: string;
  readonly count: number;
  /** Messages of the small space; the other messages are spread over spaces of the same size, or are all in it when equal to `count`. */
  readonly spaceSize: number;
  readonly queries: number;
  /** How many queries of a kind are checked against a scan. */
  readonly checks: number;
}

/** The short run, which is also a test. */
export const smallRun = { count: 50_000, spaceSize: 2000, queries: 40, checks: 10 } as const;

const logger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error(fields, message) {
    throw new Error(`${message} ${JSON.stringify(fields)}`);
  },
  child: () => logger,
};
const sessionLength = 40;

export async function runSearchBench(options: RunOptions): Promise<SearchFigures> {
  const { dir, count, spaceSize } = options;
  const perSpace = Math.max(1, Math.floor(spaceSize / sessionLength));
  const store = corpus({
    count,
    sessionLength,
    space: (session) => `space${session % Math.max(1, Math.floor(count / sessionLength / perSpace))}`,
  });
  const file = join(dir, "mneme.db");
  const clock = { now: () => Date.now(), after: () => () => undefined };
  const db = await openDatabase({ file, logger, clock });
  let textBytes = 0;
  async function* counted(): AsyncGenerator<CorpusMessage> {
    for (const message of store.messages()) {
      textBytes += Buffer.byteLength(message.text);
      yield message;
    }
  }
  const began = performance.now();
  await importTranscripts(db, counted(), Date.now());
  const seconds = (performance.now() - began) / 1000;
  await db.checkpoint();
  const index = createSearchIndex({ db });
  try {
    const origins = await index.originsOfGroup("space0");
    const scope: SearchScope = { origins, exceptSessions: [] };
    const name = spaceSize >= count ? "one space that holds all" : `a space of ${perSpace * sessionLength} in ${count}`;
    const scopes = [await measure(index, scope, name, store, options)];
    return { messages: count, textBytes, insertsPerSecond: count / seconds, ...sizes(file), scopes };
  } finally {
    await index.close();
    await db.close();
  }
}

function sizes(file: string): Pick<SearchFigures, "messageIndexBytes" | "stretchIndexBytes" | "databaseBytes"> {
  const { driver } = new Connection(file);
  const size = (pattern: string): number =>
    Number(driver.prepare("select sum(pgsize) from dbstat where aggregate = 1 and name glob ?").pluck().get(pattern));
  try {
    return { messageIndexBytes: size("fts_message*"), stretchIndexBytes: size("fts_stretch*"), databaseBytes: statSync(file).size };
  } finally {
    driver.close();
  }
}

interface Kind {
  readonly kind: string;
  readonly query: () => string;
  /** What a scan would look for; undefined where ranking decides. */
  readonly scan?: (query: string) => (text: string) => boolean;
}

function kinds(store: Corpus): Kind[] {
  const random = seeded(7);
  const from = (list: readonly string[], first: number, last: number): string => list[first + Math.floor(random() * (last - first))] ?? "";
  const has = (word: string) => new RegExp(`(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`, "u");
  return [
    { kind: "Chinese, 2 characters", query: () => from(store.han, 0, 5000), scan: (query) => (text) => text.includes(query) },
    {
      kind: "Chinese, 4 characters",
      query: () => from(store.han, 0, 300) + from(store.han, 0, 300),
      scan: (query) => (text) => text.includes(query),
    },
    {
      kind: "two words with OR",
      query: () => `${from(store.english, 20, 3000)} OR ${from(store.english, 20, 3000)}`,
      scan: (query) => {
        const either = query.split(" OR ").map(has);
        return (text) => either.some((word) => word.test(text));
      },
    },
    {
      kind: "prefix",
      query: () => `${from(store.english, 100, 20_000).slice(0, 5)}*`,
      scan: (query) => {
        const start = new RegExp(`(?<![\\p{L}\\p{N}])${query.slice(0, -1)}`, "u");
        return (text) => start.test(text);
      },
    },
    {
      kind: "natural question",
      query: () =>
        `What did we say about the ${from(store.english, 60, 2000)} ${from(store.english, 200, 20_000)} and the ${from(store.english, 500, 40_000)} ${from(store.han, 0, 5000)}?`,
    },
  ];
}

async function measure(index: SearchIndex, scope: SearchScope, name: string, store: Corpus, options: RunOptions): Promise<ScopeFigures> {
  const results: { kind: string; p50: number; p95: number; max: number; cpu: number }[] = [];
  const wanted: { readonly kind: string; readonly query: string; readonly matches: (text: string) => boolean }[] = [];
  await index.search(parseQuery("warm up"), scope, 3);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const idleBlock = delay.max / 1e6 - 1;
  delay.reset();
  for (const { kind, query, scan } of kinds(store)) {
    const times: number[] = [];
    const cpuBefore = process.cpuUsage();
    for (let round = 0; round < options.queries; round += 1) {
      const typed = query();
      const began = performance.now();
      await index.search(parseQuery(typed), scope, 3);
      times.push(performance.now() - began);
      if (scan !== undefined && round < options.checks) wanted.push({ kind, query: typed, matches: scan(typed) });
    }
    const cpu = process.cpuUsage(cpuBefore);
    times.sort((a, b) => a - b);
    const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
    results.push({ kind, p50: at(0.5), p95: at(0.95), max: at(1), cpu: (cpu.user + cpu.system) / 1000 / options.queries });
  }
  delay.disable();
  // The timer itself comes late by its own resolution.
  const longestBlock = delay.max / 1e6 - 1;
  return { name, kinds: results, idleBlock, longestBlock, ...(await check(index, scope, store, wanted)) };
}

/** Newest hits of a very frequent word are looked at only, so the scan is asked the same: nothing wrong, and nothing missing below the limit. */
const manyHits = 4000;

async function check(
  index: SearchIndex,
  scope: SearchScope,
  store: Corpus,
  wanted: readonly { readonly kind: string; readonly query: string; readonly matches: (text: string) => boolean }[],
): Promise<Pick<ScopeFigures, "checked" | "wrong">> {
  const truth = wanted.map(() => ({ sessions: new Set<string>(), messages: 0 }));
  for (const message of store.messages()) {
    if (message.space !== "space0") continue;
    wanted.forEach(({ matches }, at) => {
      const entry = truth[at];
      if (entry === undefined || !matches(message.text)) return;
      entry.sessions.add(message.session);
      entry.messages += 1;
    });
  }
  const wrong: string[] = [];
  for (const [at, { kind, query }] of wanted.entries()) {
    const expected = truth[at];
    if (expected === undefined) continue;
    const hits = await index.search({ ...parseQuery(query), mode: "strict" }, scope, 1_000_000);
    const found = new Set(hits.map(({ session }) => session.sessionId));
    const tooMany = [...found].filter((session) => !expected.sessions.has(session)).length;
    const missing = [...expected.sessions].filter((session) => !found.has(session)).length;
    if (tooMany > 0 || (missing > 0 && expected.messages <= manyHits))
      wrong.push(`${kind} ${query}: ${missing} missing, ${tooMany} too many`);
  }
  return { checked: wanted.length, wrong };
}
