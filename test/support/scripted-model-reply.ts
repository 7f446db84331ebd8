/**
 * Turns one scripted reply into the bytes of an answer: SSE frames or one JSON body. Everything odd that real servers
 * do is a field of the reply, so a test says what it wants and never writes frames by hand (except with `frames`).
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ServerResponse } from "node:http";
import type { WireRequest } from "./scripted-model-rules.js";

export interface ScriptedCall {
  readonly name: string;
  /** An object is sent as its JSON; a string is sent as it is (so "" and broken JSON can be scripted). */
  readonly arguments?: string | { readonly [key: string]: unknown };
  /** Default: `call_<n>`, unique per server. `null` leaves the id out. */
  readonly id?: string | null;
  /** Default: position. `null` leaves the index out. */
  readonly index?: number | null;
}

export type Fault =
  /** An HTTP error with a JSON body, before anything else. */
  | {
      readonly kind: "status";
      readonly status: number;
      readonly message?: string;
      readonly code?: string;
      readonly param?: string;
      readonly headers?: { readonly [name: string]: string };
    }
  /** Accepts the request and never sends headers. */
  | { readonly kind: "hang" }
  /** Sends `after` frames and stays open for ever. */
  | { readonly kind: "stall"; readonly after: number }
  /** Sends `after` frames and destroys the socket. */
  | { readonly kind: "cut"; readonly after: number }
  /** Sends `after` frames and ends the body properly, with neither finish reason nor [DONE]. */
  | { readonly kind: "end"; readonly after: number }
  /** 200 with an HTML page. */
  | { readonly kind: "html" }
  /** `after` frames, then an error frame inside the 200 stream. */
  | {
      readonly kind: "error-frame";
      readonly after: number;
      readonly message?: string;
      readonly code?: string | number;
    }
  /** Answers a stream request with one JSON completion. */
  | { readonly kind: "no-stream" };

export interface ScriptedReply {
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Sent as `reasoning_content` deltas before the text. */
  readonly reasoning?: string;
  readonly reasoningField?: "reasoning_content" | "reasoning";
  /** UTF-16 units per text or argument delta (default 12; 0 = all in one). */
  readonly chunkSize?: number;
  /** Milliseconds before the headers. */
  readonly headDelayMs?: number;
  /** Milliseconds between frames. */
  readonly delayMs?: number;
  /** Holds the stream before frame `holdAt` (default 0) until it resolves. */
  readonly gate?: Promise<unknown>;
  readonly holdAt?: number;
  /** Default: "stop" or "tool_calls"; `null` leaves it out. */
  readonly finish?: string | null;
  /** Default: counted from the texts; `null` sends none. */
  readonly usage?: { readonly [key: string]: unknown } | null;
  /** The usage chunk has `choices: null` or no `choices` instead of `[]`. */
  readonly usageChoices?: "empty" | "null" | "missing";
  /** Also sends a chunk whose delta is null, and SSE comments. */
  readonly oddities?: boolean;
  /** Every call complete in one delta. */
  readonly wholeCalls?: boolean;
  /** Raw `data:` payloads instead of generated ones (objects become JSON). `[DONE]` must be included where wanted. */
  readonly frames?: readonly unknown[];
  readonly fault?: Fault;
}

export interface ReplyContext {
  readonly request: WireRequest;
  readonly id: string;
  nextCallId(): string;
  readonly closed: AbortSignal;
}

/** Writes the reply; resolves when it is over or the client is gone. */
export async function writeReply(reply: ScriptedReply, response: ServerResponse, context: ReplyContext): Promise<void> {
  const { fault } = reply;
  if (!(await pause(reply.headDelayMs ?? 0, context.closed))) return;
  if (fault?.kind === "hang") return closing(context.closed);
  if (fault?.kind === "status") {
    return sendError(
      response,
      fault.status,
      {
        message: fault.message ?? `status ${fault.status}`,
        code: fault.code ?? null,
        param: fault.param ?? null,
      },
      fault.headers,
    );
  }
  if (fault?.kind === "html") {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><html><body>Sign in to continue</body></html>");
    return;
  }
  if (context.request.stream !== true || fault?.kind === "no-stream") return sendWhole(reply, response, context);
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    connection: "keep-alive",
  });
  response.flushHeaders();
  const frames = reply.frames ?? framesOf(reply, context);
  for (let index = 0; index <= frames.length; index += 1) {
    if (index === (reply.holdAt ?? 0) && reply.gate !== undefined) await Promise.race([reply.gate, closing(context.closed)]);
    if (context.closed.aborted) return;
    if (fault !== undefined && "after" in fault && fault.after === index) return breakOff(fault, response, context);
    if (index === frames.length) break;
    const frame = frames[index];
    response.write(`data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`);
    if (!(await pause(reply.delayMs ?? 0, context.closed))) return;
  }
  response.end();
}

export function sendError(
  response: ServerResponse,
  status: number,
  error: { readonly message: string; readonly code: string | null; readonly param: string | null },
  headers: { readonly [name: string]: string } = {},
): void {
  const type =
    status === 401
      ? "authentication_error"
      : status === 429
        ? "rate_limit_error"
        : status >= 500
          ? "server_error"
          : "invalid_request_error";
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify({ error: { ...error, type } }));
}

