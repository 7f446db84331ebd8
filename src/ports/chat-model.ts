/** One model call. Failures come back as values of the stream's last event, never as exceptions. */
import type { Entry, ToolCall, Usage } from "../domain/transcript.js";

/** A tool as the model is told of it. Stored with the session as JSON and sent exactly as stored. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: { readonly [key: string]: unknown };
}

export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly entries: readonly Entry[];
  /** Appended to the last user entry of this request only (recalled memory, speaker profile); never stored. */
  readonly tail?: string;
  readonly maxOutputTokens?: number;
}

/**
 * Why a call failed; decides about retry and fallback. `rate-limit`, `server`, `network` and `timeout` may be tried
 * again or on another model; `too-long`, `auth`, `bad-request` may not. `empty`: an answer without visible text or
 * calls. `protocol`: what came was no completion (an HTML page, a cut stream without a finish reason).
 */
export type ModelFailureClass =
  | "rate-limit"
  | "server"
  | "network"
  | "timeout"
  | "too-long"
  | "auth"
  | "bad-request"
  | "empty"
  | "protocol"
  | "aborted";

export interface ModelAnswer {
  readonly ok: true;
  /** Visible text, without reasoning. */
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly reasoning?: string;
  readonly finish: "stop" | "tools" | "length" | "filter";
  readonly usage: Usage;
  readonly model: string;
}

export interface ModelFailure {
  readonly ok: false;
  readonly failure: ModelFailureClass;
  /** For the log, already without secrets. Never shown to a person. */
  readonly detail: string;
  readonly retryAfterMs?: number;
  /** Visible text that was streamed before the failure. */
  readonly partialText: string;
  readonly usage: Usage;
}

export type ModelResult = ModelAnswer | ModelFailure;

export type ModelEvent =
  /** A piece of visible text; pieces in order concatenate to the answer's text. */
  | { readonly type: "text"; readonly text: string }
  /** The last event, exactly once. */
  | { readonly type: "result"; readonly result: ModelResult };

export interface ChatModel {
  /**
   * Makes one call. Yields text events, then one result. Aborting the signal ends the stream at once with
   * `aborted`. Retries inside only while nothing was yielded. A stream silent for longer than the idle limit ends
   * with `timeout`.
   */
  complete(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** The model's id and window (tokens; undefined when neither the server nor the settings say). No network. */
  describe(): { readonly id: string; readonly contextTokens: number | undefined };
}
