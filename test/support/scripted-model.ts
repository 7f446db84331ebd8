/**
 * A strict OpenAI-compatible server on 127.0.0.1 whose answers a test scripts. It refuses what real servers refuse and
 * lists it in `refused`: a test that expects none should say so, since a client may swallow a 400.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { refusal, type Refusal, type WireRequest } from "./scripted-model-rules.js";
import { transcribe, type Hear, type HeardRecording } from "./scripted-transcription.js";
import { sendError, writeReply, type ScriptedReply } from "./scripted-model-reply.js";

export type { ScriptedReply, ScriptedCall, Fault } from "./scripted-model-reply.js";
export type { WireMessage, WireRequest } from "./scripted-model-rules.js";
export { messageText } from "./scripted-model-rules.js";

export interface RecordedRequest {
  /** The body exactly as it arrived. */
  readonly raw: string;
  readonly body: WireRequest;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly at: number;
  /** True once the client went away before the answer was complete. */
  closedByClient: boolean;
  /** True once the answer was written in full. */
  answered: boolean;
}

export type Answer = (request: WireRequest, n: number) => ScriptedReply | string | Promise<ScriptedReply | string>;

export interface ScriptedModelOptions {
  /** Used when the queue is empty. Default: a 500 that says the script has run out. */
  readonly answer?: Answer;
  readonly port?: number;
  readonly models?: readonly string[];
  /** With a key, other keys get a 401 that repeats the wrong key, as some servers do. */
  readonly apiKey?: string;
  /** Optional fields this server refuses with a 400 that names them (for example `stream_options`). */
  readonly refuseFields?: readonly string[];
  /** What recordings say; without it they get a 404, as from a server that has no such model. */
  readonly hear?: Hear;
  readonly onRequest?: (request: RecordedRequest) => void;
}

export interface ScriptedModel {
  /** Base URL including `/v1`. */
  readonly url: string;
  readonly port: number;
  /** Accepted completion requests, oldest first. */
  readonly requests: readonly RecordedRequest[];
  readonly refused: readonly { readonly refusal: Refusal; readonly raw: string }[];
  /** Recordings that were sent to be written down, oldest first. */
  readonly heard: readonly HeardRecording[];
  /** Adds replies to the queue; a string is a text answer. */
  push(...replies: readonly (ScriptedReply | string)[]): void;
  /** Replaces the function used when the queue is empty. */
  answerWith(answer: Answer): void;
  /** Resolves with request number `n` (1 = first) when it has arrived; rejects after `timeoutMs` (default 5000). */
  waitFor(n: number, timeoutMs?: number): Promise<RecordedRequest>;
  stop(): Promise<void>;
}

/** Starts the server on a free port of 127.0.0.1. */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const requests: RecordedRequest[] = [];
  const refused: { refusal: Refusal; raw: string }[] = [];
  const heard: HeardRecording[] = [];
  const queue: (ScriptedReply | string)[] = [];
  const waiting = new Set<() => void>();
  let answer: Answer =
    options.answer ??
    (() => ({
      fault: { kind: "status", status: 500, message: "the script has run out of replies" },
    }));
  let callNumber = 0;

  async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await readBody(request);
    const body = parse(raw);
    const bad = refusal(body) ?? refusedField(body, options.refuseFields ?? []);
    if (bad !== undefined) {
      refused.push({ refusal: bad, raw });
      sendError(response, 400, bad);
      return;
    }
    const recorded: RecordedRequest = {
      raw,
      body: body as WireRequest,
      headers: request.headers,
      at: Date.now(),
      closedByClient: false,
      answered: false,
    };
    requests.push(recorded);
    options.onRequest?.(recorded);
    for (const wake of [...waiting]) wake();
    const closed = new AbortController();
    response.on("close", () => {
      if (response.writableFinished) recorded.answered = true;
      else recorded.closedByClient = true;
      closed.abort();
    });
    const next = queue.shift() ?? (await answer(recorded.body, requests.length));
    const reply = typeof next === "string" ? { text: next } : next;
    const nextCallId = (): string => `call_${(callNumber += 1)}`;
    await writeReply(reply, response, {
      request: recorded.body,
      id: `chatcmpl-${requests.length}`,
      nextCallId,
      closed: closed.signal,
    });
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?")[0];
    const key = (request.headers.authorization ?? "").replace(/^Bearer /, "");
    if (options.apiKey !== undefined && key !== options.apiKey) {
      sendError(response, 401, {
        message: `Incorrect API key provided: ${key}.`,
        code: "invalid_api_key",
        param: null,
      });
    } else if (request.method === "GET" && path === "/v1/models") {
      const data = (options.models ?? ["scripted"]).map((id) => ({
        id,
        object: "model",
        created: 1,
        owned_by: "test",
      }));
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ object: "list", data }));
    } else if (request.method === "POST" && path === "/v1/chat/completions") {
      await complete(request, response);
    } else if (options.hear !== undefined && request.method === "POST" && path === "/v1/audio/transcriptions") {
      await transcribe(request, response, options.hear, heard);
    } else {
      sendError(response, 404, {
        message: `Unknown request URL: ${request.method} ${path}`,
        code: "unknown_url",
        param: null,
      });
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else
        sendError(response, 500, {
          message: `the script failed: ${String(error)}`,
          code: "script_failed",
          param: null,
        });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    refused,
    heard,
    push: (...replies) => void queue.push(...replies),
    answerWith(next) {
      answer = next;
    },
    waitFor(n, timeoutMs = 5000) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          const found = requests[n - 1];
          if (found === undefined) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve(found);
        };
        const timer = setTimeout(() => {
          waiting.delete(look);
          reject(new Error(`model request ${n} did not arrive within ${timeoutMs} ms (${requests.length} did)`));
        }, timeoutMs);
        waiting.add(look);
        look();
      });
    },
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The text up to the end of the last message, for comparing that one request extends another byte by byte. */
export function messageBytes(request: RecordedRequest): string {
  const messages = JSON.stringify(request.body.messages);
  return messages.slice(0, -1);
}

function refusedField(body: unknown, fields: readonly string[]): Refusal | undefined {
  const field = fields.find((name) => typeof body === "object" && body !== null && name in body);
  return field === undefined ? undefined : { message: `Unrecognized request argument supplied: ${field}`, param: null, code: null };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
