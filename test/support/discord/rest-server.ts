/**
 * HTTP side of the emulator: bodies, authentication, rate limits, planned failures and the record of every call.
 * What the routes do is in `routes.ts`; nothing here knows a route's meaning.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** An answer of the API; `ApiError` is the way to refuse. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly raw?: { readonly type: string; readonly content: Uint8Array };
}

export class ApiError extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;

  constructor(status: number, code: number, message: string, errors?: object) {
    super(message);
    this.status = status;
    this.body = { message, code, ...(errors === undefined ? {} : { errors }) };
  }
}

export interface UploadedFile {
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

export interface Call {
  readonly at: number;
  readonly method: string;
  /** Path without the version prefix, for example `/channels/1/messages`. */
  readonly path: string;
  /** The route's name, for example `POST /channels/:channel/messages`; `unknown` when no route matched. */
  readonly route: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
  readonly bodyIsList: readonly unknown[] | undefined;
  readonly files: readonly UploadedFile[];
  readonly authorization: string | undefined;
  status: number | undefined;
}

export interface Route {
  /** `METHOD /path/:param`. */
  readonly name: string;
  /** False: the route needs no bot token. */
  readonly auth?: boolean;
  readonly handle: (call: Call, params: Readonly<Record<string, string>>) => Answer;
}

/** How the next calls of a route go wrong. */
export interface Failure {
  /** How often; default 1. */
  readonly times?: number;
  readonly status?: number;
  readonly code?: number;
  readonly message?: string;
  readonly errors?: object;
  /** Seconds; with status 429. */
  readonly retryAfter?: number;
  /** With status 429: the limit of the whole bot. */
  readonly global?: boolean;
  /** The answer is an HTML page, not the API's JSON. */
  readonly html?: boolean;
  /** Waits before anything else happens. */
  readonly delayMs?: number;
  /** Cuts the connection before or after the call took effect. */
  readonly hangUp?: "before" | "after";
  /** The call takes effect, an answer never comes. */
  readonly silence?: boolean;
  /** The call takes effect, then this failure is the answer. */
  readonly afterEffect?: boolean;
}

interface Compiled extends Route {
  readonly method: string;
  readonly pattern: RegExp;
}

export interface RateLimit {
  readonly limit: number;
  readonly windowMs: number;
}

export class RestServer {
  readonly calls: Call[] = [];
  readonly limits = new Map<string, RateLimit>();
  readonly #routes: Compiled[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #failures = new Map<string, Failure[]>();
  readonly #buckets = new Map<string, { used: number; resetAt: number }>();
  readonly #token: () => string;
  readonly #changed: () => void;
  #port = 0;

  constructor(routes: readonly Route[], token: () => string, changed: () => void) {
    this.#token = token;
    this.#changed = changed;
    this.#routes = routes.map((route) => {
      const [method = "", path = ""] = route.name.split(" ");
      return { ...route, method, pattern: new RegExp(`^${path.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)").replaceAll("@", "(?:@|%40)")}$`) };
    });
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response
          .writeHead(500, { "content-type": "application/json" })
          .end(JSON.stringify({ message: `emulator fault: ${String(error)}`, code: 0 }));
      });
    });
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, "127.0.0.1", () => {
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  /** Plans failures of a route by its name. */
  fail(route: string, failure: Failure): void {
    if (route !== "*" && !this.#routes.some((known) => known.name === route)) throw new Error(`no route ${route}`);
    this.#failures.set(route, [...(this.#failures.get(route) ?? []), ...Array.from({ length: failure.times ?? 1 }, () => failure)]);
  }

  clearFailures(): void {
    this.#failures.clear();
  }

  /** Nobody listens for so long: new connections are refused, open ones are cut. */
  async refuseFor(ms: number): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    // The client must have seen its pooled connections end, or it would write into one of them.
    await new Promise((resolve) => setTimeout(resolve, 30));
    setTimeout(() => {
      this.listen().catch(() => undefined);
    }, ms);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    const method = request.method ?? "GET";
    const bytes = await readAll(request);
    const versioned = /^\/api\/v(\d+)(\/.*)$/.exec(url.pathname);
    const path = versioned?.[2] ?? url.pathname;
    const matched = this.#match(method, path);
    const { body, list, files } = await parseBody(request.headers["content-type"], bytes);
    const call: Call = {
      at: Date.now(),
      method,
      path,
      route: matched?.route.name ?? "unknown",
      query: url.searchParams,
      body,
      bodyIsList: list,
      files,
      authorization: request.headers.authorization,
      status: undefined,
    };
    this.calls.push(call);
    const failure = this.#failures.get(call.route)?.shift() ?? (versioned === null ? undefined : this.#failures.get("*")?.shift());
    if (failure?.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, failure.delayMs));
    if (failure?.hangUp === "before") {
      request.socket.destroy();
      return;
    }
    const refusal = failure === undefined || failure.afterEffect === true ? undefined : plannedAnswer(failure);
    const { answer, headers } = refusal ?? this.#answer(call, matched, versioned);
    this.#changed();
    if (failure?.hangUp === "after") {
      request.socket.destroy();
      return;
    }
    if (failure?.silence === true) return;
    const shown = failure?.afterEffect === true ? (plannedAnswer(failure) ?? { answer, headers }) : { answer, headers };
    call.status = shown.answer.status;
    write(response, shown.answer, shown.headers);
    this.#changed();
  }

  #match(method: string, path: string): { readonly route: Compiled; readonly params: Record<string, string> } | undefined {
    for (const route of this.#routes) {
      if (route.method !== method) continue;
      const found = route.pattern.exec(path);
      if (found === null) continue;
      const params = Object.fromEntries(Object.entries(found.groups ?? {}).map(([key, value]) => [key, decodeURIComponent(value)]));
      return { route, params };
    }
    return undefined;
  }

  #answer(
    call: Call,
    matched: { readonly route: Compiled; readonly params: Record<string, string> } | undefined,
    versioned: RegExpExecArray | null,
  ): { answer: Answer; headers: Record<string, string> } {
    if (matched === undefined) return { answer: { status: 404, body: { message: "404: Not Found", code: 0 } }, headers: {} };
    if (versioned !== null && versioned[1] !== "10")
      return { answer: { status: 400, body: { message: "Invalid API version", code: 50041 } }, headers: {} };
    if (matched.route.auth !== false && call.authorization !== `Bot ${this.#token()}`) {
      return { answer: { status: 401, body: { message: "401: Unauthorized", code: 0 } }, headers: {} };
    }
    const limited = this.#limit(matched.route.name, matched.params);
    if (limited.answer !== undefined) return { answer: limited.answer, headers: limited.headers };
    try {
      return { answer: matched.route.handle(call, matched.params), headers: limited.headers };
    } catch (error) {
      if (error instanceof ApiError) return { answer: { status: error.status, body: error.body }, headers: limited.headers };
      throw error;
    }
  }

  /** One bucket per route and channel; every answer carries the bucket's state, as on Discord. */
  #limit(route: string, params: Readonly<Record<string, string>>): { answer?: Answer; headers: Record<string, string> } {
    const rule = this.limits.get(route) ?? { limit: 200, windowMs: 1_000 };
    const key = `${route} ${params["channel"] ?? ""}`;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined || bucket.resetAt <= Date.now()) {
      bucket = { used: 0, resetAt: Date.now() + rule.windowMs };
      this.#buckets.set(key, bucket);
    }
    const resetAfter = (bucket.resetAt - Date.now()) / 1_000;
    if (bucket.used >= rule.limit) {
      return {
        answer: { status: 429, body: { message: "You are being rate limited.", retry_after: resetAfter, global: false } },
        headers: {
          ...limitHeaders(route, rule.limit, 0, resetAfter),
          "retry-after": String(Math.ceil(resetAfter)),
          "x-ratelimit-scope": "user",
        },
      };
    }
    bucket.used += 1;
    return { headers: limitHeaders(route, rule.limit, rule.limit - bucket.used, resetAfter) };
  }
}

