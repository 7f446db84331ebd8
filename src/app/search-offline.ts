/**
 * Search and import for the command line, on the data folder itself. Importing creates the database where there is none; searching
 * never does.
 */
import type { FoundMessage, FoundSession, SearchIndex, SearchScope } from "../ports/search.js";
import { excerptOf } from "../recall/excerpt.js";
import { parseQuery } from "../recall/query.js";
import { openDatabase } from "../storage/database.js";
import { createSearchIndex } from "../storage/search-index.js";
import { importTranscripts, type ImportedMessage, type ImportSums } from "../storage/transcript-import.js";
import { databaseFile, withStores, type OfflineDeps } from "./offline.js";

export interface SearchLine {
  readonly session: string;
  readonly space: string;
  readonly score: number;
  readonly title?: string;
  readonly startedAt: number;
  readonly excerpt: string;
  readonly excerpts: readonly string[];
}

const excerptLength = 300;

/** Best first. `space` undefined = everything that is stored. Undefined when there is no database yet. */
export function searchOffline(
  deps: OfflineDeps,
  question: string,
  space: string | undefined,
  limit: number,
): Promise<SearchLine[] | undefined> {
  return withIndex(deps, async (index) => {
    const found = await index.search(parseQuery(question), await scopeFor(index, space), limit);
    return found.map(({ session, score, messages }) => {
      const excerpts = messages.map((message: FoundMessage) => excerptOf(message.text, question, excerptLength));
      return {
        session: session.sessionId,
        space: session.spaceId,
        score: Number(score.toFixed(4)),
        ...(session.title === undefined ? {} : { title: session.title }),
        startedAt: session.startedAt,
        excerpt: excerpts[0] ?? "",
        excerpts,
      };
    });
  });
}

/** Newest first; undefined when there is no database yet. */
export function sessionsOffline(deps: OfflineDeps, space: string | undefined, limit: number): Promise<FoundSession[] | undefined> {
  return withIndex(deps, async (index) => index.recent(await scopeFor(index, space), limit));
}

/** Stores transcripts and indexes them. Rejects with StoreError when the folder cannot be used. */
export async function importOffline(deps: OfflineDeps, messages: AsyncIterable<ImportedMessage>): Promise<ImportSums> {
  const { config, clock, logger } = deps;
  const db = await openDatabase({ file: databaseFile(config), logger, clock });
  try {
    return await importTranscripts(db, messages, clock.now());
  } finally {
    await db.close();
  }
}

function withIndex<T>(deps: OfflineDeps, work: (index: SearchIndex) => Promise<T>): Promise<T | undefined> {
  return withStores(deps, async ({ db }) => {
    const index = createSearchIndex({ db });
    try {
      return await work(index);
    } finally {
      await index.close();
    }
  });
}

/** A space's own origins: a group's chat; a person's accounts, whose id is the space's. */
async function scopeFor(index: SearchIndex, space: string | undefined): Promise<SearchScope> {
  if (space === undefined) return { origins: "all", exceptSessions: [] };
  const origins = [...(await index.originsOfGroup(space)), ...(await index.originsOf(space))];
  return { origins, exceptSessions: [] };
}
