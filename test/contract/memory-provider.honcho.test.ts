/** Honcho through @honcho-ai/sdk: the suite of every provider, then what only Honcho has. */
import { describe, expect, it } from "vitest";
import { agentPeer, HonchoProvider } from "../../src/providers/honcho.js";
import { personTag, sessionTag } from "../../src/providers/place.js";
import { startHonchoServer, type HonchoServer } from "../support/honcho-server.js";
import { amy, inGroup, memoryProviderContract } from "./memory-provider.contract.js";

const options = { workspace: "test", apiKey: "key-1", contextEvery: 1, dialecticEvery: 3, dialecticDepth: 1 };
const never = new AbortController().signal;
const make = (url: string, more: Partial<typeof options> = {}): HonchoProvider => new HonchoProvider({ ...options, ...more, baseUrl: url });

memoryProviderContract<HonchoServer>({
  name: "honcho",
  start: startHonchoServer,
  make,
  plant: (server, who, text) => server.conclude(personTag(who), text),
  conversations: (server) => server.messages.map(({ content }) => content),
  facts: (server) => server.conclusions.map(({ content }) => content),
  searchTool: "honcho_search",
  storeTool: "honcho_conclude",
  tagOf: personTag,
});

describe("Honcho", () => {
  it("sends the key, names the workspace, and makes the person observed and the agent not", async () => {
    const server = await startHonchoServer();
    const turn = { turnId: "t1", personId: "amy", user: "hello", assistant: "hi", at: 0 };

    await make(server.url).syncTurn(turn, { place: amy, conversation: [turn], uncertain: false, signal: never });

    expect(server.requests[0]).toMatchObject({
      method: "POST",
      path: "/v3/workspaces",
      authorization: "Bearer key-1",
      body: { id: "test" },
    });
    expect([...server.sessions]).toEqual([
      [
        sessionTag(amy),
        { metadata: {}, deleted: false, peers: { [personTag(amy)]: {}, [agentPeer]: { observe_me: false, observe_others: true } } },
      ],
    ]);
    expect(server.messages.map(({ peer_id, content, metadata }) => [peer_id, content, metadata["mneme_turn"]])).toEqual([
      [personTag(amy), "hello", "t1"],
      [agentPeer, "hi", "t1"],
    ]);
  });

  it("keeps a person apart in each space", async () => {
    expect(personTag(amy)).not.toBe(personTag(inGroup));
  });

  it("asks who this is on a cold start, and what matters now in a warm session, at the set distances", async () => {
    const server = await startHonchoServer();
    const provider = make(server.url);
    server.answers.push("A gardener.", "They plan a move.");
    const layersAt = async (turn: number, madeAt: { context?: number; answer?: number }): Promise<string[]> =>
      (await provider.queuePrefetch("plants", amy, { turn, madeAt }, never)).map(({ layer, text }) => `${layer}: ${text}`);

    expect(await layersAt(1, {})).toEqual(["answer: A gardener."]);
    server.conclude(personTag(amy), "Grows plants.");
    expect(await layersAt(2, { answer: 1 })).toEqual(["context: Grows plants."]);
    expect(await layersAt(4, { context: 2, answer: 1 })).toEqual(["context: Grows plants.", "answer: They plan a move."]);
    const questions = server.requests.filter(({ path }) => path.endsWith("/chat")).map(({ body }) => body);
    expect(questions).toHaveLength(2);
    expect(questions[0]?.["query"]).toMatch(/Who is this person\?/);
    expect(questions[0]).not.toHaveProperty("session_id");
    expect(questions[1]?.["query"]).toMatch(/matters for the current conversation/);
    expect(questions[1]?.["session_id"]).toBe(sessionTag(amy));
  });

  it("looks for gaps in the second pass and settles contradictions in the third", async () => {
    const server = await startHonchoServer();
    server.answers.push("Lives in Oslo.", "Perhaps in Bergen.", "Moved from Oslo to Bergen.");

    const layers = await make(server.url, { dialecticDepth: 3 }).queuePrefetch("where", amy, { turn: 1, madeAt: { context: 1 } }, never);

    expect(layers).toEqual([{ layer: "answer", text: "Moved from Oslo to Bergen." }]);
    const [, second, third] = server.requests.filter(({ path }) => path.endsWith("/chat")).map(({ body }) => String(body["query"]));
    expect(second).toMatch(/> Lives in Oslo\.[\s\S]*still unknown/);
    expect(third).toMatch(/> Lives in Oslo\.[\s\S]*> Perhaps in Bergen\.[\s\S]*agree/);
  });

  it("never asks the dear question on the reply's path", async () => {
    const server = await startHonchoServer();

    await make(server.url).prefetch("plants", amy);

    expect(server.lines().filter((line) => line.endsWith("/chat"))).toEqual([]);
  });

  it("offers five tools that all answer", async () => {
    const server = await startHonchoServer();
    const provider = make(server.url);
    server.cards.set(personTag(amy), ["Name: Amy"]);
    server.conclude(personTag(amy), "Likes long walks.");
    server.answers.push("Walks calm her.");
    const run = (name: string, input: object): Promise<string> => provider.handleToolCall({ name, input, place: amy, callId: "c1" }, never);

    expect(provider.toolSchemas().map(({ name }) => name)).toEqual([
      "honcho_profile",
      "honcho_search",
      "honcho_context",
      "honcho_reasoning",
      "honcho_conclude",
    ]);
    expect(await run("honcho_profile", {})).toBe("Name: Amy");
    expect(await run("honcho_search", { query: "walks" })).toBe("- concluded: Likes long walks.");
    expect(await run("honcho_context", {})).toBe("- Name: Amy\nLikes long walks.");
    expect(await run("honcho_reasoning", { question: "why walks?" })).toBe("Walks calm her.");
    expect(await run("honcho_conclude", { content: "Walks daily." })).toMatch(/^Kept\.\nid: c\d+$/);
  });
});