async function breakOff(fault: Fault, response: ServerResponse, context: ReplyContext): Promise<void> {
  if (fault.kind === "stall") return closing(context.closed);
  if (fault.kind === "cut") {
    // The headers and frames must be on the wire first, or the client sees a refused connection instead of a cut stream.
    await new Promise<void>((resolve) => response.write(": cut\n\n", () => resolve()));
    await pause(5, context.closed);
    response.destroy();
    return;
  }
  if (fault.kind === "error-frame") {
    response.write(
      `data: ${JSON.stringify({ error: { message: fault.message ?? "upstream failed", code: fault.code ?? null, type: "server_error" } })}\n\n`,
    );
  }
  response.end();
}

/** The frames of a normal stream. Exported for tests that alter them. */
export function framesOf(reply: ScriptedReply, context: Pick<ReplyContext, "request" | "id" | "nextCallId">): unknown[] {
  const base = {
    id: context.id,
    object: "chat.completion.chunk",
    created: 1,
    model: context.request.model,
  };
  const chunk = (delta: unknown, finish: string | null = null): unknown => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const size = reply.chunkSize ?? 12;
  const frames: unknown[] = [chunk({ role: "assistant", content: "" })];
  if (reply.oddities === true) frames.push(chunk(null), { ...base, choices: null }, { ...base });
  for (const piece of pieces(reply.reasoning ?? "", size)) frames.push(chunk({ [reply.reasoningField ?? "reasoning_content"]: piece }));
  for (const piece of pieces(reply.text ?? "", size)) frames.push(chunk({ content: piece }));
  for (const [position, call] of (reply.calls ?? []).entries()) {
    const index = call.index === null ? {} : { index: call.index ?? position };
    const id = call.id === null ? {} : { id: call.id ?? context.nextCallId() };
    const text = argumentText(call);
    if (reply.wholeCalls === true) {
      frames.push(
        chunk({
          tool_calls: [{ ...index, ...id, type: "function", function: { name: call.name, arguments: text } }],
        }),
      );
      continue;
    }
    frames.push(
      chunk({
        tool_calls: [{ ...index, ...id, type: "function", function: { name: call.name, arguments: "" } }],
      }),
    );
    for (const piece of pieces(text, size)) frames.push(chunk({ tool_calls: [{ ...index, function: { arguments: piece } }] }));
  }
  const finish = reply.finish === undefined ? defaultFinish(reply) : reply.finish;
  if (finish !== null) frames.push(chunk({}, finish));
  if (context.request.stream_options?.include_usage === true && reply.usage !== null) {
    const usage = reply.usage ?? countedUsage(reply, context.request);
    const choices = reply.usageChoices === "null" ? { choices: null } : reply.usageChoices === "missing" ? {} : { choices: [] };
    frames.push({ ...base, ...choices, usage });
  }
  frames.push("[DONE]");
  return frames;
}

function sendWhole(reply: ScriptedReply, response: ServerResponse, context: ReplyContext): void {
  const calls = (reply.calls ?? []).map((call) => ({
    ...(call.id === null ? {} : { id: call.id ?? context.nextCallId() }),
    type: "function",
    function: { name: call.name, arguments: argumentText(call) },
  }));
  const message = {
    role: "assistant",
    content: reply.text ?? null,
    ...(reply.reasoning === undefined ? {} : { [reply.reasoningField ?? "reasoning_content"]: reply.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const usage = reply.usage === null ? {} : { usage: reply.usage ?? countedUsage(reply, context.request) };
  const finish = reply.finish === undefined ? defaultFinish(reply) : reply.finish;
  const body = {
    id: context.id,
    object: "chat.completion",
    created: 1,
    model: context.request.model,
    choices: [{ index: 0, message, finish_reason: finish }],
    ...usage,
  };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function defaultFinish(reply: ScriptedReply): string {
  return (reply.calls ?? []).length > 0 ? "tool_calls" : "stop";
}

function countedUsage(reply: ScriptedReply, request: WireRequest): { readonly [key: string]: unknown } {
  const input = Math.ceil(JSON.stringify(request.messages).length / 4);
  const output = Math.max(1, Math.ceil(((reply.text ?? "").length + (reply.calls ?? []).map(argumentText).join("").length) / 4));
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0 },
  };
}

function argumentText(call: ScriptedCall): string {
  return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {});
}

function pieces(text: string, size: number): string[] {
  if (text === "") return [];
  if (size <= 0) return [text];
  const found: string[] = [];
  for (let at = 0; at < text.length; at += size) found.push(text.slice(at, at + size));
  return found;
}

async function pause(ms: number, closed: AbortSignal): Promise<boolean> {
  if (ms > 0) await delay(ms, undefined, { signal: closed }).catch(() => undefined);
  return !closed.aborted;
}

function closing(closed: AbortSignal): Promise<void> {
  if (closed.aborted) return Promise.resolve();
  return new Promise((resolve) => closed.addEventListener("abort", () => resolve(), { once: true }));
}
