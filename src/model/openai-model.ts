/**
 * The ChatModel port on the openai library (chat completions, any compatible server). The library is loaded at the first
 * call, retries and time limits are ours, and a stream that merely ends is not an answer.
 */
import type OpenAI from "openai";
import { estimateTokenCount } from "tokenx";
import { noUsage, type Usage } from "../domain/transcript.js";
import type { ChatModel, ModelEvent, ModelFailure, ModelRequest, ModelResult } from "../ports/chat-model.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import { CallWatch } from "./call-watch.js";
import { causeOf, errorIn, type Cause } from "./model-failure.js";
import { requestBody, type Image, type OptionalField, type WireBody, type WireOptions } from "./model-request.js";
import { imagesOf } from "./request-images.js";
import { ParallelLimit } from "./parallel-limit.js";
import { ReasoningHabit } from "./reasoning-habit.js";
import { pause, Retries } from "./retry.js";
import { isVisible, StreamAnswer, type ChunkLike } from "./stream-answer.js";

export interface OpenAiModelSettings extends WireOptions {
  /** With `/v1` where the server has it. */
  readonly baseUrl: string;
  /** Absent for servers without keys: no authorization header is sent then. */
  readonly apiKey?: string;
  /** The model `describe` names; each request says its own. */
  readonly model: string;
  readonly contextTokens?: number;
  /** Longest silence between two chunks, and before the first, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Longest time of one try as a whole, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** Calls at once; 0 = no limit. */
  readonly parallel: number;
  /** Repeats after a failure that may pass, while nothing was yielded. Default 2. */
  readonly maxRetries?: number;
  /** A server that asks to wait longer is not waited for; the failure carries its wish. Milliseconds, default 20,000. */
  readonly maxRetryWaitMs?: number;
  readonly headers?: { readonly [name: string]: string };
}

export interface OpenAiModelDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Takes secrets out of text that goes to the log. */
  readonly redact: (text: string) => string;
  /** A stored image as a data URL; undefined when it is gone. Without it no image is ever shown. */
  readonly imageUrl?: (image: Image) => Promise<string | undefined>;
  /** 0 ≤ n < 1, for the spread of the back-off. */
  readonly random?: () => number;
}

/** After the finish reason a server gets this long for its usage and the end of the stream, in milliseconds. */
const graceMs = 1000;
type Try = { readonly result: ModelResult; readonly cause?: Cause };

export class OpenAiModel implements ChatModel {
  readonly #settings: OpenAiModelSettings;
  readonly #deps: OpenAiModelDeps;
  readonly #limit: ParallelLimit;
  readonly #refused = new Set<OptionalField>();
  readonly #reasoning: ReasoningHabit;
  /** Names of models that take no images. */
  readonly #sightless = new Set<string>();
  #client: Promise<OpenAI> | undefined;

  constructor(settings: OpenAiModelSettings, deps: OpenAiModelDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#limit = new ParallelLimit(settings.parallel);
    this.#reasoning = new ReasoningHabit(settings.sendReasoning === true);
  }

  describe(): { readonly id: string; readonly contextTokens: number | undefined } {
    return { id: this.#settings.model, contextTokens: this.#settings.contextTokens };
  }

  /** Loads the client library ahead of the first call (about 80 ms). No network. */
  async warm(): Promise<void> {
    await this.#library();
  }

  async *complete(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
    const leave = await this.#limit.enter(signal);
    if (leave === undefined) {
      yield {
        type: "result",
        result: failure("aborted", "stopped while waiting for a free place", "", noUsage),
      };
      return;
    }
    try {
      yield* this.#tries(request, signal);
    } finally {
      leave();
    }
  }

  async *#tries(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
    const { maxRetries = 2, maxRetryWaitMs = 20_000 } = this.#settings;
    const { clock, logger, random = Math.random } = this.#deps;
    const retries = new Retries({ maxRetries, maxWaitMs: maxRetryWaitMs, random });
    let showsImages = !this.#sightless.has(request.model);
    for (;;) {
      const refusedBefore = this.#refused.size;
      const { result, cause } = yield* this.#try(request, signal, showsImages);
      if (this.#leavesOut(request.model, cause, refusedBefore, showsImages)) {
        showsImages &&= cause?.refusedImages === undefined;
        continue;
      }
      const waitMs = cause === undefined || result.ok ? undefined : retries.next(cause, result.partialText !== "");
      if (waitMs === undefined || result.ok) {
        yield { type: "result", result };
        return;
      }
      logger.warn({ failure: result.failure, detail: result.detail, waitMs }, "model call failed, trying again");
      if (await pause(waitMs, clock, signal)) continue;
      yield { type: "result", result: failure("aborted", "stopped while waiting to try again", "", noUsage) };
      return;
    }
  }

