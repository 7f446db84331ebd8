/** A second model stands in for the first, through the whole gateway: by error class only, with a word to the person. */
import { writeFileSync } from "node:fs";
import { onTestFinished, describe, expect, it } from "vitest";
import SqliteDriver from "better-sqlite3";
import { countRows, operatorId, quiet, startGateway, textsIn, until, world, type World } from "../support/gateway.js";
import { startScriptedModel, type ScriptedModel } from "../support/scripted-model.js";

const status = (code: number) => ({ fault: { kind: "status", status: code } }) as const;

async function started(): Promise<World & { readonly second: ScriptedModel }> {
  const where = await world({ model: { answer: () => "From the first." } });
  const second = await startScriptedModel({ answer: () => "From the second." });
  onTestFinished(() => second.stop());
  where.telegram.person(operatorId);
  const chain = [{ id: "stand-in", baseUrl: second.url, apiKey: "sk-key-of-the-second-model" }];
  writeFileSync(where.home.path("mneme.yaml"), JSON.stringify({ model: { fallbacks: chain } }));
  await startGateway(where);
  return { ...where, second };
}

async function say(where: World, text: string): Promise<void> {
  const ended = "select count(*) n from turns where state <> 'running'";
  const before = countRows(where, ended);
  where.telegram.say(operatorId, text);
  await until("the turn's end", () => countRows(where, ended) > before, 20_000);
  await quiet(where, 20_000);
}

const note = "ℹ️ Answered by stand-in: scripted cannot be reached just now.";

describe("model.fallbacks", () => {
  it("MC-12: a limited model's place is taken by the next one, and the person is told once", async () => {
    const where = await started();
    where.model.push(status(429), status(429), status(429));

    await say(where, "hello");
    await say(where, "and again");

    expect(textsIn(where)).toEqual(["From the second.", note, "From the second."]);
    // The first one rests: the second message did not wait for it.
    expect(where.model.requests).toHaveLength(3);
    expect(where.second.requests.map((request) => request.body.model)).toEqual(["stand-in", "stand-in"]);
    expect(where.second.requests.every((request) => request.headers["authorization"] === "Bearer sk-key-of-the-second-model")).toBe(true);
    expect(where.second.refused).toEqual([]);
    const db = new SqliteDriver(where.home.path("data", "mneme.db"), { readonly: true });
    expect(db.prepare("select model, input_tokens > 0 as counted from turns").all()).toEqual([
      { model: "stand-in", counted: 1 },
      { model: "stand-in", counted: 1 },
    ]);
    db.close();
  }, 40_000);

  it("MC-12: a request that the first model refuses (400) is not tried elsewhere", async () => {
    const where = await started();
    where.model.push(status(400));

    await say(where, "hello");

    expect(where.second.requests).toHaveLength(0);
    expect(textsIn(where)).toEqual([expect.stringContaining("refused the request") as string]);
  }, 30_000);

  it("MC-12: an answer of which something was shown is not begun anew elsewhere", async () => {
    const where = await started();
    where.model.push({ text: "A beginning of a longer answer", chunkSize: 6, delayMs: 250, fault: { kind: "cut", after: 5 } });

    await say(where, "hello");

    expect(where.second.requests).toHaveLength(0);
    expect(textsIn(where)[0]).toMatch(/^A beginning[\s\S]*cannot be reached/);
  }, 30_000);

  it("MC-12: the tools of a turn go on with the model that stands in, without running one twice", async () => {
    const where = await started();
    where.model.push({
      calls: [{ name: "memory", arguments: { action: "add", target: "user", content: "Likes tea", evidence: "I like tea" } }],
    });
    where.model.push(status(503), status(503), status(503));

    await say(where, "I like tea");

    const [request] = where.second.requests;
    expect(request?.body.messages.map((message) => message.role)).toEqual(["system", "user", "assistant", "tool"]);
    // The request to the second model is the first one's, byte by byte, but for the name.
    expect(JSON.stringify(request?.body.messages.slice(0, 2))).toBe(JSON.stringify(where.model.requests[0]?.body.messages));
    expect(textsIn(where)[0]).toBe("From the second.");
  }, 30_000);
});
