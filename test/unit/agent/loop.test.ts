import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentHooks } from "../../../src/agent/agent.js";
import { defineTool } from "../../../src/agent/tool.js";
import { sealTranscript, unknownOutcome, type Entry } from "../../../src/domain/transcript.js";
import { messageBytes, messageText } from "../../support/scripted-model.js";
import { openBench, type Bench } from "./loop-fixture.js";

/** Only the hooks a test changes. */
const hooks = (some: Partial<AgentHooks>): AgentHooks => some as AgentHooks;

describe("the agent", () => {
  let bench: Bench;
  let openGate: () => void = () => undefined;
  let together = 0;
  let most = 0;

  beforeEach(async () => {
    const gate = new Promise<void>((resolve) => (openGate = resolve));
    together = 0;
    most = 0;
    bench = await openBench((ran) => [
      defineTool({
        name: "slow",
        description: "Waits for the gate.",
        input: z.object({ n: z.number() }),
        effect: "read",
        run: async ({ n }) => {
          most = Math.max(most, (together += 1));
          if (together === 2) openGate();
          await gate;
          together -= 1;
          return `slow ${n}`;
        },
      }),
      defineTool({
        name: "hang",
        description: "Never ends.",
        input: z.object({}),
        effect: "once",
        run: () => new Promise<string>(() => undefined),
      }),
      defineTool({
        name: "boom",
        description: "Throws.",
        input: z.object({}),
        effect: "read",
        run: () => Promise.reject(new Error("disk said hunter2")),
      }),
      defineTool({
        name: "big",
        description: "Large.",
        input: z.object({ n: z.number() }),
        effect: "read",
        run: ({ n }) => Promise.resolve(`[${"x".repeat(n)}]`),
      }),
      defineTool({
        name: "hidden",
        description: "Exists but is not offered.",
        input: z.object({}),
        effect: "read",
        run: (input, context) => (ran.push({ name: "hidden", input, context }), Promise.resolve("")),
      }),
    ]);
  });
  afterEach(async () => {
    expect(bench.server.refused, "requests the server refused").toEqual([]);
    await bench.server.stop();
  });

  it("answers, streaming the text, and ends its entries with the answer", async () => {
    bench.server.push({ text: "Hello Ada.", chunkSize: 4 });

    const result = await bench.run();

    expect(result).toMatchObject({ outcome: "answer", text: "Hello Ada.", iterations: 1, toolIterations: 0, partialText: "" });
    expect(result.entries).toEqual([{ role: "assistant", content: "Hello Ada." }]);
    expect(bench.events).toEqual(["text Hell", "text o Ad", "text a."]);
  });

  it("stores calls before they run and results after, and takes the streamed text back", async () => {
    bench.server.push({ text: "One moment", chunkSize: 0, calls: [{ name: "write", arguments: { text: "a" } }] }, "Done.");

    const result = await bench.run();

    expect(bench.events).toEqual(["text One moment", "reset", "before write", "start write once", "finish write wrote a", "text Done."]);
    expect(result.entries.map((entry) => entry.role)).toEqual(["assistant", "tool", "assistant"]);
    expect(result).toMatchObject({ outcome: "answer", text: "Done.", iterations: 2, toolIterations: 1 });
  });

  it("MC-03: runs a tool without parameters whose arguments come empty", async () => {
    bench.server.push({ calls: [{ name: "ping", arguments: "" }] }, "ok");

    await bench.run();

    expect(bench.ran.map((one) => [one.name, one.input])).toEqual([["ping", {}]]);
  });

  it("MC-04: does not run a call whose arguments are broken JSON or do not fit, and tells the model the schema", async () => {
    for (const text of ['{"a": ', "[1]", '"text"', '{"text":""}', '{"text":5}', "{}", ""]) {
      bench.server.push({ calls: [{ name: "write", arguments: text }] }, "ok");
      const result = await bench.run();
      const told = JSON.parse(result.entries[1]?.content ?? "") as { error: string; schema: { required: string[] } };
      expect(told.error).toContain("not run");
      expect(told.schema.required).toEqual(["text"]);
      expect(result.entries[0]).toMatchObject({ toolCalls: [{ arguments: text }] });
    }
    expect(bench.ran).toEqual([]);
    expect(bench.events.filter((event) => event.startsWith("start"))).toEqual(Array.from({ length: 7 }, () => "start write read"));
  });

  it("MC-04: bounds the repeats of one failing call, then asks for an answer without tools", async () => {
    bench.server.answerWith((request, n) =>
      n <= 5
        ? { calls: [{ name: "write", arguments: '{"a": ' }] }
        : { text: `gave up after ${request.messages.filter((one) => one.role === "tool").length}` },
    );

    const result = await bench.run();

    expect(result).toMatchObject({ outcome: "answer", text: "gave up after 5" });
    const last = messageText(bench.server.requests.at(-1)?.body.messages.at(-1));
    expect(last).toContain("failed 5 times");
    expect(last).toContain("No more tools");
  });

  it("ends the use of tools when every call of eight iterations failed in another way each", async () => {
    bench.server.answerWith((_request, n) => (n <= 8 ? { calls: [{ name: `no_${n}` }] } : "I could not do it."));

    expect(await bench.run()).toMatchObject({ outcome: "answer", text: "I could not do it.", iterations: 9 });
  });

  it("after the last iteration asks for an answer with the same tool list and runs no further call", async () => {
    bench.server.answerWith((_request, n) =>
      n <= 4 ? { text: n === 4 ? "All I have." : "", calls: [{ name: "look", arguments: { what: `${n}` } }] } : "never asked",
    );

    const result = await bench.run({ limits: { maxIterations: 3, toolResultChars: 1000, turnResultChars: 10_000 } });

    expect(bench.ran).toHaveLength(3);
    expect(result).toMatchObject({ outcome: "answer", text: "All I have." });
    expect(result.entries.at(-1)).toEqual({ role: "assistant", content: "All I have." });
    expect(new Set(bench.server.requests.map((one) => JSON.stringify(one.body.tools))).size).toBe(1);
    expect(messageText(bench.server.requests.at(-1)?.body.messages.at(-1))).toContain("No more tools");
  });

  it("fails as empty when the model only wants tools to the end", async () => {
    bench.server.answerWith(() => ({ calls: [{ name: "ping" }] }));

    const result = await bench.run({ limits: { maxIterations: 2, toolResultChars: 1000, turnResultChars: 10_000 } });

    expect(result).toMatchObject({ outcome: "failed", failure: "empty" });
    expect(sealTranscript(result.entries)).toEqual(result.entries);
  });

  it("runs independent read-only calls together and keeps their order, calls with an effect one by one", async () => {
    bench.server.push(
      {
        calls: [
          { name: "slow", arguments: { n: 1 } },
          { name: "slow", arguments: { n: 2 } },
          { name: "write", arguments: { text: "a" } },
          { name: "write", arguments: { text: "b" } },
        ],
      },
      "ok",
    );

    const result = await bench.run();

    expect(most).toBe(2);
    expect(result.entries.filter((entry) => entry.role === "tool").map((entry) => entry.content)).toEqual([
      "slow 1",
      "slow 2",
      "wrote a",
      "wrote b",
    ]);
    expect(bench.events.slice(-5, -1)).toEqual(["start write once", "finish write wrote a", "start write once", "finish write wrote b"]);
  });

  it("turns what a tool throws into a result without secrets", async () => {
    bench.server.push({ calls: [{ name: "boom" }] }, "It failed.");

    const result = await bench.run();

    expect(result.entries[1]?.content).toBe('{"error":"disk said [secret]"}');
    expect(result.outcome).toBe("answer");
  });

  it("answers calls of tools that are gone, not offered or not permitted, and runs none of them", async () => {
    bench.server.push({ calls: [{ name: "gone" }, { name: "hidden" }, { name: "write", arguments: { text: "x" } }] }, "ok");
    const offered = bench.agent.schemas().filter((tool) => tool.name !== "hidden");
    const tools = [...offered, { name: "gone", description: "Was there once.", parameters: { type: "object", properties: {} } }];

    const result = await bench.run({
      tools,
      hooks: hooks({ permit: (tool) => (tool.name === "write" ? "Guests may not write." : undefined) }),
    });

    expect(bench.ran).toEqual([]);
    expect(result.entries.slice(1, 4).map((entry) => entry.content)).toEqual([
      expect.stringContaining('\\"gone\\" is not available'),
      expect.stringContaining("code block"),
      '{"error":"Guests may not write."}',
    ]);
  });

  it("cuts a long result with a note, keeps its end, and keeps to the turn's limit", async () => {
    bench.server.push(
      { calls: [{ name: "big", arguments: { n: 5000 } }] },
      { calls: [{ name: "big", arguments: { n: 5000 } }] },
      { calls: [{ name: "big", arguments: { n: 5000 } }] },
      "ok",
    );

    const result = await bench.run({ limits: { maxIterations: 60, toolResultChars: 2000, turnResultChars: 3000 } });
    const results = result.entries.filter((entry) => entry.role === "tool").map((entry) => entry.content);

    expect(results.map((one) => one.length <= 2000)).toEqual([true, true, true]);
    expect(results[0]).toMatch(/^\[x+\n\[… \d+ or more characters left out.*\]\nx+\]$/s);
    expect(results.join("").length).toBeLessThanOrEqual(3000 + 400);
    expect(bench.events).toContain(`finish big ${results[0]}`);
  });

  it("MC-11: asks once more after an answer nobody could see, then fails plainly", async () => {
    bench.server.push("\u200c", "Here I am.");
    expect(await bench.run()).toMatchObject({ outcome: "answer", text: "Here I am." });
    expect(bench.server.requests[0]?.raw).toBe(bench.server.requests[1]?.raw);

    bench.server.push("", "  \n", "not asked for");
    expect(await bench.run()).toMatchObject({ outcome: "failed", failure: "empty", text: "" });
    expect(bench.server.requests).toHaveLength(4);
  });

  it("MC-10: reports a stream that breaks off as a failure with what was shown", async () => {
    bench.server.push({ text: "abcdefgh", chunkSize: 4, fault: { kind: "cut", after: 2 } });

    expect(await bench.run()).toMatchObject({ outcome: "failed", failure: "network", partialText: "abcd", entries: [] });
  });

  it("MC-06: goes on from a stored transcript that ends with an unanswered call", async () => {
    const history: Entry[] = [
      { role: "user", content: "before" },
      { role: "assistant", content: "", toolCalls: [{ id: "old", name: "write", arguments: "{}" }] },
    ];
    bench.server.push("Fine.");

    expect(await bench.run({ history })).toMatchObject({ outcome: "answer", text: "Fine." });
    expect(messageText(bench.server.requests[0]?.body.messages[3])).toBe(unknownOutcome);
  });

  it("MC-05: sends a valid request when a limit cut the history between a call and its result", async () => {
    const history: Entry[] = [
      { role: "tool", callId: "lost", name: "look", content: "orphan" },
      { role: "assistant", content: "" },
      { role: "user", content: "next" },
      { role: "assistant", content: "yes" },
    ];
    bench.server.push("Fine.");

    await bench.run({ history });

    expect(bench.server.requests[0]?.body.messages.map((one) => one.role)).toEqual(["system", "user", "assistant", "user"]);
  });

  it("continues a turn from the journal: finished calls are not run again, a finished answer is not asked for again", async () => {
    const done: Entry[] = [
      { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "write", arguments: '{"text":"a"}' }] },
      { role: "tool", callId: "c1", name: "write", content: "wrote a" },
    ];
    bench.server.push("Both done.");

    const result = await bench.run({ done });

    expect(bench.ran).toEqual([]);
    expect(result.entries).toEqual([...done, { role: "assistant", content: "Both done." }]);
    expect(result).toMatchObject({ iterations: 2, toolIterations: 1 });

    const again = await bench.run({ done: result.entries });
    expect(again).toMatchObject({ outcome: "answer", text: "Both done." });
    expect(bench.server.requests).toHaveLength(1);
  });

  it("uses the result the journal already has for a call", async () => {
    bench.server.push({ calls: [{ name: "write", arguments: { text: "a" } }] }, "ok");

    const result = await bench.run({ hooks: hooks({ startCall: () => Promise.resolve({ result: "from the journal" }) }) });

    expect(bench.ran).toEqual([]);
    expect(result.entries[1]?.content).toBe("from the journal");
    expect(bench.events.some((event) => event.startsWith("finish"))).toBe(false);
  });

  it("ends with the store's refusal when the turn lost its claim, without running the tool", async () => {
    bench.server.push({ calls: [{ name: "write", arguments: { text: "a" } }, { name: "ping" }] });

    await expect(bench.run({ hooks: hooks({ startCall: () => Promise.reject(new Error("outdated")) }) })).rejects.toThrow("outdated");
    expect(bench.ran).toEqual([]);
  });

  it("SE-11: a stop ends a turn at once although a tool hangs, and nothing is stored as that call's result", async () => {
    const stop = new AbortController();
    bench.server.push({ calls: [{ name: "hang" }, { name: "write", arguments: { text: "later" } }] });
    const running = bench.run(
      { hooks: hooks({ startCall: (call) => (call.name === "hang" && setTimeout(() => stop.abort(), 20), Promise.resolve("run")) }) },
      stop.signal,
    );

    const result = await running;

    expect(result.outcome).toBe("aborted");
    expect(result.entries.slice(1).map((entry) => entry.content)).toEqual([unknownOutcome, '{"error":"not run: the turn was stopped"}']);
    expect(bench.ran).toEqual([]);
    expect(bench.events.some((event) => event.startsWith("finish"))).toBe(false);
  });

  it("SE-11: a stop ends a turn whose model never answers, keeping what was shown", async () => {
    const stop = new AbortController();
    bench.server.push({ text: "abcdefgh", chunkSize: 4, fault: { kind: "stall", after: 2 } });
    const running = bench.run({ hooks: hooks({ onText: () => stop.abort() }) }, stop.signal);

    expect(await running).toMatchObject({ outcome: "aborted", text: "", partialText: "abcd", entries: [] });
  });

  it("SE-08: two turns at once each hand their own context to the tools", async () => {
    bench.server.answerWith((request) =>
      request.messages.some((one) => one.role === "tool")
        ? "ok"
        : { delayMs: 5, calls: [{ name: "write", arguments: { text: messageText(request.messages.at(-1)) } }] },
    );
    const turnOf = (who: string): Promise<unknown> =>
      bench.run({
        user: { role: "user", content: who },
        context: {
          session: { id: who, spaceId: who, spaceKind: "person", isPrivate: false },
          speaker: { platform: "test", accountId: who, personId: who, role: "user", displayName: who },
          turn: { id: who, claim: 1 },
          origin: "turn",
          said: [],
          untrusted: [],
        },
      });

    await Promise.all(["ada", "bob", "cyd"].map(turnOf));

    expect(bench.ran).toHaveLength(3);
    for (const { input, context } of bench.ran) expect(input).toEqual({ text: context.speaker.personId });
  });

  it("adds what the person says meanwhile after the results, before the next model call", async () => {
    let said: string | undefined = "and also the bins";
    bench.server.push({ calls: [{ name: "ping" }] }, { calls: [{ name: "ping" }] }, "ok");

    const result = await bench.run({
      hooks: hooks({
        steer: () => {
          const next = said;
          said = undefined;
          return Promise.resolve(next);
        },
      }),
    });

    expect(result.entries.map((entry) => entry.role)).toEqual(["assistant", "tool", "user", "assistant", "tool", "assistant"]);
  });

  it("sends requests within a turn that extend each other byte by byte, tail and a steered message included", async () => {
    const steers = ["wait, Oslo", undefined, undefined, undefined];
    bench.server.push(
      {
        reasoning: "hm",
        calls: [
          { name: "look", arguments: '{ "what" : "a" }' },
          { name: "ping", arguments: "" },
        ],
      },
      { text: "Then", calls: [{ name: "write", arguments: { text: "b" } }] },
      { calls: [{ name: "gone" }] },
      "Done.",
    );
    await bench.run({ tail: "<memory-context>recalled</memory-context>", hooks: hooks({ steer: () => Promise.resolve(steers.shift()) }) });

    const bodies = bench.server.requests;
    expect(bodies).toHaveLength(4);
    for (const [index, one] of bodies.entries()) {
      const next = bodies[index + 1];
      if (next === undefined) continue;
      expect(messageBytes(next).startsWith(messageBytes(one))).toBe(true);
      expect(next.raw.startsWith(one.raw.slice(0, one.raw.lastIndexOf('],"stream"')))).toBe(true);
    }
    expect(bodies[3]?.raw.split("recalled")).toHaveLength(2);
  });

  it("sends the next turn's request beginning with this one up to the stored end of its user message, without the tail", async () => {
    bench.server.push({ calls: [{ name: "ping" }] }, "First.", "Second.");
    const first = await bench.run({ user: { role: "user", content: "one" }, tail: "RECALLED" });
    await bench.run({ history: [{ role: "user", content: "one" }, ...first.entries], user: { role: "user", content: "two" } });

    const [one, , three] = bench.server.requests.map((request) => request.raw) as [string, string, string];
    expect(three.startsWith(one.slice(0, one.indexOf("\\n\\nRECALLED")))).toBe(true);
    expect(three).not.toContain("RECALLED");
  });
});
