/**
 * What went wrong with a model call → a failure class. Status and code decide; the server's words are read only where
 * servers have no code for the matter (too long, an optional field they do not know).
 */
import type { ModelFailureClass } from "../ports/chat-model.js";
import { showsImages, type OptionalField } from "./model-request.js";

export interface Cause {
  readonly failure: ModelFailureClass;
  readonly detail: string;
  readonly retryAfterMs?: number;
  /** False where another try of the same request cannot help although the class may be tried elsewhere. */
  readonly repeat: boolean;
  /** An optional field that the server refused. */
  readonly refusedField?: OptionalField;
  /** The request carried images and the server does not take them: this model never does, or not these. */
  readonly refusedImages?: "ever" | "these";
  /** The server complains of `reasoning_content`: it wants it in messages with tool calls (true), or does not know it (false). */
  readonly wantsReasoning?: boolean;
}

/** The parts of an SDK error that are used; anything may be missing. */
interface ErrorLike {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly status?: unknown;
  readonly code?: unknown;
  readonly param?: unknown;
  readonly type?: unknown;
  readonly headers?: unknown;
  readonly cause?: unknown;
}

const tooLong =
  /context.{0,12}(length|window|size)|maximum context|prompt is too long|too many (input )?tokens|input is too long|exceeds the (available|model)/i;
/** Codes of Node's own limits for headers and body (five minutes each). */
const libraryTimeouts = /\bUND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT\b/;
/**
 * How servers say that a model has no eyes (OpenAI, OpenRouter, vLLM, Ollama, DeepSeek and other serde servers). Whatever else they say of
 * images may be about those of this request.
 */
const noImages = new RegExp(
  [
    "(?:not|n't) support (?:images?|vision|multi)",
    "images?(?:_url| urls?| inputs?| content)? (?:is|are) (?:not supported|not enabled|only supported by certain models)",
    "endpoints found that support image",
    "not a multi-?modal model",
    "unknown variant .?image_url",
    "missing data required for image input",
  ].join("|"),
  "i",
);
const optionalFields: readonly OptionalField[] = ["stream_options", "max_completion_tokens", "max_tokens", "temperature"];

/** What is known of the failed request: the time, for a `retry-after` date, and the fields that were sent. */
interface Sent {
  readonly now: number;
  readonly body: object;
}

/** Classifies whatever the client library threw. */
export function causeOf(error: unknown, sent: Sent): Cause {
  const found: ErrorLike = typeof error === "object" && error !== null ? error : { message: String(error) };
  const detail = detailOf(found);
  const status = typeof found.status === "number" ? found.status : undefined;
  if (status !== undefined) return statusCause(status, found, detail, sent);
  if (found.name === "SyntaxError")
    return {
      failure: "protocol",
      detail: `a frame of the stream is not JSON: ${detail}`,
      repeat: true,
    };
  if (isErrorFrame(found)) return frameCause(found, detail, sent);
  return { failure: libraryTimeouts.test(detail) ? "timeout" : "network", detail, repeat: true };
}

function statusCause(status: number, error: ErrorLike, detail: string, sent: Sent): Cause {
  const retryAfterMs = retryAfter(error.headers, sent.now);
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status === 429) return { failure: "rate-limit", detail, repeat: error.code !== "insufficient_quota", ...wait };
  if (status === 408) return { failure: "timeout", detail, repeat: true, ...wait };
  if (status === 401 || status === 402 || status === 403) return { failure: "auth", detail, repeat: false };
  const images = refusedImages(error, sent.body);
  if (images !== undefined) return { failure: "bad-request", detail, repeat: false, refusedImages: images };
  if (status === 409 || status >= 500) {
    // Some servers answer a prompt that does not fit with a 500.
    return isTooLong(error) ? { failure: "too-long", detail, repeat: false } : { failure: "server", detail, repeat: true, ...wait };
  }
  if (status === 413 || isTooLong(error)) return { failure: "too-long", detail, repeat: false };
  const wantsReasoning = reasoningWanted(error, sent.body);
  if (wantsReasoning !== undefined) return { failure: "bad-request", detail, repeat: false, wantsReasoning };
  const field = refusedField(error, sent.body);
  return {
    failure: "bad-request",
    detail,
    repeat: false,
    ...(field === undefined ? {} : { refusedField: field }),
  };
}

/** An error frame inside a 200 stream: the code may be the status the upstream server answered with. */
function frameCause(error: ErrorLike, detail: string, sent: Sent): Cause {
  const code = Number(error.code);
  if (Number.isInteger(code) && code >= 400 && code < 600) return statusCause(code, error, detail, sent);
  if (isTooLong(error)) return { failure: "too-long", detail, repeat: false };
  if (error.code === "rate_limit_exceeded" || error.type === "rate_limit_error") return { failure: "rate-limit", detail, repeat: true };
  return { failure: "server", detail, repeat: true };
}

function isErrorFrame(error: ErrorLike): boolean {
  return "error" in error && typeof error.error === "object" && error.error !== null;
}

function isTooLong(error: ErrorLike): boolean {
  return error.code === "context_length_exceeded" || tooLong.test(String(error.message));
}

/** By the server's words, since servers have no code for it: OpenRouter says it with 404, Ollama with 500, others with 400 or 422. */
function refusedImages(error: ErrorLike, body: object): Cause["refusedImages"] {
  const said = [error.param, error.message].filter((part) => typeof part === "string").join(" ");
  if (!/image|vision|multi-?modal/i.test(said) || !showsImages(body)) return undefined;
  return noImages.test(said) ? "ever" : "these";
}

function refusedField(error: ErrorLike, body: object): OptionalField | undefined {
  const named = typeof error.param === "string" && error.param !== "" ? error.param : String(error.message);
  return optionalFields.find((field) => field in body && named.includes(field));
}

function reasoningWanted(error: ErrorLike, body: object): boolean | undefined {
  if (!`${String(error.param)} ${String(error.message)}`.includes("reasoning_content")) return undefined;
  const messages = "messages" in body && Array.isArray(body.messages) ? (body.messages as unknown[]) : [];
  return !messages.some((message) => typeof message === "object" && message !== null && "reasoning_content" in message);
}

/**
 * The error that a chunk or body of a 200 answer is, if it is one: `{"error": {…}}`, or `{"object": "error", …}` as vLLM writes it. The client
 * library throws the first kind itself in streams.
 */
export function errorIn(value: unknown): Error | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if ("error" in value && typeof value.error === "object" && value.error !== null)
    return Object.assign(new Error("error body"), value.error, { error: value.error });
  if ("object" in value && value.object === "error") return Object.assign(new Error("error frame"), value, { error: value });
  return undefined;
}

/** `retry-after-ms`, or `retry-after` as seconds or date, in milliseconds. */
function retryAfter(headers: unknown, now: number): number | undefined {
  if (!(headers instanceof Headers)) return undefined;
  const ms = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function detailOf(error: ErrorLike): string {
  const parts = [error.status, error.code, error.message, causeText(error.cause)];
  return parts
    .filter((part) => (typeof part === "string" && part !== "") || typeof part === "number")
    .join(" ")
    .slice(0, 2000);
}

function causeText(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null) return undefined;
  const inner: ErrorLike = cause;
  const code = typeof inner.code === "string" ? inner.code : undefined;
  return [code, typeof inner.message === "string" ? inner.message : undefined, causeText(inner.cause)]
    .filter((part) => part !== undefined)
    .join(" ");
}
