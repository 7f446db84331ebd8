/**
 * One tiny call with a tool, for the doctor: whether the model answers, uses tools, counts tokens, and whether its window is known.
 * A server that refuses tools is asked once more without, so that the finding names the real fault.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { OpenAiModel } from "../model/openai-model.js";
import type { ModelResult, ToolSchema } from "../ports/chat-model.js";
import type { Finding } from "../ports/platform-adapter.js";
import { createRedactor } from "../safety/redact.js";
import { assumedWindowTokens } from "./handover-job.js";
import { elsewhere } from "./models.js";
import { hostOf, modelAddress, probeModel, type ModelAddress, type ProbeDeps } from "./probes.js";

const limitMs = 30_000;

const tool: ToolSchema = {
  name: "report_ready",
  description: "Reports that you can use tools. Call it when you are asked whether you are ready.",
  parameters: { type: "object", properties: { word: { type: "string", description: "The word: ready" } }, required: ["word"] },
};

/** The main model and those that stand in for it, all asked at once. */
export async function probeModels(config: GatewayConfig, deps: ProbeDeps): Promise<Finding[]> {
  const main = modelAddress(config);
  if (main === undefined) return [];
  const spares = config.model.fallbacks.map((fallback, index): [string, ModelAddress] => {
    const { baseUrl, model: id, apiKey, headers } = elsewhere(config, fallback);
    return [`model.fallbacks ${index + 1}`, { baseUrl, id, apiKey, ...(headers === undefined ? {} : { headers }) }];
  });
  const found = await Promise.all(
    [["model", main] as const, ...spares].map(([subject, address]) => probeAbilities(subject, address, deps)),
  );
  return [...found.flat(), windowFinding(config)];
}

async function probeAbilities(subject: string, address: ModelAddress, deps: ProbeDeps): Promise<Finding[]> {
  const beganAt = deps.clock.now();
  const result = await ask(address, deps);
  if (result?.ok !== true) {
    // The plain call finds the words for a server that does not answer at all.
    const plain = { ...(await probeModel(address, deps)), subject };
    return plain.level === "ok" ? [plain, noTools(subject, address)] : [plain];
  }
  const ms = deps.clock.now() - beganAt;
  const answered: Finding = { level: "ok", subject, message: `${address.id} at ${hostOf(address.baseUrl)} answered in ${ms} ms.` };
  return [answered, toolFinding(subject, address, result), usageFinding(subject, result)];
}

async function ask(address: ModelAddress, deps: ProbeDeps): Promise<ModelResult | undefined> {
  const { baseUrl, apiKey, id, headers } = address;
  const redactor = createRedactor({ secrets: apiKey === undefined ? [] : [apiKey] });
  const key = apiKey === undefined ? {} : { apiKey };
  const limits = { idleTimeoutMs: limitMs, requestTimeoutMs: limitMs, parallel: 1, maxRetries: 0 };
  const model = new OpenAiModel(
    { baseUrl, ...key, model: id, ...limits, ...(headers === undefined ? {} : { headers }) },
    { ...deps, redact: (text) => redactor.text(text) },
  );
  const entries = [{ role: "user" as const, content: "Are you ready? Answer by calling report_ready." }];
  let result: ModelResult | undefined;
  const request = { model: id, system: "You are being tested. Use the tool.", tools: [tool], entries };
  for await (const event of model.complete(request, AbortSignal.timeout(limitMs))) if (event.type === "result") result = event.result;
  return result;
}

function toolFinding(subject: string, address: ModelAddress, result: Extract<ModelResult, { ok: true }>): Finding {
  const [call] = result.toolCalls;
  if (call?.name === tool.name && isObject(call.arguments))
    return { level: "ok", subject: `${subject}: tools`, message: "It calls tools." };
  if (call === undefined) return noTools(subject, address);
  return {
    level: "warning",
    subject: `${subject}: tools`,
    message: `${address.id} called a tool in a way that cannot be used (${call.name.slice(0, 40)}).`,
    remedy: toolRemedy,
  };
}

const toolRemedy =
  "Memory, skills and search are tools. Choose a model that is made for tool calls, and switch them on at its server (vLLM: --enable-auto-tool-choice with a --tool-call-parser).";

function noTools(subject: string, { id }: ModelAddress): Finding {
  return {
    level: "warning",
    subject: `${subject}: tools`,
    message: `${id} did not call the tool it was asked to call.`,
    remedy: toolRemedy,
  };
}

function usageFinding(subject: string, { usage }: Extract<ModelResult, { ok: true }>): Finding {
  if (usage.exact)
    return { level: "ok", subject: `${subject}: usage`, message: `It counts tokens (${usage.inputTokens} in, ${usage.outputTokens} out).` };
  return {
    level: "warning",
    subject: `${subject}: usage`,
    message: "Its server does not count tokens; usage, budgets and the fill of the window are estimates.",
    remedy: "Switch usage on at the server if it has a setting for it; otherwise set budgets and model.contextTokens with a margin.",
  };
}

function windowFinding({ model, agent }: GatewayConfig): Finding {
  const subject = "model: window";
  if (model.contextTokens === undefined) {
    return {
      level: "warning",
      subject,
      message: `model.contextTokens is not set, so a window of ${assumedWindowTokens.toLocaleString("en")} tokens is assumed.`,
      remedy:
        "Set model.contextTokens to the model's real window: some servers cut a longer conversation silently (Ollama does, at its num_ctx).",
    };
  }
  const at = Math.round(model.contextTokens * agent.compressAt).toLocaleString("en");
  return { level: "ok", subject, message: `${model.contextTokens.toLocaleString("en")} tokens; conversations are condensed above ${at}.` };
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null;
  } catch {
    return false; // broken arguments are the finding
  }
}