function limitHeaders(route: string, limit: number, remaining: number, resetAfter: number): Record<string, string> {
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-reset-after": resetAfter.toFixed(3),
    "x-ratelimit-bucket": Buffer.from(route).toString("hex").slice(0, 32),
  };
}

function plannedAnswer(failure: Failure): { answer: Answer; headers: Record<string, string> } | undefined {
  if (failure.status === undefined) return undefined;
  if (failure.html === true) {
    const page = `<!DOCTYPE html><html><body><h1>${failure.status}</h1>cloudflare</body></html>`;
    return { answer: { status: failure.status, raw: { type: "text/html", content: new TextEncoder().encode(page) } }, headers: {} };
  }
  if (failure.status === 429) {
    const wait = failure.retryAfter ?? 1;
    return {
      answer: { status: 429, body: { message: "You are being rate limited.", retry_after: wait, global: failure.global ?? false } },
      headers: {
        "retry-after": String(wait),
        "x-ratelimit-scope": failure.global === true ? "global" : "shared",
        ...(failure.global === true ? { "x-ratelimit-global": "true" } : {}),
      },
    };
  }
  return {
    answer: {
      status: failure.status,
      body: {
        message: failure.message ?? "planned failure",
        code: failure.code ?? 0,
        ...(failure.errors === undefined ? {} : { errors: failure.errors }),
      },
    },
    headers: {},
  };
}

function write(response: ServerResponse, answer: Answer, headers: Record<string, string>): void {
  if (answer.raw !== undefined) {
    response.writeHead(answer.status, {
      ...headers,
      "content-type": answer.raw.type,
      "content-length": String(answer.raw.content.byteLength),
    });
    response.end(answer.raw.content);
    return;
  }
  if (answer.body === undefined) {
    response.writeHead(answer.status, headers).end();
    return;
  }
  response.writeHead(answer.status, { ...headers, "content-type": "application/json" }).end(JSON.stringify(answer.body));
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function parseBody(
  type: string | undefined,
  bytes: Buffer,
): Promise<{ body: Record<string, unknown>; list: readonly unknown[] | undefined; files: UploadedFile[] }> {
  if (type === undefined || bytes.byteLength === 0) return { body: {}, list: undefined, files: [] };
  if (type.startsWith("application/json")) {
    const parsed = JSON.parse(bytes.toString("utf8")) as unknown;
    return Array.isArray(parsed)
      ? { body: {}, list: parsed, files: [] }
      : { body: parsed as Record<string, unknown>, list: undefined, files: [] };
  }
  if (!type.startsWith("multipart/form-data")) return { body: {}, list: undefined, files: [] };
  const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
  const files: UploadedFile[] = [];
  let body: Record<string, unknown> = {};
  for (const [key, value] of form) {
    if (key === "payload_json" && typeof value === "string") body = JSON.parse(value) as Record<string, unknown>;
    else if (/^files\[\d+\]$/.test(key) && typeof value !== "string")
      files.push({ name: value.name, type: value.type, content: await value.text() });
  }
  return { body, list: undefined, files };
}
