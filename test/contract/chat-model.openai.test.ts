/** The OpenAI-compatible client against the contract, and what only it does: tolerance of odd servers. */
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OpenAiModel, type OpenAiModelSettings } from "../../src/model/openai-model.js";
import type { ModelRequest } from "../../src/ports/chat-model.js";
import { collectingLogger, countedIds, systemClock } from "../support/runtime.js";
import { startScriptedModel, type ScriptedModel, type ScriptedReply } from "../support/scripted-model.js";
import { chatModelContract, hear, requestFor, type Heard } from "./chat-model.contract.js";

const redact = (text: string): string => text.replace(/sk-[\w-]+|bot\d+:[\w-]+/g, "[secret]");

function build(settings: Partial<OpenAiModelSettings> & { readonly baseUrl: string }, logger = collectingLogger()): OpenAiModel {
  return new OpenAiModel(
    { model: "scripted", idleTimeoutMs: 250, requestTimeoutMs: 10_000, parallel: 0, ...settings },
    { clock: systemClock, ids: countedIds(), logger, redact, random: () => 0 },
  );
}

chatModelContract("openai", {
  build: ({ url, idleTimeoutMs, apiKey, parallel }) => build({ baseUrl: url, idleTimeoutMs, apiKey, parallel: parallel ?? 0 }),
});