  /** True when the server refused an optional part that the next try goes without. */
  #leavesOut(model: string, cause: Cause | undefined, refusedBefore: number, showsImages: boolean): boolean {
    if (cause?.wantsReasoning !== undefined) return this.#reasoning.learn(model, cause.wantsReasoning);
    if (cause?.refusedField !== undefined) return this.#refused.size > refusedBefore;
    if (cause?.refusedImages === undefined || !showsImages) return false;
    if (cause.refusedImages === "ever") this.#sightless.add(model);
    this.#deps.logger.warn({ model, detail: cause.detail }, "the model's server refuses images: it is asked again without them");
    return true;
  }

  /** One try: yields text, returns the result, with its cause when it is a failure that may be worth another try. */
  async *#try(request: ModelRequest, signal: AbortSignal, showsImages: boolean): AsyncGenerator<ModelEvent, Try> {
    const { idleTimeoutMs, requestTimeoutMs } = this.#settings;
    // The time to load the library is not the server's silence. A failure of it shows again below.
    await Promise.allSettled([this.#library()]);
    const watch = new CallWatch({
      clock: this.#deps.clock,
      signal,
      idleMs: idleTimeoutMs,
      totalMs: requestTimeoutMs,
    });
    const answer = new StreamAnswer(request.tools.map((tool) => tool.name));
    let body: WireBody | undefined;
    let isRead = false;
    try {
      const imageUrl = await imagesOf(request.entries, showsImages, this.#deps.imageUrl);
      body = requestBody(request, { ...this.#settings, imageUrl, sendReasoning: this.#reasoning.sends(request.model) }, this.#refused);
      const chunks = await watch.race(this.#open(body, watch.signal));
      while (chunks !== "stopped") {
        const next = await watch.race(chunks.next());
        isRead = next !== "stopped" && next.done === true;
        if (next === "stopped" || next.done === true) break;
        const fault = errorIn(next.value);
        if (fault !== undefined) throw fault;
        const text = answer.add(next.value);
        watch.alive(answer.finished ? Math.min(graceMs, idleTimeoutMs) : idleTimeoutMs);
        if (text !== "") yield { type: "text", text };
      }
      const ended = watch.stopped !== undefined && !(watch.stopped === "idle" && answer.finished);
      if (ended) return this.#stopped(watch, answer);
      return yield* this.#finish(request, answer);
    } catch (error) {
      if (watch.stopped !== undefined) return this.#stopped(watch, answer);
      const cause = causeOf(error, { now: this.#deps.clock.now(), body: body ?? {} });
      if (cause.refusedField !== undefined) this.#refused.add(cause.refusedField);
      return this.#failed(cause, answer);
    } finally {
      watch.close(isRead);
    }
  }

  async *#finish(request: ModelRequest, answer: StreamAnswer): AsyncGenerator<ModelEvent, Try> {
    const used = new Set(
      request.entries.flatMap((entry) => (entry.role === "assistant" ? (entry.toolCalls ?? []).map((call) => call.id) : [])),
    );
    const shown = answer.text;
    const collected = answer.end(used, () => this.#deps.ids.next());
    const { text, toolCalls, reasoning, finish } = collected;
    if (finish === undefined) {
      const detail = answer.hasContent ? "the stream ended without a finish reason" : "the answer is no completion stream";
      return this.#failed({ failure: "protocol", detail, repeat: true }, answer, shown);
    }
    if (finish === "error") {
      return this.#failed({ failure: "server", detail: "the server ended the answer with an error", repeat: true }, answer, shown);
    }
    if (collected.lastPiece !== "") yield { type: "text", text: collected.lastPiece };
    const usage = answer.usage(() => estimate(request, `${text}${reasoning}${toolCalls.map((call) => call.arguments).join("")}`));
    if (!isVisible(text) && toolCalls.length === 0) {
      return {
        result: failure("empty", `no visible text and no tool call (finish: ${finish})`, "", usage),
      };
    }
    const model = answer.model ?? request.model;
    return {
      result: {
        ok: true,
        text,
        toolCalls,
        ...(reasoning === "" ? {} : { reasoning }),
        finish,
        usage,
        model,
      },
    };
  }

  #stopped(watch: CallWatch, answer: StreamAnswer): Try {
    if (watch.stopped === "aborted")
      return {
        result: failure(
          "aborted",
          "stopped",
          answer.text,
          answer.usage(() => noUsage),
        ),
      };
    const detail =
      watch.stopped === "idle"
        ? `silent for ${this.#settings.idleTimeoutMs} ms`
        : `not finished after ${this.#settings.requestTimeoutMs} ms`;
    return this.#failed({ failure: "timeout", detail, repeat: watch.stopped === "idle" }, answer);
  }

  #failed(cause: Cause, answer: StreamAnswer, shown = answer.text): Try {
    const { apiKey } = this.#settings;
    const withoutKey = apiKey === undefined || apiKey === "" ? cause.detail : cause.detail.replaceAll(apiKey, "[key]");
    const result = failure(
      cause.failure,
      this.#deps.redact(withoutKey).slice(0, 500),
      shown,
      answer.usage(() => noUsage),
    );
    return {
      result: cause.retryAfterMs === undefined ? result : { ...result, retryAfterMs: cause.retryAfterMs },
      cause,
    };
  }

  async #open(body: WireBody, signal: AbortSignal): Promise<AsyncIterator<ChunkLike>> {
    const client = await this.#library();
    const call = client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParamsStreaming, { signal });
    const { data, response } = await call.withResponse();
    if (!(response.headers.get("content-type") ?? "").startsWith("application/json"))
      return data[Symbol.asyncIterator]() as AsyncIterator<ChunkLike>;
    return wholeAnswer(await response.json());
  }

  #library(): Promise<OpenAI> {
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #connect(): Promise<OpenAI> {
    const { OpenAI: Client } = await import("openai");
    const { apiKey, baseUrl, headers, requestTimeoutMs } = this.#settings;
    const hasKey = apiKey !== undefined && apiKey !== "";
    // Everything the library would otherwise read from the environment is given, so that only our settings count.
    return new Client({
      apiKey: hasKey ? apiKey : "none",
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      baseURL: baseUrl,
      maxRetries: 0,
      timeout: requestTimeoutMs + graceMs,
      logLevel: "off",
      defaultHeaders: { ...(hasKey ? {} : { Authorization: null }), ...headers },
    });
  }
}

/** A server that ignores `stream` answers with one JSON completion: taken as one chunk. */
async function* wholeAnswer(body: unknown): AsyncGenerator<ChunkLike, void> {
  if (typeof body === "object" && body !== null) yield await Promise.resolve(body);
}

function failure(kind: ModelFailure["failure"], detail: string, partialText: string, usage: Usage): ModelFailure {
  return { ok: false, failure: kind, detail, partialText, usage };
}

function estimate(request: ModelRequest, output: string): Usage {
  const input = `${request.system}${JSON.stringify(request.tools)}${JSON.stringify(request.entries)}${request.tail ?? ""}`;
  return {
    inputTokens: estimateTokenCount(input),
    cachedTokens: 0,
    outputTokens: estimateTokenCount(output),
    exact: false,
  };
}
