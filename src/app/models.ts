/**
 * Settings → the models: the main one with those that stand in for it, and the auxiliary one. A key or header goes only to the
 * server it was given for.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { FallbackModel, type ChainedModel } from "../model/fallback-model.js";
import { OpenAiModel, type OpenAiModelDeps, type OpenAiModelSettings } from "../model/openai-model.js";
import type { ChatModel } from "../ports/chat-model.js";

export interface Models {
  /** What answers people. Its answers carry the name of the model that gave them: `model.id`, a chat's own, or a fallback's. */
  readonly main: ChatModel;
  /** Loads the client library ahead of the first call. */
  readonly warm: () => Promise<void>;
  /** Where one is named. */
  readonly aux: ChatModel | undefined;
  /** For side work that needs a model in any case. */
  readonly side: { readonly model: ChatModel; readonly id: string };
}

/** With another model to ask, a server that wants a longer pause than this is not waited for, milliseconds. */
const patienceMs = 3_000;

export function buildModels(config: GatewayConfig, deps: OpenAiModelDeps): Models {
  const { fallbacks } = config.model;
  const settings = mainSettings(config);
  const primary = new OpenAiModel(fallbacks.length === 0 ? settings : { ...settings, maxRetryWaitMs: patienceMs }, deps);
  const main = new FallbackModel({ primary, fallbacks: chain(config, deps), clock: deps.clock, logger: deps.logger });
  const aux = auxiliary(config, deps);
  const side = aux === undefined ? { model: main, id: config.model.id ?? "" } : { model: aux, id: aux.describe().id };
  return { main, warm: () => primary.warm(), aux, side };
}

/** The main model as its settings say. */
function mainSettings({ model, agent, turns }: GatewayConfig): OpenAiModelSettings {
  return {
    baseUrl: model.baseUrl,
    ...(model.apiKey === undefined ? {} : { apiKey: model.apiKey }),
    model: model.id ?? "",
    ...(model.contextTokens === undefined ? {} : { contextTokens: model.contextTokens }),
    ...(model.maxOutputTokens === undefined ? {} : { maxOutputTokens: model.maxOutputTokens }),
    idleTimeoutMs: agent.idleTimeoutMs,
    requestTimeoutMs: turns.timeoutMs,
    parallel: model.parallel,
    headers: model.headers,
  };
}

function chain(config: GatewayConfig, deps: OpenAiModelDeps): ChainedModel[] {
  const taken = new Set([config.model.id ?? "", ...config.model.choices]);
  return config.model.fallbacks.map(({ id, baseUrl, apiKey, headers }, index) => {
    const model = new OpenAiModel({ ...elsewhere(config, { id, baseUrl, apiKey, headers }), maxRetryWaitMs: patienceMs }, deps);
    // The same name on another server is another model: usage and the word to the person keep them apart.
    const host = new URL(baseUrl ?? config.model.baseUrl).host;
    const name = [id, `${id} (${host})`, `${id} (${host} ${index + 1})`].find((one) => !taken.has(one)) ?? id;
    taken.add(name);
    return { id, name, model };
  });
}

function auxiliary(config: GatewayConfig, deps: OpenAiModelDeps): OpenAiModel | undefined {
  const { id, baseUrl, apiKey } = config.model.aux;
  return id === undefined ? undefined : new OpenAiModel(elsewhere(config, { id, baseUrl, apiKey }), deps);
}

interface Other {
  readonly id: string;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly headers?: { readonly [name: string]: string } | undefined;
}

/** A model beside the main one; on the same server it may use what the main one uses. */
export function elsewhere(config: GatewayConfig, other: Other): OpenAiModelSettings {
  const { apiKey: mainKey, headers: mainHeaders = {}, contextTokens: _window, ...main } = mainSettings(config);
  const baseUrl = other.baseUrl ?? main.baseUrl;
  const isSame = baseUrl === main.baseUrl;
  const apiKey = other.apiKey ?? (isSame ? mainKey : undefined);
  const headers = other.headers ?? (isSame ? mainHeaders : {});
  return { ...main, baseUrl, model: other.id, headers, ...(apiKey === undefined ? {} : { apiKey }) };
}
