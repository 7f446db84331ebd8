/** The emulator's HTTP side: routes, request bodies, planned faults and flood limits. Answers exactly one JSON envelope per call, unless a fault says otherwise. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { methods, type Upload } from "./methods.js";
import { ApiError, type World } from "./model.js";
import type { UpdateQueue } from "./updates.js";

/** How calls of a method go wrong. Without `status`, `html502`, `hangUp` or `never` the call only waits for `delayMs`. */
export interface FaultPlan {
  /** How many calls; all of them until `clear` when left out. */
  readonly times?: number;
  readonly status?: number;
  readonly description?: string;
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
  readonly delayMs?: number;
  /** Cut the connection: `before` = nothing happened, `after` = the effect is stored and no answer is sent. */
  readonly hangUp?: "before" | "after";
  /** Answer 502 with an HTML page; `after` stores the effect first. */
  readonly html502?: "before" | "after";
  /** Never answer; `after` stores the effect first. */
  readonly never?: "before" | "after";
  /** Only calls for which this is true. */
  readonly match?: (params: Readonly<Record<string, unknown>>) => boolean;
}

export interface SeenCall {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly at: number;
  /** How it ended: HTTP status, or what the fault did. */
  readonly outcome: number | "hung-up" | "never";
}

export interface FloodLimits {
  readonly perChatPerSecond: number;
  readonly groupPerMinute: number;
  readonly botPerSecond: number;
}

export interface ServerOptions {
  readonly token: string;
  readonly me: () => object;
  readonly world: World;
  readonly updates: UpdateQueue;
  readonly flood?: FloodLimits;
  /** Accept http webhooks on 127.0.0.1. */
  readonly httpWebhooks: boolean;
  /** Extra routes under /control/ for other processes. */
  readonly control?: (path: string, body: unknown) => unknown;
}

type Ending = "before" | "after" | undefined;

