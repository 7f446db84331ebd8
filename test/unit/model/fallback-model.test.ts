/** The chain of models: by error class, with a rest for the one that failed. */
import { describe, expect, it } from "vitest";
import { FallbackModel } from "../../../src/model/fallback-model.js";
import { noUsage } from "../../../src/domain/transcript.js";
import type { ChatModel, ModelEvent, ModelFailureClass, ModelRequest, ModelResult } from "../../../src/ports/chat-model.js";
import { collectingLogger } from "../../support/runtime.js";

type Step =
  | ModelFailureClass
  | { readonly says: string; readonly thenFails?: ModelFailureClass; readonly retryAfterMs?: number }
  | { readonly fails: ModelFailureClass; readonly retryAfterMs: number };

/** Says what its script holds, one step per call; the last step for ever. */
function scripted(...steps: readonly Step[]): ChatModel & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    describe: () => ({ id: "any", contextTokens: undefined }),
    async *complete(request: ModelRequest): AsyncGenerator<ModelEvent, void> {
      const step = steps[Math.min(asked.length, steps.length - 1)] ?? "server";
      asked.push(request.model);
      await Promise.resolve();
      const fail = (failure: ModelFailureClass, partialText = "", retryAfterMs?: number): ModelResult => ({
        ok: false,
        failure,
        detail: "",
        partialText,
        usage: noUsage,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      });
      if (typeof step === "string") yield { type: "result", result: fail(step) };
      else if ("fails" in step) yield { type: "result", result: fail(step.fails, "", step.retryAfterMs) };
      else {
        yield { type: "text", text: step.says };
        if (step.thenFails !== undefined) yield { type: "result", result: fail(step.thenFails, step.says) };
        else
          yield {
            type: "result",
            result: { ok: true, text: step.says, toolCalls: [], finish: "stop", usage: noUsage, model: "as the server calls it" },
          };
      }
    },
  };
}

const request: ModelRequest = { model: "main", system: "s", tools: [], entries: [{ role: "user", content: "hi" }] };

function chain(primary: ChatModel, ...others: readonly ChatModel[]) {
  let now = 1_000_000;
  const clock = { now: () => now, after: () => () => undefined };
  const fallbacks = others.map((model, index) => ({ id: `spare-${index + 1}`, name: `spare-${index + 1}`, model }));
  const model = new FallbackModel({ primary, fallbacks, clock, logger: collectingLogger() });
  const ask = async (signal = new AbortController().signal): Promise<ModelResult> => {
    let result: ModelResult | undefined;
    for await (const event of model.complete(request, signal)) if (event.type === "result") result = event.result;
    if (result === undefined) throw new Error("no result");
    return result;
  };
  return { ask, later: (ms: number) => (now += ms) };
}

describe("the chain of models", () => {
  it.each(["rate-limit", "server", "network", "timeout", "protocol"] as const)("MC-12: asks the next model after %s", async (failure) => {
    const result = await chain(scripted(failure), scripted({ says: "spare" })).ask();

    expect(result).toMatchObject({ ok: true, text: "spare", model: "spare-1" });
  });

  it.each(["bad-request", "auth", "too-long", "empty", "aborted"] as const)("MC-12: never after %s", async (failure) => {
    const spare = scripted({ says: "spare" });

    expect(await chain(scripted(failure), spare).ask()).toMatchObject({ ok: false, failure });
    expect(spare.asked).toEqual([]);
  });

  it("MC-12: never once text was shown", async () => {
    const spare = scripted({ says: "spare" });

    expect(await chain(scripted({ says: "A begin", thenFails: "network" }), spare).ask()).toMatchObject({
      failure: "network",
      partialText: "A begin",
    });
    expect(spare.asked).toEqual([]);
  });

  it("names the main model's answers as it was asked for, whatever its server calls it", async () => {
    expect(await chain(scripted({ says: "hello" })).ask()).toMatchObject({ model: "main" });
  });

  it("lets a failed model rest, longer with each failure in a row and as long as its server asks", async () => {
    const primary = scripted("server", { fails: "rate-limit", retryAfterMs: 300_000 }, { says: "main" });
    const { ask, later } = chain(primary, scripted({ says: "spare" }));

    await ask();
    await ask();
    expect(primary.asked).toHaveLength(1);
    later(30_000);
    await ask();
    expect(primary.asked).toHaveLength(2);
    later(299_000);
    await ask();
    expect(primary.asked).toHaveLength(2);
    later(1_000);
    expect(await ask()).toMatchObject({ text: "main", model: "main" });
  });

  it("passes over a spare model that cannot take the request, and tells the first failure when all fail", async () => {
    const { ask } = chain(scripted("network"), scripted("too-long"), scripted("auth"));

    expect(await ask()).toMatchObject({ ok: false, failure: "network" });
    expect(await chain(scripted("network"), scripted("too-long"), scripted({ says: "third" })).ask()).toMatchObject({
      text: "third",
      model: "spare-2",
    });
  });

  it("tries a resting model all the same when every model rests", async () => {
    const primary = scripted("server", { says: "back" });
    const { ask } = chain(primary, scripted("server"));

    await ask();

    expect(await ask()).toMatchObject({ text: "back" });
  });
});
