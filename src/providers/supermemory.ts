/**
 * Supermemory as a memory provider. One container per space; a session is one document under a stable custom id that only ever
 * grows, so sending it again stores nothing twice.
 */
import type {
  MemoryProvider,
  MirroredEntry,
  MirrorToRemove,
  PersonAtProvider,
  PrefetchState,
  ProviderPlace,
  ProviderToolCall,
  Recalled,
  SessionAtProvider,
  SyncContext,
  SyncedTurn,
} from "../ports/memory-provider.js";
import { garbage, isMissing, text, texts } from "./failure.js";
import { readableSpaces, sessionTag, spaceTag } from "./place.js";
import { SupermemoryClient, type Supermemory, type SupermemorySettings } from "./supermemory-client.js";
import { documentsOf, documentText, extractionInstruction } from "./supermemory-texts.js";
import { supermemoryTools } from "./supermemory-tools.js";

const name = "supermemory";
const queryLength = 2000;
const pageSize = 100;

interface Found {
  readonly id: string;
  readonly text: string;
}

export class SupermemoryProvider implements MemoryProvider {
  readonly name = name;
  readonly #client: SupermemoryClient;

  constructor(settings: SupermemorySettings) {
    this.#client = new SupermemoryClient(settings);
  }

  async initialize(signal: AbortSignal): Promise<void> {
    await this.#client.use((client) => client.settings.get({ signal }));
  }

  systemPromptBlock(): string {
    return "A memory service (Supermemory) keeps what was said here before. What it recalls stands in <memory-context> at the end of a message; the supermemory_ tools ask it for more.";
  }

  toolSchemas(): typeof supermemoryTools {
    return supermemoryTools;
  }

  async prefetch(query: string, place: ProviderPlace, signal: AbortSignal): Promise<Recalled | undefined> {
    const known = await this.#profile(place, signal, query.trim().slice(0, queryLength));
    return known === "" ? undefined : { layer: "context", text: known };
  }

  async queuePrefetch(query: string, place: ProviderPlace, _state: PrefetchState, signal: AbortSignal): Promise<Recalled[]> {
    const recalled = await this.prefetch(query, place, signal);
    return recalled === undefined ? [] : [recalled];
  }