export class BotApiServer {
  readonly calls: SeenCall[] = [];
  onCall: () => void = () => undefined;
  readonly #options: ServerOptions;
  readonly #plans: { method: string; left: number; plan: FaultPlan }[] = [];
  readonly #recent: { chat: string; at: number }[] = [];
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(port = 0): Promise<void> {
    const server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        if (!response.headersSent) reply(response, 500, { ok: false, error_code: 500, description: `emulator fault: ${String(error)}` });
      });
    });
    server.keepAliveTimeout = 5_000;
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  fail(method: string, plan: FaultPlan): () => void {
    const entry = { method, left: plan.times ?? Infinity, plan };
    this.#plans.push(entry);
    return () => {
      entry.left = 0;
    };
  }

  clearFaults(): void {
    this.#plans.length = 0;
  }

  /** Cuts every open connection; new ones work. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Stops listening and cuts everything, as a server that is down; `listen(port)` brings it back. */
  async down(): Promise<number> {
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) {
      const closed = new Promise((resolve) => server.close(resolve));
      this.cut();
      await closed;
    }
    return this.#port;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", this.url).pathname;
    if (path.startsWith("/control/") && this.#options.control !== undefined) {
      const { params } = await readBody(request);
      return reply(response, 200, { ok: true, result: this.#options.control(path.slice("/control/".length), params) ?? true });
    }
    const file = /^\/file\/bot([^/]+)\/(.+)$/.exec(path);
    if (file !== null) return this.#file(decodeURIComponent(file[1] ?? ""), decodeURIComponent(file[2] ?? ""), request, response);
    const match = /^\/bot([^/]+)\/(\w+)$/.exec(path);
    if (match === null) return reply(response, 404, { ok: false, error_code: 404, description: "Not Found" });
    const body = await readBody(request);
    const query = Object.fromEntries(new URL(request.url ?? "/", this.url).searchParams);
    const call = { params: { ...query, ...body.params }, files: body.files };
    await this.#call(decodeURIComponent(match[1] ?? ""), match[2] ?? "", call, request, response);
  }

  async #call(
    token: string,
    name: string,
    call: { params: Record<string, unknown>; files: ReadonlyMap<string, Upload> },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const method = this.#canonical(name);
    const seen = (outcome: SeenCall["outcome"]): void => {
      this.calls.push({ method: method ?? name, params: call.params, at: Date.now(), outcome });
      this.onCall();
    };
    const answer = (status: number, value: object): void => {
      if (response.destroyed || response.writableEnded) return;
      reply(response, status, value);
    };
    if (token !== this.#options.token) {
      seen(401);
      return answer(401, { ok: false, error_code: 401, description: "Unauthorized" });
    }
    if (method === undefined) {
      seen(404);
      return answer(404, { ok: false, error_code: 404, description: "Not Found: method not found" });
    }
    const plan = this.#plan(method, call.params);
    if (plan?.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, plan.delayMs));
    const cut = async (ending: Ending, outcome: "hung-up" | "never" | 502, end: () => void): Promise<boolean> => {
      if (ending === undefined) return false;
      if (ending === "after") await this.#run(method, call, response).catch(() => undefined);
      seen(outcome);
      end();
      return true;
    };
    if (await cut(plan?.hangUp, "hung-up", () => request.socket.destroy())) return;
    if (await cut(plan?.never, "never", () => undefined)) return;
    if (await cut(plan?.html502, 502, () => html(response))) return;
    try {
      if (plan?.status !== undefined) throw new ApiError(plan.status, plan.description ?? "Internal Server Error", plan.parameters);
      this.#flood(method, call.params);
      const result = await this.#run(method, call, response);
      seen(200);
      answer(200, { ok: true, result });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      seen(error.code);
      const parameters = error.parameters === undefined ? {} : { parameters: error.parameters };
      answer(error.code, { ok: false, error_code: error.code, description: error.message, ...parameters });
    }
  }

  async #run(
    method: string,
    call: { params: Record<string, unknown>; files: ReadonlyMap<string, Upload> },
    response: ServerResponse,
  ): Promise<unknown> {
    const { updates, world, me, httpWebhooks } = this.#options;
    switch (method) {
      case "getMe":
        return me();
      case "getUpdates":
        return updates.poll(call.params, (hangUp) => response.once("close", hangUp));
      case "setWebhook":
        return updates.setWebhook(call.params, httpWebhooks);
      case "deleteWebhook":
        return updates.deleteWebhook(call.params);
      case "getWebhookInfo":
        return updates.webhookInfo();
      default:
        return methods[method]?.(world, call);
    }
  }

  /** Method names are not case-sensitive on the wire. */
  #canonical(name: string): string | undefined {
    const all = [...Object.keys(methods), "getUpdates", "setWebhook", "deleteWebhook", "getWebhookInfo"];
    return all.find((each) => each.toLowerCase() === name.toLowerCase());
  }

  #plan(method: string, params: Readonly<Record<string, unknown>>): FaultPlan | undefined {
    const found = this.#plans.find((each) => each.method === method && each.left > 0 && (each.plan.match?.(params) ?? true));
    if (found === undefined) return undefined;
    found.left -= 1;
    return found.plan;
  }

  #flood(method: string, params: Readonly<Record<string, unknown>>): void {
    const limits = this.#options.flood;
    if (limits === undefined || !["sendMessage", "editMessageText", "sendDocument"].includes(method)) return;
    const now = Date.now();
    const chat = String(params["chat_id"]);
    while (this.#recent[0] !== undefined && this.#recent[0].at < now - 60_000) this.#recent.shift();
    const within = (ms: number, sameChat: boolean): number =>
      this.#recent.filter((each) => each.at > now - ms && (!sameChat || each.chat === chat)).length;
    const refuse = (seconds: number): never => {
      throw new ApiError(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
    };
    if (within(1000, true) >= limits.perChatPerSecond) refuse(1);
    if (within(1000, false) >= limits.botPerSecond) refuse(1);
    if (chat.startsWith("-") && within(60_000, true) >= limits.groupPerMinute) refuse(30);
    this.#recent.push({ chat, at: now });
  }

  #file(token: string, path: string, request: IncomingMessage, response: ServerResponse): void {
    const plan = this.#plan("file", { path });
    this.calls.push({ method: "file", params: { path }, at: Date.now(), outcome: plan?.status ?? 200 });
    if (plan?.hangUp !== undefined) return void request.socket.destroy();
    if (plan?.html502 !== undefined) return html(response);
    if (plan?.never !== undefined) return;
    const file = [...this.#options.world.files.values()].find((each) => each.path === path);
    if (token !== this.#options.token || file === undefined || plan?.status !== undefined) {
      const status = plan?.status ?? 404;
      return reply(response, status, { ok: false, error_code: status, description: "Not Found" });
    }
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": file.bytes.length });
    response.end(file.bytes);
  }
}

function reply(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

function html(response: ServerResponse): void {
  response.writeHead(502, { "content-type": "text/html" });
  response.end("<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>");
}

async function readBody(request: IncomingMessage): Promise<{ params: Record<string, unknown>; files: Map<string, Upload> }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";
  const files = new Map<string, Upload>();
  if (body.length === 0) return { params: {}, files };
  if (type.startsWith("application/json")) return { params: JSON.parse(body.toString()) as Record<string, unknown>, files };
  if (type.startsWith("application/x-www-form-urlencoded"))
    return { params: Object.fromEntries(new URLSearchParams(body.toString())), files };
  const boundary = /boundary=("?)([^";]+)\1/.exec(type)?.[2];
  if (boundary === undefined) throw new ApiError(400, "Bad Request: unknown content type");
  const params: Record<string, unknown> = {};
  for (const part of split(body, Buffer.from(`--${boundary}`))) {
    const head = part.indexOf("\r\n\r\n");
    if (head < 0) continue;
    const headers = part.subarray(0, head).toString();
    const content = part.subarray(head + 4, part.length - 2);
    const name = /name="([^"]*)"/.exec(headers)?.[1] ?? "";
    const filename = /filename="([^"]*)"/.exec(headers)?.[1];
    if (filename === undefined) params[name] = content.toString();
    else files.set(name, { name: filename, mimeType: /content-type:\s*(\S+)/i.exec(headers)?.[1] ?? "application/octet-stream", content });
  }
  return { params, files };
}

function split(body: Buffer, boundary: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let from = body.indexOf(boundary);
  while (from >= 0) {
    const next = body.indexOf(boundary, from + boundary.length);
    if (next < 0) break;
    parts.push(body.subarray(from + boundary.length, next));
    from = next;
  }
  return parts;
}
