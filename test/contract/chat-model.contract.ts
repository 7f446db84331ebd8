/**
 * What every implementation of the ChatModel port must do, against the scripted server. The suite owns the server; an
 * implementation only says how it is built.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Entry } from "../../src/domain/transcript.js";
import type { ChatModel, ModelRequest, ModelResult, ToolSchema } from "../../src/ports/chat-model.js";
import { startScriptedModel, type ScriptedModel, type ScriptedReply } from "../support/scripted-model.js";

export interface ChatModelUnderTest {
  build(options: { readonly url: string; readonly idleTimeoutMs: number; readonly apiKey: string; readonly parallel?: number }): ChatModel;
}

export interface Heard {
  readonly texts: string[];
  readonly result: ModelResult;
}

export const weather: ToolSchema = {
  name: "weather",
  description: "Weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

export function requestFor(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: "scripted",
    system: "You are a test.",
    tools: [weather],
    entries: [{ role: "user", content: text }],
    ...more,
  };
}

/** Reads a call to its end and checks that the result comes last and once. */
export async function hear(model: ChatModel, request: ModelRequest, signal = new AbortController().signal): Promise<Heard> {
  const texts: string[] = [];
  let result: ModelResult | undefined;
  for await (const event of model.complete(request, signal)) {
    expect(result, "an event after the result").toBeUndefined();
    if (event.type === "text") texts.push(event.text);
    else result = event.result;
  }
  if (result === undefined) throw new Error("the stream ended without a result");
  return { texts, result };
}

