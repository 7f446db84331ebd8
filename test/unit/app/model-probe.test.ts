/** What the doctor says of a model after one tiny call. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../config/load.js";
import type { GatewayConfig } from "../../../config/schema.js";
import { probeModels } from "../../../src/app/model-probe.js";
import type { Finding } from "../../../src/ports/platform-adapter.js";
import { collectingLogger, countedIds, systemClock } from "../../support/runtime.js";
import { startScriptedModel, type ScriptedModel } from "../../support/scripted-model.js";
import { tempHome } from "../../support/temp-home.js";

let server: ScriptedModel;
beforeEach(async () => {
  server = await startScriptedModel();
});
afterEach(() => server.stop());

const deps = { clock: systemClock, ids: countedIds(), logger: collectingLogger() };

function configOf(overrides: Record<string, string> = {}): GatewayConfig {
  const home = tempHome();
  return loadConfig({
    env: { OPENAI_BASE_URL: server.url, MNEME_MODEL: "small", MNEME_DATA_DIR: home.path("data"), ...overrides },
    cwd: home.dir,
  });
}

const levels = (findings: readonly Finding[]): Record<string, string> =>
  Object.fromEntries(findings.map(({ subject, level }) => [subject, level]));

describe("the doctor on the model", () => {
  it("makes one call with a tool and reports that it answers, calls tools, counts tokens and how large its window is", async () => {
    server.push({ calls: [{ name: "report_ready", arguments: { word: "ready" } }] });

    const findings = await probeModels(configOf({ MNEME__model__contextTokens: "32000" }), deps);

    expect(levels(findings)).toEqual({ model: "ok", "model: tools": "ok", "model: usage": "ok", "model: window": "ok" });
    expect(findings.at(-1)?.message).toBe("32,000 tokens; conversations are condensed above 16,000.");
    expect(server.requests).toHaveLength(1);
    expect(server.refused).toEqual([]);
  });

  it("warns of a model that uses no tools, of a server that counts nothing, and of a window that nobody knows", async () => {
    server.push({ text: "I am ready.", usage: null });

    const findings = await probeModels(configOf(), deps);

    expect(levels(findings)).toEqual({ model: "ok", "model: tools": "warning", "model: usage": "warning", "model: window": "warning" });
    expect(findings.every(({ level, remedy }) => level === "ok" || remedy !== undefined)).toBe(true);
    expect(findings.at(-1)?.message).toContain("128,000");
  });

  it("tells a server that refuses tools from one that does not answer", async () => {
    server.push({ fault: { kind: "status", status: 400, message: '"auto" tool choice requires --enable-auto-tool-choice' } }, "ready");
    expect(levels(await probeModels(configOf(), deps))).toMatchObject({ model: "ok", "model: tools": "warning" });

    server.answerWith(() => ({ fault: { kind: "status", status: 401 } }));
    expect(levels(await probeModels(configOf(), deps))).toEqual({ model: "error", "model: window": "warning" });
  });

  it("asks those that stand in too", async () => {
    const spare = await startScriptedModel({ answer: () => ({ calls: [{ name: "report_ready", arguments: { word: "ready" } }] }) });
    server.push({ calls: [{ name: "report_ready", arguments: { word: "ready" } }] });
    const config = configOf();
    const withSpare = { ...config, model: { ...config.model, fallbacks: [{ id: "spare", baseUrl: spare.url }] } };

    expect(levels(await probeModels(withSpare, deps))).toMatchObject({
      model: "ok",
      "model.fallbacks 1": "ok",
      "model.fallbacks 1: tools": "ok",
    });
    expect(spare.requests[0]?.headers["authorization"]).toBeUndefined();
    await spare.stop();
  });
});
