/** What the known servers send, through the real client library: parsed without loss, nothing internal shown. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OpenAiModel } from "../../../src/model/openai-model.js";
import type { Entry } from "../../../src/domain/transcript.js";
import type { ModelRequest, ModelResult } from "../../../src/ports/chat-model.js";
import { collectingLogger, countedIds, systemClock } from "../../support/runtime.js";
import { startScriptedModel, type ScriptedModel } from "../../support/scripted-model.js";

const frames = (name: string): unknown[] =>
  JSON.parse(readFileSync(new URL(`../../fixtures/streams/${name}.json`, import.meta.url), "utf8")) as unknown[];
const weather = {
  name: "weather",
  description: "The weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};
const hello: ModelRequest = { model: "any", system: "s", tools: [weather], entries: [{ role: "user", content: "hello" }] };

let server: ScriptedModel;
beforeEach(async () => {
  server = await startScriptedModel();
});
afterEach(() => server.stop());

function build(url = server.url): OpenAiModel {
  return new OpenAiModel(
    { baseUrl: url, model: "any", idleTimeoutMs: 2_000, requestTimeoutMs: 5_000, parallel: 0, maxRetries: 0 },
    { clock: systemClock, ids: countedIds(), logger: collectingLogger(), redact: (text) => text, random: () => 0 },
  );
}

async function hear(model: OpenAiModel, request = hello): Promise<{ readonly shown: string; readonly result: ModelResult }> {
  let shown = "";
  let result: ModelResult | undefined;
  for await (const event of model.complete(request, new AbortController().signal)) {
    if (event.type === "text") shown += event.text;
    else result = event.result;
  }
  if (result === undefined) throw new Error("no result");
  return { shown, result };
}

const oslo = { name: "weather", city: "Oslo" };
const rome = { name: "weather", city: "Rome" };

interface Expected {
  readonly stream: string;
  readonly what: string;
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly { readonly name: string; readonly city: string }[];
  /** In, cached, out; absent where the server sends none. */
  readonly usage?: readonly [number, number, number];
  readonly fails?: "server";
}

const servers: readonly Expected[] = [
  {
    stream: "openai-parallel-calls",
    what: "OpenAI: two calls in pieces, padding fields, cached tokens",
    calls: [oslo, rome],
    usage: [2048, 1920, 96],
  },
  { stream: "openai-refusal", what: "OpenAI: a refusal is what the person reads", text: "I cannot help with that.", usage: [20, 0, 6] },
  {
    stream: "openrouter-reasoning",
    what: "OpenRouter: usage in a chunk with a choice",
    text: "Hi",
    reasoning: "The user greets.",
    usage: [50, 32, 12],
  },
  {
    stream: "openrouter-reasoning-tool-call",
    what: "OpenRouter: reasoning details, then a call with null content",
    reasoning: "I need the weather.",
    calls: [oslo],
    usage: [500, 448, 40],
  },
  { stream: "openrouter-mid-stream-error", what: "OpenRouter: an error inside a 200 is the upstream's status", fails: "server" },
  { stream: "deepseek-cache", what: "DeepSeek: its own cache counters", text: "Yes", reasoning: "Hm.", usage: [90, 64, 4] },
  {
    stream: "deepseek-thinking-tool-call",
    what: "DeepSeek: thinking before a call, usage in the last chunk",
    reasoning: "I should look it up.",
    calls: [oslo],
    usage: [400, 384, 60],
  },
  { stream: "vllm-finish-in-last-delta", what: "vLLM: the finish reason comes with the last text", text: "One two", usage: [10, 0, 2] },
  {
    stream: "vllm-reasoning-tool-call",
    what: "vLLM: the field `reasoning`, blank text before a call, an id that is too long",
    reasoning: "Let me see.",
    calls: [oslo],
    usage: [300, 0, 40],
  },
  { stream: "vllm-error-frame", what: "vLLM: an error object in the place of a chunk", fails: "server" },
  { stream: "ollama-tool-call", what: "Ollama: a call in one piece", calls: [oslo], usage: [120, 0, 18] },
  {
    stream: "ollama-thinking-two-calls",
    what: "Ollama: two whole calls that both have index 0",
    reasoning: "Two cities, two calls.",
    calls: [oslo, rome],
    usage: [180, 0, 44],
  },
  {
    stream: "ollama-think-tags",
    what: "Ollama: thoughts in the text of an older model",
    text: "Hello there.",
    reasoning: "\nquiet thoughts\n",
  },
  { stream: "lmstudio-tool-call", what: "LM Studio: a call in pieces without usage", calls: [oslo] },
  { stream: "lmstudio-text-call", what: "LM Studio: a call that was left standing in the text", calls: [oslo] },
  {
    stream: "lmstudio-reasoning",
    what: "LM Studio: reasoning in its own field",
    text: "Hello there.",
    reasoning: "Short thought.",
    usage: [30, 0, 8],
  },
];

