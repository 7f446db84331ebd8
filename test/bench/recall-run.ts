/** Runs the questions of the recall corpus against the search index, once for each variant of the query. */
import { join } from "node:path";
import type { Logger } from "../../src/ports/runtime.js";
import type { SearchQuery } from "../../src/ports/search.js";
import { parseQuery } from "../../src/recall/query.js";
import { openDatabase } from "../../src/storage/database.js";
import { createSearchIndex } from "../../src/storage/search-index.js";
import { importTranscripts } from "../../src/storage/transcript-import.js";
import { recallCorpus } from "./recall-corpus.js";

export interface RecallFigures {
  readonly variant: string;
  readonly first: number;
  readonly amongThree: number;
  readonly questions: number;
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

const variants: readonly { readonly variant: string; readonly query: (typed: string) => SearchQuery }[] = [
  { variant: "all words needed (exact index)", query: (typed) => ({ ...parseQuery(typed), mode: "strict" }) },
  {
    variant: "any content word, messages alone",
    query: (typed) => {
      const { broad } = parseQuery(typed);
      return { mode: "strict", exact: broad.join(" OR "), terms: broad, broad: [] };
    },
  },
  { variant: "natural: messages, neighbours, stretches", query: (typed) => parseQuery(typed) },
];

export async function measureRecall(dir: string): Promise<RecallFigures[]> {
  const { messages, questions } = recallCorpus();
  const clock = { now: () => Date.now(), after: () => () => undefined };
  const db = await openDatabase({ file: join(dir, "mneme.db"), logger: silent, clock });
  const index = createSearchIndex({ db });
  try {
    await importTranscripts(
      db,
      (async function* all() {
        yield* messages;
      })(),
      Date.now(),
    );
    const figures: RecallFigures[] = [];
    for (const { variant, query } of variants) {
      let first = 0;
      let amongThree = 0;
      for (const { text, space, session } of questions) {
        const found = await index.search(query(text), { origins: await index.originsOfGroup(space), exceptSessions: [] }, 3);
        const place = found.findIndex((hit) => hit.session.sessionId === session);
        if (place === 0) first += 1;
        if (place >= 0) amongThree += 1;
      }
      figures.push({ variant, first: first / questions.length, amongThree: amongThree / questions.length, questions: questions.length });
    }
    return figures;
  } finally {
    await index.close();
    await db.close();
  }
}
