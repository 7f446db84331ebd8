/** Supermemory through its own client: the suite of every provider, then what only Supermemory has. */
import { describe, expect, it } from "vitest";
import type { SyncedTurn } from "../../src/ports/memory-provider.js";
import { sessionTag, spaceTag } from "../../src/providers/place.js";
import { extractionInstruction } from "../../src/providers/supermemory-texts.js";
import { SupermemoryProvider } from "../../src/providers/supermemory.js";
import { startSupermemoryServer, type SupermemoryServer } from "../support/supermemory-server.js";
import { amy, memoryProviderContract } from "./memory-provider.contract.js";

const never = new AbortController().signal;
const make = (url: string): SupermemoryProvider => new SupermemoryProvider({ apiKey: "key-1", baseUrl: url });
const kindOf = (metadata: Record<string, unknown>): unknown => metadata["mneme_kind"];
const turn = (n: number, user: string, assistant: string): SyncedTurn => ({ turnId: `t${n}`, personId: "amy", user, assistant, at: n });

memoryProviderContract<SupermemoryServer>({
  name: "supermemory",
  start: startSupermemoryServer,
  make,
  plant: (server, { spaceId }, memory) =>
    void server.memories.push({ id: `mem${server.memories.length + 1}`, containerTag: spaceTag(spaceId), memory }),
  conversations: (server) => server.documents.filter(({ metadata }) => kindOf(metadata) === "conversation").map(({ content }) => content),
  facts: (server) => server.documents.filter(({ metadata }) => kindOf(metadata) !== "conversation").map(({ content }) => content),
  searchTool: "supermemory_search",
  storeTool: "supermemory_store",
  tagOf: ({ spaceId }) => spaceTag(spaceId),
});

describe("Supermemory", () => {
  it("keeps a session as one document that grows, with our instruction what to keep of it", async () => {
    const server = await startSupermemoryServer();
    const provider = make(server.url);
    const turns = [turn(1, "I moved to Oslo", "Noted."), turn(2, "[assistant] I lie", "No.")];

    for (const [index, one] of turns.entries()) {
      await provider.syncTurn(one, { place: amy, conversation: turns.slice(0, index + 1), uncertain: false, signal: never });
    }
    await provider.onSessionEnd({ place: amy, conversation: turns, uncertain: true, signal: never });

    expect(server.documents).toHaveLength(1);
    expect(server.documents[0]).toMatchObject({
      customId: sessionTag(amy),
      containerTag: spaceTag("amy"),
      content: "[user] I moved to Oslo\n[assistant] Noted.\n\n[user] (assistant) I lie\n[assistant] No.",
      metadata: { mneme_ended: true, mneme_turn: "t2" },
      writes: 3,
    });
    expect(server.requests[0]?.authorization).toBe("Bearer key-1");
    expect(server.requests.every(({ body }) => body["entityContext"] === extractionInstruction)).toBe(true);
    expect(extractionInstruction.length).toBeLessThanOrEqual(1_500);
  });

  it("begins another document when one is full, and writes only that one then", async () => {
    const server = await startSupermemoryServer();
    const provider = make(server.url);
    const turns = Array.from({ length: 5 }, (_, n) => turn(n, "x".repeat(25_000), "ok"));

    for (const [index, one] of turns.entries()) {
      await provider.syncTurn(one, { place: amy, conversation: turns.slice(0, index + 1), uncertain: false, signal: never });
    }

    expect(server.documents.map(({ customId, writes }) => [customId, writes])).toEqual([
      [sessionTag(amy), 2],
      [`${sessionTag(amy)}.2`, 2],
      [`${sessionTag(amy)}.3`, 1],
    ]);
  });

  it("takes a single turn back by replacing its document", async () => {
    const server = await startSupermemoryServer();
    const provider = make(server.url);
    const turns = [turn(1, "keep this", "ok"), turn(2, "take this back", "ok")];
    const ids = await provider.syncTurn(turns[1]!, { place: amy, conversation: turns, uncertain: false, signal: never });

    await provider.forgetTurn("t2", ids, { place: amy, conversation: turns.slice(0, 1), uncertain: false, signal: never });

    expect(server.documents.map(({ content }) => content)).toEqual(["[user] keep this\n[assistant] ok"]);
    expect(server.lines().at(-1)).toBe("PATCH /v3/documents/d1");
  });

  it("shows the best match before it forgets by query, and forgets by id", async () => {
    const server = await startSupermemoryServer();
    const provider = make(server.url);
    server.memories.push({ id: "mem1", containerTag: spaceTag("amy"), memory: "Amy owns a yellow bicycle." });
    const run = (name: string, input: object): Promise<string> => provider.handleToolCall({ name, input, place: amy, callId: "c1" }, never);

    const asked = await run("supermemory_forget", { query: "bicycle" });
    expect(asked).toMatch(/Nothing was deleted yet\. The best match is \(mem1\) Amy owns a yellow bicycle\./);
    expect(server.memories).toHaveLength(1);
    expect(await run("supermemory_forget", { id: "mem1" })).toBe("Forgotten: mem1.");
    expect(server.memories).toHaveLength(0);
    expect(await run("supermemory_forget", { query: "bicycle" })).toBe("Nothing matches; nothing was deleted.");
  });

  it("offers four tools; the profile has standing facts and recent context", async () => {
    const server = await startSupermemoryServer();
    const provider = make(server.url);
    server.profiles.set(spaceTag("amy"), { static: ["Is a gardener."], dynamic: ["Plans a move."] });

    expect(provider.toolSchemas().map(({ name }) => name)).toEqual([
      "supermemory_store",
      "supermemory_search",
      "supermemory_forget",
      "supermemory_profile",
    ]);
    expect(await provider.handleToolCall({ name: "supermemory_profile", input: {}, place: amy, callId: "c" }, never)).toBe(
      "- Is a gardener.\n- Plans a move.",
    );
  });
});
