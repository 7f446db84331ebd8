/**
 * Supermemory's API as far as the bot uses it, in memory: documents with custom ids, profile, search, forget, settings. A known
 * custom id is an update. It refuses bad tags, over-long instructions, and endpoints it does not know.
 */
import { Answer, startRecordingServer, type RecordingServer } from "./recording-server.js";

export interface StoredDocument {
  readonly id: string;
  readonly customId: string | null;
  content: string;
  readonly containerTag: string;
  metadata: Record<string, unknown>;
  /** How often it was written. */
  writes: number;
}

export interface SupermemoryServer extends RecordingServer {
  readonly documents: StoredDocument[];
  /** Extracted memories per container. */
  readonly memories: { readonly id: string; readonly containerTag: string; readonly memory: string }[];
  readonly profiles: Map<string, { readonly static: string[]; readonly dynamic: string[] }>;
}

const goodTag = /^[A-Za-z0-9._-]{1,100}$/;

export async function startSupermemoryServer(options: { readonly port?: number } = {}): Promise<SupermemoryServer> {
  const documents: StoredDocument[] = [];
  const memories: { readonly id: string; readonly containerTag: string; readonly memory: string }[] = [];
  const profiles = new Map<string, { readonly static: string[]; readonly dynamic: string[] }>();
  let serial = 0;
  const find = (id: string | undefined): StoredDocument | undefined => documents.find((one) => one.id === id || one.customId === id);
  const found = (tag: string, query: string): unknown[] =>
    memories
      .filter((one) => one.containerTag === tag && (query === "" || shares(one.memory, query)))
      .map(({ id, memory }) => ({ id, memory, similarity: 0.9, metadata: null, updatedAt: "2026-01-01T00:00:00Z" }));

  const server = await startRecordingServer(
    {
      "GET /v3/settings": () => ({}),
      "POST /v3/documents": ({ body }) => {
        const {
          content,
          containerTag,
          customId,
          entityContext,
          metadata = {},
        } = body as Record<string, string> & { metadata?: Record<string, unknown> };
        if (content === undefined || content.trim() === "" || !goodTag.test(containerTag ?? "") || !goodTag.test(customId ?? "x"))
          return new Answer(400);
        if ((entityContext ?? "").length > 1500) return new Answer(400);
        const known = customId === undefined ? undefined : documents.find((one) => one.customId === customId);
        if (known !== undefined) {
          Object.assign(known, { content, metadata, writes: known.writes + 1 });
          return { id: known.id, status: "queued" };
        }
        const made = {
          id: `d${(serial += 1)}`,
          customId: customId ?? null,
          content,
          containerTag: containerTag ?? "",
          metadata,
          writes: 1,
        };
        documents.push(made);
        return { id: made.id, status: "queued" };
      },
      "POST /v3/documents/list": ({ body }) => {
        const tags = body["containerTags"] as string[];
        const limit = Number(body["limit"] ?? 10);
        const page = Number(body["page"] ?? 1);
        const all = documents.filter((one) => tags.includes(one.containerTag));
        return {
          memories: all.slice((page - 1) * limit, page * limit),
          pagination: { currentPage: page, limit, totalItems: all.length, totalPages: Math.max(1, Math.ceil(all.length / limit)) },
        };
      },
      "DELETE /v3/documents/bulk": ({ body }) => {
        const tags = body["containerTags"] as string[];
        const before = documents.length;
        for (const [index, one] of [...documents.entries()].toReversed()) if (tags.includes(one.containerTag)) documents.splice(index, 1);
        for (const [index, one] of [...memories.entries()].toReversed()) if (tags.includes(one.containerTag)) memories.splice(index, 1);
        return { success: true, deletedCount: before - documents.length };
      },
      "GET /v3/documents/:d": (_request, { d }) => find(d) ?? new Answer(404),
      "PATCH /v3/documents/:d": ({ body }, { d }) => {
        const known = find(d);
        if (known === undefined) return new Answer(404);
        Object.assign(known, { content: String(body["content"]), writes: known.writes + 1 });
        return { id: known.id, status: "queued" };
      },
      "DELETE /v3/documents/:d": (_request, { d }) => {
        const known = find(d);
        if (known === undefined) return new Answer(404);
        documents.splice(documents.indexOf(known), 1);
        return new Answer(204);
      },
      "POST /v4/search": ({ body }) => {
        const results = found(String(body["containerTag"]), String(body["q"])).slice(0, Number(body["limit"] ?? 10));
        return { results, timing: 1, total: results.length };
      },
      "POST /v4/profile": ({ body }) => {
        const tag = String(body["containerTag"]);
        if (!goodTag.test(tag)) return new Answer(400);
        const results = typeof body["q"] === "string" ? found(tag, body["q"]) : [];
        return { profile: profiles.get(tag) ?? { static: [], dynamic: [] }, searchResults: { results, timing: 1, total: results.length } };
      },
      "DELETE /v4/memories": ({ body }) => {
        const index = memories.findIndex((one) => one.id === body["id"] && one.containerTag === body["containerTag"]);
        if (index < 0) return new Answer(404);
        memories.splice(index, 1);
        return { id: body["id"], forgotten: true };
      },
    },
    options.port,
  );
  return Object.assign(server, { documents, memories, profiles });
}

function shares(text: string, query: string): boolean {
  const words = new Set(text.toLowerCase().match(/\p{L}+/gu) ?? []);
  return (query.toLowerCase().match(/\p{L}+/gu) ?? []).some((word) => word.length > 3 && words.has(word));
}