  async syncTurn(turn: SyncedTurn, { place, conversation, signal }: SyncContext): Promise<string[]> {
    const documents = documentsOf(conversation);
    const index = documents.findIndex((turns) => turns.some(({ turnId }) => turnId === turn.turnId));
    const turns = documents[index];
    return turns === undefined ? [] : [await this.#store(place, index, turns, signal)];
  }

  /** A replacing update: adding would leave what the document said before. */
  async forgetTurn(_turnId: string, remoteIds: readonly string[], { place, conversation, signal }: SyncContext): Promise<void> {
    const documents = documentsOf(conversation);
    const customIds = documents.map((_turns, index) => documentId(place, index));
    await this.#client.use(async (client) => {
      for (const id of remoteIds.length > 0 ? remoteIds : [documentId(place, Math.max(0, documents.length - 1))]) {
        const held = await client.documents.get(id, { signal }).catch(undefinedIfMissing);
        if (held === undefined) continue;
        const turns = documents[customIds.indexOf(text(name, "a document", held.customId))];
        if (turns === undefined) await client.documents.delete(id, { signal }).catch(undefinedIfMissing);
        else await client.documents.update(id, { content: documentText(turns), containerTag: spaceTag(place.spaceId) }, { signal });
      }
    });
  }

  async onSessionEnd({ place, conversation, signal }: SyncContext): Promise<void> {
    const documents = documentsOf(conversation);
    const last = documents.at(-1);
    if (last !== undefined) await this.#store(place, documents.length - 1, last, signal, true);
  }

  async forgetSession(_place: ProviderPlace, { turns, facts }: SessionAtProvider, signal: AbortSignal): Promise<void> {
    await this.#client.use(async (client) => {
      for (const id of new Set([...turns, ...facts])) await client.documents.delete(id, { signal }).catch(undefinedIfMissing);
    });
  }

  handleToolCall(call: ProviderToolCall, signal: AbortSignal): Promise<string> {
    const { place } = call;
    const input = call.input as { readonly content?: string; readonly query?: string; readonly limit?: number; readonly id?: string };
    switch (call.name) {
      case "supermemory_store":
        return this.#keep(place, input.content ?? "", `mneme-f-${call.callId}`, "fact", signal).then((id) => `Stored.\nid: ${id}`);
      case "supermemory_search":
        return this.#search(place, input.query ?? "", input.limit ?? 8, signal).then((found) =>
          found.map((one) => `- (${one.id}) ${one.text}`).join("\n"),
        );
      case "supermemory_forget":
        return this.#forget(place, input, signal);
      default:
        return this.#profile(place, signal);
    }
  }

  onMemoryWrite(entry: MirroredEntry, place: ProviderPlace, _uncertain: boolean, signal: AbortSignal): Promise<string> {
    return this.#keep(place, entry.content, mirrorId(entry.key), entry.target, signal);
  }

  async onMemoryRemove({ key, remoteId }: MirrorToRemove, _place: ProviderPlace, signal: AbortSignal): Promise<void> {
    await this.#client.use((client) => client.documents.delete(remoteId ?? mirrorId(key), { signal }).catch(undefinedIfMissing));
  }

  async exportPerson({ personId, aliases }: PersonAtProvider, signal: AbortSignal): Promise<unknown> {
    const spaces: unknown[] = [];
    for (const id of [personId, ...aliases]) {
      const tag = spaceTag(id);
      const documents = await this.#client.use((client) => allDocuments(client, tag, signal));
      const { profile } = await this.#client.use((client) => client.profile({ containerTag: tag }, { signal }));
      spaces.push({ container: tag, documents, profile });
    }
    return { service: name, spaces };
  }

  /** Group containers hold no container of one person: their conversations are stored anew by the caller. */
  async forgetPerson({ personId, aliases }: PersonAtProvider, signal: AbortSignal): Promise<void> {
    await this.#client.use((client) => client.documents.deleteBulk({ containerTags: [personId, ...aliases].map(spaceTag) }, { signal }));
  }

  async #store(place: ProviderPlace, index: number, turns: readonly SyncedTurn[], signal: AbortSignal, ended = false): Promise<string> {
    const last = turns.at(-1)?.turnId ?? "";
    return this.#add(
      {
        content: documentText(turns),
        containerTag: spaceTag(place.spaceId),
        customId: documentId(place, index),
        entityContext: extractionInstruction,
        metadata: { mneme_kind: "conversation", mneme_turn: last, mneme_ended: ended },
      },
      signal,
    );
  }

  #keep(place: ProviderPlace, content: string, customId: string, kind: string, signal: AbortSignal): Promise<string> {
    return this.#add(
      { content, containerTag: spaceTag(place.spaceId), customId, entityContext: extractionInstruction, metadata: { mneme_kind: kind } },
      signal,
    );
  }

  #add(body: Parameters<Supermemory["add"]>[0], signal: AbortSignal): Promise<string> {
    return this.#client.use(async (client) => {
      const answer: unknown = await client.add(body, { signal });
      return requiredId(answer);
    });
  }

  async #profile(place: ProviderPlace, signal: AbortSignal, query = ""): Promise<string> {
    const parts = await Promise.all(
      readableSpaces(place).map((containerTag) =>
        this.#client.use(async (client) => {
          const answer = await client.profile({ containerTag, ...(query === "" ? {} : { q: query }) }, { signal });
          if (typeof answer !== "object" || answer === null || typeof answer.profile !== "object") throw garbage(name, "a profile");
          const found = (answer.searchResults?.results ?? []).map((one) => foundText(one).text);
          return [...texts(name, "a profile", answer.profile.static), ...texts(name, "a profile", answer.profile.dynamic), ...found];
        }),
      ),
    );
    const lines = new Set(
      parts
        .flat()
        .map((line) => line.trim())
        .filter((line) => line !== ""),
    );
    return [...lines].map((line) => `- ${line}`).join("\n");
  }

  async #search(place: ProviderPlace, q: string, limit: number, signal: AbortSignal): Promise<Found[]> {
    const parts = await Promise.all(
      readableSpaces(place).map((containerTag) =>
        this.#client.use(async (client) => {
          const { results } = await client.search({ q: q.slice(0, queryLength), containerTag, limit, searchMode: "hybrid" }, { signal });
          if (!Array.isArray(results)) throw garbage(name, "a search");
          return results.map(foundText);
        }),
      ),
    );
    return parts.flat().slice(0, limit);
  }

  async #forget(
    place: ProviderPlace,
    { id, query }: { readonly id?: string; readonly query?: string },
    signal: AbortSignal,
  ): Promise<string> {
    if (id !== undefined) {
      await this.#client.use((client) => client.memories.forget({ containerTag: spaceTag(place.spaceId), id }, { signal }));
      return `Forgotten: ${id}.`;
    }
    const [best] = query === undefined ? [] : await this.#search(place, query, 1, signal);
    if (best === undefined) return "Nothing matches; nothing was deleted.";
    return `Nothing was deleted yet. The best match is (${best.id}) ${best.text}\nShow it to the person and ask; after their yes call this tool with id ${best.id}.`;
  }
}

function documentId(place: ProviderPlace, index: number): string {
  return `${sessionTag(place)}${index === 0 ? "" : `.${index + 1}`}`;
}

function mirrorId(key: string): string {
  return `mneme-m-${key}`;
}

function requiredId(answer: unknown): string {
  if (typeof answer === "object" && answer !== null && "id" in answer && typeof answer.id === "string") return answer.id;
  throw garbage(name, "a new document");
}

function foundText(one: unknown): Found {
  if (typeof one !== "object" || one === null) throw garbage(name, "a search");
  const { id, memory, chunk } = one as { readonly id?: unknown; readonly memory?: unknown; readonly chunk?: unknown };
  return { id: text(name, "a result", id), text: text(name, "a result", memory ?? chunk) };
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
  return undefined;
}

async function allDocuments(client: Supermemory, containerTag: string, signal: AbortSignal): Promise<unknown[]> {
  const documents: unknown[] = [];
  for (let page = 1; ; page += 1) {
    const answer = await client.documents.list({ containerTags: [containerTag], includeContent: true, limit: pageSize, page }, { signal });
    documents.push(...answer.memories);
    if (page >= answer.pagination.totalPages) return documents;
  }
}