describe("the OpenAI-compatible client on odd servers", () => {
  let server: ScriptedModel;

  beforeEach(async () => {
    server = await startScriptedModel();
  });
  afterEach(() => server.stop());

  const ask = (reply: ScriptedReply | string, more: Partial<ModelRequest> = {}): Promise<Heard> => {
    server.push(reply);
    return hear(build({ baseUrl: server.url }), requestFor("hello", more));
  };
  const frames = async (name: string): Promise<ScriptedReply> => {
    const text = await readFile(new URL(`../fixtures/streams/${name}.json`, import.meta.url), "utf8");
    return { frames: JSON.parse(text) as unknown[] };
  };

  for (const field of ["stream_options", "temperature", "max_tokens"]) {
    it(`works with a server that refuses ${field}, and asks only once`, async () => {
      const picky = await startScriptedModel({ refuseFields: [field], answer: () => "fine" });
      const model = build({ baseUrl: picky.url, temperature: 0.2, maxOutputTokens: 100 });

      for (const _ of [1, 2])
        expect((await hear(model, requestFor("hello"))).result).toMatchObject({
          ok: true,
          text: "fine",
        });

      expect(picky.refused).toHaveLength(1);
      if (field === "max_tokens") expect(picky.requests[0]?.body["max_completion_tokens"]).toBe(100);
      await picky.stop();
    });
  }

  it("takes one JSON completion where a stream was asked for", async () => {
    const { texts, result } = await ask({
      text: "whole",
      reasoning: "hm",
      fault: { kind: "no-stream" },
    });

    expect(texts).toEqual(["whole"]);
    expect(result).toMatchObject({ ok: true, text: "whole", reasoning: "hm", finish: "stop" });
  });

  it("sends no authorization header without a key and the configured headers always", async () => {
    server.push("a", "b");
    await hear(build({ baseUrl: server.url, headers: { "x-title": "mneme" } }), requestFor("hello"));
    await hear(build({ baseUrl: server.url, apiKey: "k1" }), requestFor("hello"));

    expect(server.requests[0]?.headers).toMatchObject({ "x-title": "mneme" });
    expect(server.requests[0]?.headers["authorization"]).toBeUndefined();
    expect(server.requests[1]?.headers["authorization"]).toBe("Bearer k1");
  });

  it("leaves the tool list out when no tool is offered", async () => {
    await ask("fine", { tools: [] });

    expect(server.requests[0]?.body).not.toHaveProperty("tools");
    expect(server.refused).toEqual([]);
  });

  const oddCalls: readonly {
    readonly what: string;
    readonly reply: ScriptedReply;
    readonly args: readonly string[];
  }[] = [
    {
      what: "complete in one chunk each",
      reply: {
        wholeCalls: true,
        calls: [
          { name: "weather", arguments: { city: "A" } },
          { name: "weather", arguments: { city: "B" } },
        ],
      },
      args: ['{"city":"A"}', '{"city":"B"}'],
    },
    {
      what: "all with index 0",
      reply: {
        calls: [
          { name: "weather", arguments: { city: "A" }, index: 0 },
          { name: "weather", arguments: { city: "B" }, index: 0 },
        ],
        wholeCalls: true,
      },
      args: ['{"city":"A"}', '{"city":"B"}'],
    },
    {
      what: "all with index 0 and no id",
      reply: {
        calls: [
          { name: "weather", arguments: { city: "A" }, index: 0, id: null },
          { name: "weather", arguments: { city: "B" }, index: 0, id: null },
        ],
        wholeCalls: true,
      },
      args: ['{"city":"A"}', '{"city":"B"}'],
    },
    {
      what: "without any index",
      reply: {
        calls: [
          { name: "weather", arguments: { city: "A" }, index: null },
          { name: "weather", arguments: { city: "B" }, index: null },
        ],
      },
      args: ['{"city":"A"}', '{"city":"B"}'],
    },
    {
      what: "with indexes that begin at 3",
      reply: {
        calls: [
          { name: "weather", arguments: { city: "A" }, index: 3 },
          { name: "weather", arguments: { city: "B" }, index: 7 },
        ],
      },
      args: ['{"city":"A"}', '{"city":"B"}'],
    },
    {
      what: "with one id for both",
      reply: {
        calls: [
          { name: "weather", arguments: { city: "A" }, id: "same" },
          { name: "weather", arguments: { city: "B" }, id: "same" },
        ],
      },
      args: ['{"city":"A"}', '{"city":"B"}'],
    },
  ];
  for (const { what, reply, args } of oddCalls) {
    it(`reads tool calls that come ${what}`, async () => {
      const { result } = await ask({ ...reply, finish: "stop" });

      expect(result).toMatchObject({ ok: true, finish: "tools" });
      if (!result.ok) return;
      expect(result.toolCalls.map((call) => call.arguments)).toEqual(args);
      expect(new Set(result.toolCalls.map((call) => call.id)).size).toBe(args.length);
    });
  }

  it("gives a call a new id when the conversation already has its id", async () => {
    const entries = [
      { role: "user", content: "a" },
      {
        role: "assistant",
        content: "",
        toolCalls: [{ id: "call_0", name: "weather", arguments: "{}" }],
      },
      { role: "tool", callId: "call_0", name: "weather", content: "rain" },
    ] as const;
    const { result } = await ask({ calls: [{ name: "weather", id: "call_0" }] }, { entries });

    expect(result.ok && result.toolCalls[0]?.id).not.toBe("call_0");
  });

  it("MC-14: treats a tool call written as text as a call and shows none of it, whatever the chunk size", async () => {
    const written = [
      '{"name":"weather","parameters":{"city":"Oslo"}}',
      '{"name": "weather", "arguments": "{\\"city\\":\\"Oslo\\"}"}',
      '<tool_call>\n{"name":"weather","arguments":{"city":"Oslo"}}\n</tool_call>',
      '<think>need weather</think>\n{"name":"weather","arguments":{"city":"Oslo"}}',
    ];
    for (const text of written) {
      for (const chunkSize of [1, 6, 0]) {
        const { texts, result } = await ask({ text, chunkSize });
        expect(texts).toEqual([]);
        expect(result).toMatchObject({
          ok: true,
          finish: "tools",
          text: "",
          toolCalls: [{ name: "weather", arguments: '{"city":"Oslo"}' }],
        });
      }
    }
  });

  it("MC-14: does not post a call of a tool that is not offered", async () => {
    const { texts, result } = await ask({ text: '{"name":"schedule","parameters":{"at":"9"}}' });

    expect(texts).toEqual([]);
    expect(result).toMatchObject({ ok: true, toolCalls: [{ name: "schedule" }] });
  });

  it("MC-14: posts JSON that is no call, unchanged", async () => {
    for (const text of [
      '{"name":"Ada","born":1815}',
      "[1, 2, 3]",
      '{"name":"weather"',
      'Use {"name":"weather","arguments":{}} like this.',
      "a < b, <tool",
    ]) {
      const { texts, result } = await ask({ text, chunkSize: 3 });
      expect(result).toMatchObject({ ok: true, text, toolCalls: [] });
      expect(texts.join("")).toBe(text);
    }
  });

  it("MC-14: shows the text before a call written in tags and keeps the call back", async () => {
    const { texts, result } = await ask({
      text: 'Let me look.\n<tool_call>{"name":"weather","arguments":{}}</tool_call>',
      chunkSize: 4,
    });

    expect(texts.join("").trim()).toBe("Let me look.");
    expect(result).toMatchObject({
      ok: true,
      finish: "tools",
      toolCalls: [{ name: "weather", arguments: "{}" }],
    });
  });

  it("takes a stream without a finish reason as complete when the usage came, and not otherwise", async () => {
    expect((await ask({ text: "whole", finish: null })).result).toMatchObject({
      ok: true,
      text: "whole",
      finish: "stop",
    });
    expect((await ask({ text: "half", finish: null, usage: null })).result).toMatchObject({
      ok: false,
      failure: "protocol",
      partialText: "half",
    });
  });

  it("tries a stream that broke off before any text once more", async () => {
    server.push({ text: "abc", fault: { kind: "cut", after: 1 } });

    expect((await ask("second")).result).toMatchObject({ ok: true, text: "second" });
  });

  it("reads the upstream status from an error frame", async () => {
    const { result } = await ask({
      text: "abcd",
      chunkSize: 4,
      fault: { kind: "error-frame", after: 2, code: 429 },
    });

    expect(result).toMatchObject({ ok: false, failure: "rate-limit", partialText: "abcd" });
  });

  it("ends a try that never stops sending after the request time limit", async () => {
    server.push({ text: "x".repeat(4000), chunkSize: 4, delayMs: 10 });
    const { result } = await hear(build({ baseUrl: server.url, requestTimeoutMs: 150 }), requestFor("hello"));

    expect(result).toMatchObject({ ok: false, failure: "timeout" });
  });

  it("replaces half a surrogate pair in what was stored, which servers refuse", async () => {
    const { result } = await ask("fine", { entries: [{ role: "user", content: "cut \ud83d" }] });

    expect(result.ok).toBe(true);
    expect(server.refused).toEqual([]);
  });

  it("keeps secrets out of the log when it tries again", async () => {
    const logger = collectingLogger();
    server.push({ fault: { kind: "status", status: 500, message: "failed for key-9988776655" } }, "fine");
    await hear(build({ baseUrl: server.url, apiKey: "key-9988776655" }, logger), requestFor("hello"));

    expect(logger.lines).toHaveLength(1);
    expect(JSON.stringify(logger.lines)).not.toContain("9988776655");
  });

  for (const name of ["ollama-tool-call", "openrouter-reasoning", "deepseek-cache", "vllm-finish-in-last-delta"]) {
    it(`reads a stream in the form of ${name.split("-")[0]}`, async () => {
      const { result } = await ask(await frames(name));

      expect(result).toMatchSnapshot();
    });
  }
});
