/**
 * Tiny live calls to the outside services, for the doctor and the guided set-up. Each has a time limit and never rejects:
 * a service that does not answer is a finding.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { errorText } from "../domain/errors.js";
import { connectRedis, inspectRedis } from "../jobs/redis-client.js";
import { OpenAiModel } from "../model/openai-model.js";
import type { ModelFailureClass, ModelResult } from "../ports/chat-model.js";
import type { Finding, PlatformAdapter } from "../ports/platform-adapter.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import { createRedactor } from "../safety/redact.js";

export interface ModelAddress {
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly id: string;
  readonly headers?: { readonly [name: string]: string };
}

export interface ProbeDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const modelLimitMs = 30_000;
const checkLimitMs = 20_000;
const redisLimitMs = 5_000;

const modelRemedies: Readonly<Record<ModelFailureClass, string>> = {
  auth: "Check the key (OPENAI_API_KEY) and that it belongs to model.baseUrl.",
  "bad-request": "Check the model's name (MNEME_MODEL), and that model.baseUrl ends where the server's API begins (often with /v1).",
  network: "Check the address (model.baseUrl, OPENAI_BASE_URL) and the network.",
  timeout: "The server took too long. It may be loading the model: try again.",
  "rate-limit": "The server limits this key at the moment; try again later or raise the limit there.",
  server: "The server itself failed; look at its log, or try again later.",
  protocol: "What answered is no OpenAI-compatible server. Check model.baseUrl; it often ends with /v1.",
  "too-long": "Check the size of the model's window.",
  empty: "The model answered without any text. Choose another one.",
  aborted: "Try again.",
};

/** Asks the model for one word. */
export async function probeModel(address: ModelAddress, deps: ProbeDeps): Promise<Finding> {
  const subject = "model";
  const { baseUrl, apiKey, id, headers } = address;
  const redactor = createRedactor({ secrets: apiKey === undefined ? [] : [apiKey] });
  const model = new OpenAiModel(
    {
      baseUrl,
      ...(apiKey === undefined ? {} : { apiKey }),
      model: id,
      idleTimeoutMs: modelLimitMs,
      requestTimeoutMs: modelLimitMs,
      parallel: 1,
      maxRetries: 0,
      ...(headers === undefined ? {} : { headers }),
    },
    { ...deps, redact: (text) => redactor.text(text) },
  );
  const beganAt = deps.clock.now();
  const entries = [{ role: "user" as const, content: "Answer with the one word: ready" }];
  let result: ModelResult | undefined;
  const stream = model.complete({ model: id, system: "You are being tested.", tools: [], entries }, AbortSignal.timeout(modelLimitMs));
  for await (const event of stream) if (event.type === "result") result = event.result;
  const ms = deps.clock.now() - beganAt;
  if (result?.ok === true) return { level: "ok", subject, message: `${id} at ${hostOf(baseUrl)} answered in ${ms} ms.` };
  const failure = result?.failure ?? "protocol";
  const detail = result?.ok === false ? `: ${result.detail}` : "";
  const message = `${id} at ${hostOf(baseUrl)} does not answer (${failure})${detail}`;
  return { level: "error", subject, message, remedy: modelRemedies[failure] };
}

/** The names of the models that a server offers; empty when it does not say. */
export async function listModels({ baseUrl, apiKey, headers }: Omit<ModelAddress, "id">): Promise<string[]> {
  const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, "")}/models`, {
      headers: { ...authorization, ...headers },
      signal: AbortSignal.timeout(checkLimitMs),
    });
    const body: unknown = response.ok ? await response.json() : undefined;
    const data = typeof body === "object" && body !== null && "data" in body && Array.isArray(body.data) ? (body.data as unknown[]) : [];
    return data
      .flatMap((one) => (typeof one === "object" && one !== null && "id" in one && typeof one.id === "string" ? [one.id] : []))
      .sort();
  } catch {
    // The list is a convenience; the call that follows says what is wrong.
    return [];
  }
}

/** The adapter's own check, within a time limit. The platform's name stands before each subject. */
export async function probeAdapter(adapter: PlatformAdapter, clock: Clock): Promise<Finding[]> {
  const { platform } = adapter;
  try {
    const findings = await within(adapter.check(), checkLimitMs, clock);
    return findings.map((finding) => ({ ...finding, subject: `${platform}: ${finding.subject}` }));
  } catch (error) {
    return [
      {
        level: "error",
        subject: platform,
        message: `The check failed: ${errorText(error)}`,
        remedy: "Check the network and the address of the service.",
      },
    ];
  } finally {
    await adapter.stop();
  }
}

/** Whether Redis answers and keeps what it is given. */
export async function probeRedis(url: string, logger: Logger, clock: Clock): Promise<Finding[]> {
  const subject = "redis";
  let ready: () => void = () => undefined;
  const connected = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const clients = await connectRedis({ url, logger, whenAway: "answer", onReady: () => ready() });
  try {
    await within(connected, redisLimitMs, clock);
    const state = await within(inspectRedis(clients.main), redisLimitMs, clock);
    if (state.problems.length === 0) return [{ level: "ok", subject, message: `Redis ${state.version} answers.` }];
    return state.problems.map((message) => ({
      level: "warning",
      subject,
      message,
      remedy: "Change it in the settings of the Redis server.",
    }));
  } catch (error) {
    const remedy = "Start Redis or correct redis.url (REDIS_URL). Jobs are kept meanwhile, and nothing is lost.";
    return [{ level: "error", subject, message: `Redis does not answer: ${errorText(error)}`, remedy }];
  } finally {
    clients.disconnect();
  }
}

function within<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`no answer within ${ms / 1000} s`)));
    work.then(resolve, reject).finally(cancel);
  });
}

/** The host of an address, for people. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an unreadable address";
}

/** The address of the configured model; undefined while it has no name. */
export function modelAddress({ model }: GatewayConfig): ModelAddress | undefined {
  return model.id === undefined ? undefined : { baseUrl: model.baseUrl, apiKey: model.apiKey, id: model.id, headers: model.headers };
}