describe("the known servers' streams", () => {
  it.each(servers)("MC-07, MC-14: $what ($stream)", async ({ stream, text, reasoning, calls, usage, fails }) => {
    server.push({ frames: frames(stream) });

    const { shown, result } = await hear(build());

    expect(shown).toBe(text ?? "");
    if (fails !== undefined) {
      expect(result).toMatchObject({ ok: false, failure: fails });
      return;
    }
    if (!result.ok) throw new Error(`${result.failure}: ${result.detail}`);
    // What streams is what is stored; blank text beside calls is nobody's answer.
    expect(result.text.trim()).toBe(text ?? "");
    expect(result.reasoning ?? "").toBe(reasoning ?? "");
    expect(result.toolCalls.map((call) => ({ name: call.name, ...(JSON.parse(call.arguments) as { city: string }) }))).toEqual(calls ?? []);
    expect(result.toolCalls.every((call) => call.id.length <= 40)).toBe(true);
    expect(new Set(result.toolCalls.map((call) => call.id)).size).toBe(result.toolCalls.length);
    if (usage === undefined) expect(result.usage.exact).toBe(false);
    else expect(result.usage).toEqual({ inputTokens: usage[0], cachedTokens: usage[1], outputTokens: usage[2], exact: true });
  });

  it("every recorded stream has a row here", async () => {
    const { readdirSync } = await import("node:fs");
    const recorded = readdirSync(new URL("../../fixtures/streams", import.meta.url)).filter((name) => name.endsWith(".json"));

    expect(servers.map(({ stream }) => `${stream}.json`).toSorted()).toEqual(recorded.toSorted());
  });
});

describe("reasoning that was stored", () => {
  const call = (id: string) => [{ id, name: "weather", arguments: "{}" }];
  const entries: readonly Entry[] = [
    { role: "user", content: "hello" },
    { role: "assistant", content: "", toolCalls: call("c1"), reasoning: "first thought" },
    { role: "tool", callId: "c1", name: "weather", content: "sun" },
    { role: "assistant", content: "Sunny.", reasoning: "second thought" },
    { role: "user", content: "and now?" },
    { role: "assistant", content: "", toolCalls: call("c2") },
    { role: "tool", callId: "c2", name: "weather", content: "rain" },
  ];
  const assistants = (n: number) => server.requests[n]?.body.messages.filter((message) => message.role === "assistant");

  it("MC-09: is sent back to no server that does not ask for it", async () => {
    server.push("fine");

    await hear(build(), { ...hello, entries });

    expect(server.requests[0]?.raw).not.toContain("thought");
  });

  it("is sent back in its own field, with tool calls only, to a server that wants it (DeepSeek's thinking mode), and is not asked for twice", async () => {
    const wants = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    server.push({ fault: { kind: "status", status: 400, message: wants, code: "invalid_request_error" } }, "fine", "fine again");
    const model = build();

    expect((await hear(model, { ...hello, entries })).result).toMatchObject({ ok: true, text: "fine" });
    expect((await hear(model, { ...hello, entries })).result).toMatchObject({ ok: true });

    expect(server.requests).toHaveLength(3);
    expect(assistants(1)?.map((message) => message["reasoning_content"])).toEqual(["first thought", undefined, ""]);
    expect(assistants(1)?.map((message) => message.content)).toEqual([null, "Sunny.", null]);
    expect(assistants(2)).toEqual(assistants(1));
  });

  it("is left out again where the server does not know the field, and a server that wants it both ways gets its failure", async () => {
    const wants = { fault: { kind: "status", status: 400, message: "reasoning_content must be passed back" } } as const;
    const refuses = { fault: { kind: "status", status: 400, message: "Unknown parameter: 'messages[1].reasoning_content'." } } as const;
    server.push(wants, refuses, wants);

    expect((await hear(build(), { ...hello, entries })).result).toMatchObject({ ok: false, failure: "bad-request" });

    expect(server.requests).toHaveLength(3);
  });
});