export function chatModelContract(name: string, under: ChatModelUnderTest): void {
  describe(`chat model contract: ${name}`, () => {
    let server: ScriptedModel;
    let model: ChatModel;

    beforeEach(async () => {
      server = await startScriptedModel();
      model = under.build({
        url: server.url,
        idleTimeoutMs: 400,
        apiKey: "sk-test-1234567890abcdef",
      });
    });
    afterEach(() => server.stop());

    const ask = (reply: ScriptedReply | string, more: Partial<ModelRequest> = {}): Promise<Heard> => {
      server.push(reply);
      return hear(model, requestFor("hello", more));
    };

    it("streams text whose pieces make up the answer, with the usage the server counted", async () => {
      const { texts, result } = await ask({
        text: "Hello, this is a longer answer.",
        chunkSize: 5,
        usage: {
          prompt_tokens: 40,
          completion_tokens: 9,
          prompt_tokens_details: { cached_tokens: 32 },
        },
      });

      expect(texts.length).toBeGreaterThan(2);
      expect(result).toMatchObject({
        ok: true,
        text: "Hello, this is a longer answer.",
        finish: "stop",
        toolCalls: [],
      });
      expect(result.ok && result.text).toBe(texts.join(""));
      expect(result.usage).toEqual({
        inputTokens: 40,
        cachedTokens: 32,
        outputTokens: 9,
        exact: true,
      });
    });

    it("returns tool calls with their argument text as the model wrote it", async () => {
      const { result } = await ask({
        text: "Let me look.",
        calls: [{ name: "weather", arguments: '{ "city" : "Oslo" }', id: "call_a" }],
      });

      expect(result).toMatchObject({
        ok: true,
        finish: "tools",
        text: "Let me look.",
        toolCalls: [{ id: "call_a", name: "weather", arguments: '{ "city" : "Oslo" }' }],
      });
    });

    it("MC-01: survives a usage chunk without choices and a null delta, and keeps the usage", async () => {
      for (const usageChoices of ["empty", "null", "missing"] as const) {
        const { result } = await ask({
          text: "fine",
          oddities: true,
          usageChoices,
          usage: { prompt_tokens: 7, completion_tokens: 2 },
        });
        expect(result).toMatchObject({
          ok: true,
          text: "fine",
          usage: { inputTokens: 7, outputTokens: 2, exact: true },
        });
      }
    });

    it("estimates the usage where the server sends none, and says so", async () => {
      const { result } = await ask({ text: "fine", usage: null });

      expect(result.ok).toBe(true);
      expect(result.usage.exact).toBe(false);
      expect(result.usage.inputTokens).toBeGreaterThan(0);
    });

    it("MC-07: shows neither a think block nor reasoning fields, whatever the chunk size", async () => {
      for (const chunkSize of [1, 2, 3, 7, 0]) {
        const tagged = await ask({ text: "<think>secret plan</think>\n\nHello", chunkSize });
        expect(tagged.texts.join("")).toBe("Hello");
        expect(tagged.result).toMatchObject({ ok: true, text: "Hello", reasoning: "secret plan" });
        for (const reasoningField of ["reasoning_content", "reasoning"] as const) {
          const field = await ask({
            text: "Hello",
            reasoning: "secret plan",
            reasoningField,
            chunkSize,
          });
          expect(field.result).toMatchObject({ ok: true, text: "Hello", reasoning: "secret plan" });
        }
      }
    });

    it("MC-10: ends a stream that stalls after two chunks within the idle limit and keeps the partial text", async () => {
      const started = Date.now();
      const { texts, result } = await ask({
        text: "abcdefgh",
        chunkSize: 4,
        fault: { kind: "stall", after: 2 },
      });

      expect(result).toMatchObject({ ok: false, failure: "timeout", partialText: "abcd" });
      expect(texts).toEqual(["abcd"]);
      expect(server.requests).toHaveLength(1);
      expect(Date.now() - started).toBeLessThan(2000);
    });

    it("MC-10: ends a call whose server never sends headers", async () => {
      server.answerWith(() => ({ fault: { kind: "hang" } }));
      const { result } = await hear(model, requestFor("hello"));

      expect(result).toMatchObject({ ok: false, failure: "timeout", partialText: "" });
    });

    it("takes an answer as complete when the finish reason came and the connection stays open", async () => {
      const { result } = await ask({
        text: "done",
        chunkSize: 0,
        usage: null,
        fault: { kind: "stall", after: 3 },
      });

      expect(result).toMatchObject({ ok: true, text: "done" });
    });

    it("MC-11: reports an answer that nobody could see as empty, without showing any of it", async () => {
      for (const text of ["", "  \n", "\u200c", "\u200b\u2060 \ufeff", "<think>only thoughts</think>"]) {
        const { texts, result } = await ask({ text, chunkSize: 1 });
        expect(result).toMatchObject({ ok: false, failure: "empty", partialText: "" });
        expect(texts).toEqual([]);
      }
    });

    it("MC-13: never repeats the key that the server's refusal quotes", async () => {
      const message =
        "Incorrect API key provided: sk-test-1234567890abcdef. Call https://api.example/bot123456:AAAbbbcccdddeeefffggghhhiiijjjkkk/x";
      const { result } = await ask({ fault: { kind: "status", status: 401, message } });

      expect(result).toMatchObject({ ok: false, failure: "auth" });
      expect(JSON.stringify(result)).not.toContain("1234567890abcdef");
      expect(server.requests).toHaveLength(1);
    });

    it("MC-12: tries again after a 429 and a 500 while nothing was shown", async () => {
      server.push({ fault: { kind: "status", status: 429, headers: { "retry-after": "0" } } }, { fault: { kind: "status", status: 500 } });
      const { result } = await ask("third time lucky");

      expect(result).toMatchObject({ ok: true, text: "third time lucky" });
      expect(server.requests).toHaveLength(3);
    });

    it("MC-12: gives up with the class and the server's wish when it asks to wait for long", async () => {
      const { result } = await ask({
        fault: { kind: "status", status: 429, headers: { "retry-after": "120" } },
      });

      expect(result).toMatchObject({ ok: false, failure: "rate-limit", retryAfterMs: 120_000 });
      expect(server.requests).toHaveLength(1);
    });

    it("never tries again once text was shown", async () => {
      for (const fault of [
        { kind: "cut", after: 3 },
        { kind: "error-frame", after: 3 },
        { kind: "end", after: 3 },
      ] as const) {
        const before = server.requests.length;
        const { texts, result } = await ask({ text: "abcdefghijkl", chunkSize: 4, fault });
        expect(result).toMatchObject({ ok: false, partialText: "abcdefgh" });
        expect(texts.join("")).toBe("abcdefgh");
        expect(server.requests.length - before).toBe(1);
      }
    });

    it("tells a cut stream, an error frame and a stream without a finish reason apart", async () => {
      const failureOf = async (kind: "cut" | "error-frame" | "end"): Promise<unknown> => {
        const { result } = await ask({
          text: "abcdefghijkl",
          chunkSize: 4,
          fault: { kind, after: 3 },
        });
        return result.ok ? "ok" : result.failure;
      };
      expect([await failureOf("cut"), await failureOf("error-frame"), await failureOf("end")]).toEqual(["network", "server", "protocol"]);
    });

    it("reports a 200 that is an HTML page as no completion", async () => {
      server.answerWith(() => ({ fault: { kind: "html" } }));
      const { result } = await hear(model, requestFor("hello"));

      expect(result).toMatchObject({ ok: false, failure: "protocol" });
    });

    it("reports a prompt that is too long as such, and does not try again", async () => {
      const { result } = await ask({
        fault: {
          kind: "status",
          status: 400,
          code: "context_length_exceeded",
          message: "This model's maximum context length is 8192 tokens.",
        },
      });

      expect(result).toMatchObject({ ok: false, failure: "too-long" });
      expect(server.requests).toHaveLength(1);
    });

    it("reports a server that cannot be reached as a network failure", async () => {
      await server.stop();
      const { result } = await hear(model, requestFor("hello"));

      expect(result).toMatchObject({ ok: false, failure: "network" });
    });

    it("SE-11: ends at once with `aborted` when it is stopped before headers, in mid-stream and while it waits to try again", async () => {
      const replies: ScriptedReply[] = [
        { fault: { kind: "hang" } },
        { text: "abcdefgh", chunkSize: 4, fault: { kind: "stall", after: 2 } },
        { fault: { kind: "status", status: 429, headers: { "retry-after": "15" } } },
      ];
      for (const [index, reply] of replies.entries()) {
        const stop = new AbortController();
        server.push(reply);
        const heard = hear(model, requestFor("hello"), stop.signal);
        await server.waitFor(index + 1);
        await new Promise((resolve) => setTimeout(resolve, 60));
        const stoppedAt = Date.now();
        stop.abort();
        expect((await heard).result).toMatchObject({ ok: false, failure: "aborted" });
        expect(Date.now() - stoppedAt).toBeLessThan(100);
      }
    });

    it("closes the connection when the reader walks away", async () => {
      server.push({ text: "a".repeat(400), chunkSize: 4, delayMs: 20 });
      for await (const event of model.complete(requestFor("hello"), new AbortController().signal)) {
        if (event.type === "text") break;
      }

      await expect.poll(() => server.requests[0]?.closedByClient).toBe(true);
    });

    it("keeps to the number of parallel calls, in order of arrival", async () => {
      const single = under.build({
        url: server.url,
        idleTimeoutMs: 2000,
        apiKey: "k",
        parallel: 1,
      });
      let open: () => void = () => undefined;
      server.push({ text: "one", gate: new Promise<void>((resolve) => (open = resolve)) }, "two");
      const first = hear(single, requestFor("first"));
      await server.waitFor(1);
      const second = hear(single, requestFor("second"));
      const stop = new AbortController();
      const third = hear(single, requestFor("third"), stop.signal);
      stop.abort();
      expect((await third).result).toMatchObject({ ok: false, failure: "aborted" });
      expect(server.requests).toHaveLength(1);

      open();
      expect((await first).result).toMatchObject({ ok: true, text: "one" });
      expect((await second).result).toMatchObject({ ok: true, text: "two" });
      expect(server.requests).toHaveLength(2);
    });

    it("MC-09: keeps reasoning out of the content of every later request", async () => {
      const entries: Entry[] = [];
      for (const n of [1, 2, 3]) {
        entries.push({ role: "user", content: `question ${n}` });
        const { result } = await ask({ text: `<think>thought ${n}</think>answer ${n}` }, { entries: [...entries] });
        if (!result.ok) throw new Error(result.detail);
        entries.push({
          role: "assistant",
          content: result.text,
          ...(result.reasoning === undefined ? {} : { reasoning: result.reasoning }),
        });
      }

      expect(server.requests).toHaveLength(3);
      expect(server.requests.map((one) => one.raw).join("\n")).not.toContain("thought");
    });

    it("sends requests that extend each other byte by byte, with the tail on the last user message only", async () => {
      const entries: Entry[] = [{ role: "user", content: "weather in Oslo 🌦" }];
      await ask({ calls: [{ name: "weather", arguments: { city: "Oslo" }, id: "call_x" }] }, { entries: [...entries], tail: "[recalled]" });
      entries.push(
        {
          role: "assistant",
          content: "",
          toolCalls: [{ id: "call_x", name: "weather", arguments: '{"city":"Oslo"}' }],
        },
        { role: "tool", callId: "call_x", name: "weather", content: "rain" },
      );
      await ask("It rains.", { entries: [...entries], tail: "[recalled]" });
      entries.push({ role: "assistant", content: "It rains." }, { role: "user", content: "thanks" });
      await ask("You are welcome.", { entries: [...entries], tail: "[other]" });

      const [one, two, three] = server.requests.map((request) => request.raw) as [string, string, string];
      const endOfMessages = one.slice(0, one.indexOf('],"stream"'));
      expect(two.startsWith(endOfMessages)).toBe(true);
      const storedEnd = one.slice(0, one.indexOf("\\n\\n[recalled]"));
      expect(three.startsWith(storedEnd)).toBe(true);
      expect(three).not.toContain("[recalled]");
      expect(server.refused).toEqual([]);
    });
  });
}
