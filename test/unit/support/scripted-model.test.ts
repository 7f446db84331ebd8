/** The scripted model is a measuring instrument: these tests show that it refuses what real servers refuse. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startScriptedModel, type ScriptedModel } from "../../support/scripted-model.js";

const user = { role: "user", content: "hi" };
const call = { id: "c1", type: "function", function: { name: "t", arguments: "{}" } };
const asks = { role: "assistant", content: null, tool_calls: [call] };
const result = { role: "tool", tool_call_id: "c1", content: "r" };
const tool = { type: "function", function: { name: "t", parameters: { type: "object", properties: {} } } };

describe("the scripted model", () => {
  let server: ScriptedModel;

  beforeEach(async () => {
    server = await startScriptedModel({ answer: () => "ok" });
  });
  afterEach(() => server.stop());

  const post = (body: unknown): Promise<Response> =>
    fetch(`${server.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });

  const bad: readonly (readonly [string, object])[] = [
    ["no model", { model: undefined }],
    ["no messages", { messages: [] }],
    ["an unknown role", { messages: [{ role: "robot", content: "x" }] }],
    ["an empty message", { messages: [{ role: "user", content: "" }] }],
    ["half a character", { messages: [{ role: "user", content: "\ud83d" }] }],
    ["a result without a call", { messages: [user, result] }],
    ["a call without a result", { messages: [user, asks, user] }],
    ["a call without a result at the end", { messages: [user, asks] }],
    ["a second result of one call", { messages: [user, asks, result, result] }],
    ["one call id twice", { messages: [user, asks, result, asks, result] }],
    ["an empty list of calls", { messages: [user, { ...asks, tool_calls: [] }] }],
    ["an empty tool list", { tools: [] }],
    ["a tool name with a blank", { tools: [{ ...tool, function: { name: "a b" } }] }],
    ["two tools of one name", { tools: [tool, tool] }],
    ["a tool schema that is no object", { tools: [{ type: "function", function: { name: "t", parameters: { type: "string" } } }] }],
    ["a tool choice without tools", { tool_choice: "none" }],
    ["stream options without a stream", { stream_options: { include_usage: true } }],
  ];
  for (const [what, fields] of bad) {
    it(`refuses a request with ${what}`, async () => {
      const response = await post({ model: "m", messages: [user], ...fields });

      expect(response.status).toBe(400);
      expect(server.requests).toHaveLength(0);
      expect(server.refused).toHaveLength(1);
    });
  }

  it("answers a valid request with and without a stream, and lists its models", async () => {
    const valid = { model: "m", messages: [user, asks, result], tools: [tool] };
    const whole = (await (await post(valid)).json()) as { choices: { message: { content: string } }[] };
    const streamed = await (await post({ ...valid, stream: true })).text();
    const models = (await (await fetch(`${server.url}/models`)).json()) as { data: { id: string }[] };

    expect(whole.choices[0]?.message.content).toBe("ok");
    expect(streamed).toContain('"content":"ok"');
    expect(streamed.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(models.data[0]?.id).toBe("scripted");
    expect(JSON.parse(server.requests[0]?.raw ?? "")).toEqual(valid);
  });

  it("runs as a process of its own from a JSON script and logs what it was asked", { timeout: 20_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "scripted-"));
    const [script, log] = [join(folder, "script.json"), join(folder, "log.jsonl")];
    const rules = [
      { user: "remember (.+)", results: 0, reply: { calls: [{ name: "t", arguments: { fact: "$1" } }] } },
      { user: "remember", results: 1, reply: "Noted." },
    ];
    await writeFile(script, JSON.stringify({ rules }));
    const child = spawn(process.execPath, ["--import", "tsx", "test/support/scripted-model-main.ts", "--script", script, "--log", log], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
      const { url } = JSON.parse(line) as { url: string };
      const ask = async (messages: readonly object[]): Promise<string> =>
        (await fetch(`${url}/chat/completions`, { method: "POST", body: JSON.stringify({ model: "m", messages }) })).text();

      const first = await ask([{ role: "user", content: "Remember I like tea" }]);
      expect(JSON.parse(first)).toMatchObject({
        choices: [{ message: { tool_calls: [{ function: { arguments: '{"fact":"I like tea"}' } }] } }],
      });
      expect(await ask([{ role: "user", content: "remember" }, asks, result])).toContain("Noted.");
      expect(await ask([user])).toContain("You said: hi");
      expect((await readFile(log, "utf8")).trim().split("\n")).toHaveLength(3);
    } finally {
      child.kill("SIGTERM");
      await once(child, "exit");
      await rm(folder, { recursive: true });
    }
    expect(child.exitCode).toBe(0);
  });
});
