/**
 * A strict stand-in for Slack on 127.0.0.1: Web API, Socket Mode, signed HTTP events and the file host, with a control
 * interface for tests. The file host has the API's origin; `elsewhere` is another host that records what reaches it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { EventSource, type Delivery } from "./event-source.js";
import { callMethod, type Answer, type ApiContext } from "./web-api.js";
import { messageJson, Workspace, type SlackFile, type SlackMessage } from "./workspace.js";

export const allScopes: readonly string[] = [
  "app_mentions:read",
  "channels:history",
  "channels:read",
  "chat:write",
  "commands",
  "files:read",
  "files:write",
  "groups:history",
  "groups:read",
  "im:history",
  "im:read",
  "im:write",
  "mpim:history",
  "mpim:read",
  "reactions:write",
  "users:read",
];

export interface Failure {
  readonly times?: number;
  /** A refusal of Slack with this code. */
  readonly error?: string;
  readonly more?: Answer;
  readonly status?: number;
  /** Seconds of the Retry-After header; gives a 429. */
  readonly retryAfter?: number;
  /** Cut the connection without or with the effect. */
  readonly hangup?: "before" | "after";
  /** Do it, but never answer. */
  readonly silent?: boolean;
  readonly html?: boolean;
  readonly delayMs?: number;
}

export interface Call {
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly token: string | undefined;
  readonly at: number;
}

export interface Spoken {
  readonly channel: string;
  readonly user: string;
  readonly text: string;
  readonly threadTs?: string;
  readonly files?: readonly SlackFile[];
  readonly subtype?: string;
  /** More fields of the event. */
  readonly more?: Record<string, unknown>;
  /** Pause between the `message` event and the `app_mention` event. */
  readonly mentionGapMs?: number;
  /** Send only one of the two events of a mention. */
  readonly only?: "message" | "app_mention";
}

export interface EmulatorOptions {
  readonly redeliverMs?: number;
  readonly maxAttempts?: number;
}

export class SlackEmulator {
  readonly workspace = new Workspace();
  readonly botToken = "xoxb-emulator-token";
  readonly appToken = "xapp-emulator-token";
  readonly signingSecret = "emulator-signing-secret";
  readonly scopes = new Set<string>(allScopes);
  appScopes = new Set<string>(["connections:write"]);
  readonly calls: Call[] = [];
  readonly fileRequests: { readonly path: string; readonly authorization: string | undefined }[] = [];
  readonly elsewhereRequests: { readonly path: string; readonly authorization: string | undefined }[] = [];
  /** What was posted to response addresses of commands. */
  readonly responses: { readonly path: string; readonly body: Record<string, unknown> }[] = [];
  /** Path → address: the file host redirects there. */
  readonly redirects = new Map<string, string>();
  readonly source: EventSource;
  readonly #failures = new Map<string, { failure: Failure; left: number }[]>();
  readonly #uploads: ApiContext["uploads"] = new Map();
  readonly #waiters = new Set<() => void>();
  readonly #server: Server;
  readonly #elsewhere: Server;
  #port = 0;
  #elsewherePort = 0;

  constructor(options: EmulatorOptions = {}) {
    this.source = new EventSource({
      redeliverMs: options.redeliverMs ?? 3_000,
      maxAttempts: options.maxAttempts ?? 4,
      signingSecret: this.signingSecret,
      changed: () => this.#changed(),
    });
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        response.writeHead(599).end(String(error));
      });
    });
    this.#server.on("upgrade", (request, socket, head) => this.source.upgrade(request, socket, head));
    this.#elsewhere = createServer((request, response) => {
      this.elsewhereRequests.push({ path: request.url ?? "", authorization: request.headers.authorization });
      response.writeHead(200, { "content-type": "image/png" }).end(Buffer.from("stolen"));
    });
  }

  async start(): Promise<this> {
    this.#port = await listen(this.#server, this.#port);
    this.#elsewherePort = await listen(this.#elsewhere, 0);
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }
  get apiUrl(): string {
    return `${this.origin}/api/`;
  }
  get fileHost(): string {
    return `127.0.0.1:${this.#port}`;
  }
  get elsewhereOrigin(): string {
    return `http://127.0.0.1:${this.#elsewherePort}`;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const url = new URL(request.url ?? "/", this.origin);
    if (url.pathname.startsWith("/api/")) await this.#api(url.pathname.slice(5), request, body, response);
    else if (url.pathname.startsWith("/upload/v1/")) await this.#upload(url.pathname.slice(11), request, body, response);
    else if (url.pathname.startsWith("/files-pri/")) this.#file(url.pathname, request, response);
    else if (url.pathname.startsWith("/commands/")) {
      this.responses.push({ path: url.pathname, body: JSON.parse(body.toString("utf8")) as Record<string, unknown> });
      response.writeHead(200, { "content-type": "text/plain" }).end("ok");
      this.#changed();
    } else response.writeHead(404).end();
  }

  async #api(method: string, request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    if (request.method !== "POST" && request.method !== "GET") return void response.writeHead(405).end();
    const args = parseArgs(request, body);
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    const token = bearer ?? (typeof args["token"] === "string" ? args["token"] : undefined);
    this.calls.push({ method, args, token, at: Date.now() });
    this.#changed();
    const failure = this.#takeFailure(method);
    if (failure?.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, failure.delayMs));
    if (failure?.hangup === "before") return void request.socket.destroy();
    if (failure?.retryAfter !== undefined) {
      return void response
        .writeHead(429, { "retry-after": String(failure.retryAfter), "content-type": "application/json" })
        .end(JSON.stringify({ ok: false, error: "ratelimited" }));
    }
    if (failure?.html === true) {
      return void response.writeHead(failure.status ?? 502, { "content-type": "text/html" }).end("<!DOCTYPE html><h1>Server Error</h1>");
    }
    if (failure?.error !== undefined) {
      return void this.#json(response, failure.status ?? 200, { ok: false, error: failure.error, ...failure.more });
    }
    const answer = this.#answer(method, args, token);
    if (failure?.hangup === "after") return void request.socket.destroy();
    if (failure?.silent === true) return;
    this.#json(response, 200, answer, method === "auth.test" && answer["ok"] === true);
  }

  #answer(method: string, args: Record<string, unknown>, token: string | undefined): Answer {
    if (token === undefined) return { ok: false, error: "not_authed" };
    const app = method.startsWith("apps.connections.");
    if (token !== this.botToken && token !== this.appToken) return { ok: false, error: "invalid_auth" };
    if (app !== (token === this.appToken)) return { ok: false, error: "not_allowed_token_type" };
    if (app && !this.appScopes.has("connections:write")) {
      return { ok: false, error: "missing_scope", needed: "connections:write", provided: [...this.appScopes].join(",") };
    }
    return callMethod(
      {
        workspace: this.workspace,
        scopes: this.scopes,
        origin: this.origin,
        changed: () => this.#changed(),
        openSocket: () => ({ ok: true, url: `ws://127.0.0.1:${this.#port}/link?ticket=${this.workspace.nextId("K")}` }),
        uploads: this.#uploads,
      },
      method,
      args,
    );
  }

  #json(response: ServerResponse, status: number, answer: Answer, withScopes = false): void {
    response
      .writeHead(status, {
        "content-type": "application/json; charset=utf-8",
        ...(withScopes ? { "x-oauth-scopes": [...this.scopes].join(",") } : {}),
      })
      .end(JSON.stringify(answer));
  }

  async #upload(id: string, request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const failure = this.#takeFailure("upload");
    if (failure?.hangup !== undefined) return void request.socket.destroy();
    if (failure?.status !== undefined) return void response.writeHead(failure.status).end("error");
    const upload = this.#uploads.get(id);
    if (upload === undefined) return void response.writeHead(404).end("no such upload");
    const type = request.headers["content-type"] ?? "application/octet-stream";
    let bytes = body;
    if (type.startsWith("multipart/form-data")) {
      const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
      const file = [...form.values()].find((value) => typeof value !== "string");
      bytes = file === undefined ? Buffer.alloc(0) : Buffer.from(await (file as Blob).arrayBuffer());
    }
    if (bytes.length !== upload.length) return void response.writeHead(400).end(`expected ${upload.length} bytes, got ${bytes.length}`);
    upload.bytes = bytes;
    response.writeHead(200, { "content-type": "text/plain" }).end(`OK - ${bytes.length}`);
  }

  #file(path: string, request: IncomingMessage, response: ServerResponse): void {
    this.fileRequests.push({ path, authorization: request.headers.authorization });
    const redirect = this.redirects.get(path);
    if (redirect !== undefined) return void response.writeHead(302, { location: redirect }).end();
    const found = this.workspace.files.get(path.split("/").at(-2)?.split("-").at(-1) ?? "");
    const allowed = request.headers.authorization === `Bearer ${this.botToken}` && this.scopes.has("files:read");
    if (!allowed) {
      return void response
        .writeHead(200, { "content-type": "text/html; charset=utf-8" })
        .end("<!DOCTYPE html><html><title>Slack sign in</title></html>");
    }
    if (found === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": found.mimeType, "content-length": found.bytes.length }).end(found.bytes);
  }

  #takeFailure(method: string): Failure | undefined {
    const list = this.#failures.get(method);
    const first = list?.[0];
    if (list === undefined || first === undefined) return undefined;
    first.left -= 1;
    if (first.left <= 0) list.shift();
    return first.failure;
  }

  #changed(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }

  // ---- control ----

  /** The next `times` (1) calls of the method (or of "upload") fail like this. */
  fail(method: string, failure: Failure): void {
    const list = this.#failures.get(method) ?? [];
    list.push({ failure, left: failure.times ?? 1 });
    this.#failures.set(method, list);
  }

  /** All messages of the bot, in order of arrival. */
  sent(): readonly (SlackMessage & { readonly channel: string })[] {
    return [...this.workspace.channels.values()]
      .flatMap((channel) =>
        channel.messages
          .filter((message) => message.user === this.workspace.botUser.id)
          .map((message) => Object.assign(message, { channel: channel.id })),
      )
      .toSorted((a, b) => Number(a.ts) - Number(b.ts));
  }

  callsOf(method: string): readonly Call[] {
    return this.calls.filter((call) => call.method === method);
  }

  /** Acknowledged deliveries with their latency. */
  acks(): readonly Delivery[] {
    return this.source.deliveries.filter((delivery) => delivery.acked);
  }

  async waitFor(condition: () => boolean, what = "the condition", timeoutMs = 5_000): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(look);
        reject(new Error(`not within ${timeoutMs} ms: ${what}`));
      }, timeoutMs);
      const look = (): void => {
        if (!condition()) return;
        clearTimeout(timer);
        this.#waiters.delete(look);
        resolve();
      };
      this.#waiters.add(look);
      look();
    });
  }

  /** Stores bytes at the file host and gives the file object that a message event carries. */
  addFile(name: string, mimeType: string, bytes: Buffer, more: Record<string, unknown> = {}): SlackFile {
    const id = this.workspace.nextId("F");
    const url = `${this.origin}/files-pri/${this.workspace.teamId}-${id}/${encodeURIComponent(name)}`;
    const file: SlackFile = {
      id,
      name,
      title: name,
      mimetype: mimeType,
      filetype: name.split(".").at(-1) ?? "",
      size: bytes.length,
      mode: "hosted",
      is_external: false,
      url_private: url,
      url_private_download: url,
      ...more,
    };
    this.workspace.files.set(id, { file, bytes, mimeType });
    return file;
  }

  /** Brings one Events API event to the app. */
  event(event: Record<string, unknown>, envelope: Record<string, unknown> = {}): Delivery {
    const id = this.workspace.nextId("Ev");
    return this.source.send("events_api", id, {
      token: "verification",
      team_id: this.workspace.teamId,
      api_app_id: this.workspace.appId,
      type: "event_callback",
      event_id: id,
      event_time: Math.floor(Date.now() / 1000),
      authorizations: [
        {
          enterprise_id: null,
          team_id: this.workspace.teamId,
          user_id: this.workspace.botUser.id,
          is_bot: true,
          is_enterprise_install: false,
        },
      ],
      is_ext_shared_channel: false,
      event,
      ...envelope,
    });
  }

  /** A person (or a bot) writes. A mention of the bot outside DMs gives two events with the same `ts`. */
  say(spoken: Spoken): { readonly ts: string; readonly deliveries: readonly Delivery[] } {
    const channel = this.workspace.channels.get(spoken.channel);
    if (channel === undefined) throw new Error(`no channel ${spoken.channel}`);
    const user = this.workspace.users.get(spoken.user);
    const message: SlackMessage = {
      ts: this.workspace.nextTs(),
      user: spoken.user,
      ...(user?.botId === undefined ? {} : { botId: user.botId }),
      text: spoken.text,
      ...(spoken.threadTs === undefined ? {} : { threadTs: spoken.threadTs }),
      ...(spoken.files === undefined ? {} : { files: spoken.files }),
      ...(spoken.subtype === undefined ? {} : { subtype: spoken.subtype }),
      reactions: new Map(),
      history: [],
    };
    channel.messages.push(message);
    const root = channel.messages.find((item) => item.ts === spoken.threadTs);
    const base = {
      ...messageJson(this.workspace, message, false),
      channel: channel.id,
      event_ts: message.ts,
      client_msg_id: `c-${message.ts}`,
      ...(root === undefined ? {} : { parent_user_id: root.user }),
      ...spoken.more,
    };
    const deliveries: Delivery[] = [];
    const mentioned =
      spoken.text.includes(`<@${this.workspace.botUser.id}>`) &&
      channel.kind !== "im" &&
      (spoken.subtype === undefined || spoken.subtype === "file_share");
    if (spoken.only !== "app_mention") deliveries.push(this.event({ ...base, channel_type: channel.kind }));
    if (mentioned && spoken.only !== "message") {
      const { subtype: _subtype, ...mention } = base as Record<string, unknown>;
      const send = (): void => void deliveries.push(this.event({ ...mention, type: "app_mention" }));
      if (spoken.mentionGapMs === undefined) send();
      else setTimeout(send, spoken.mentionGapMs);
    }
    return { ts: message.ts, deliveries };
  }

  /** A person changes a message. */
  change(channelId: string, ts: string, text: string): Delivery {
    const message = this.workspace.find(channelId, ts);
    const channel = this.workspace.channels.get(channelId);
    if (message === undefined || channel === undefined) throw new Error(`no message ${ts} in ${channelId}`);
    const previous = messageJson(this.workspace, message, false);
    message.text = text;
    const editTs = this.workspace.nextTs();
    return this.event({
      type: "message",
      subtype: "message_changed",
      channel: channelId,
      channel_type: channel.kind,
      ts: editTs,
      event_ts: editTs,
      hidden: true,
      message: { ...messageJson(this.workspace, message, false), edited: { user: message.user, ts: editTs } },
      previous_message: previous,
    });
  }

  /** `/mneme …` typed by a person. Slack refuses slash commands in threads, so there is no thread. */
  slash(options: { readonly channel: string; readonly user: string; readonly text: string; readonly command?: string }): Delivery {
    const channel = this.workspace.channels.get(options.channel);
    const trigger = this.workspace.nextId("8.9.");
    const names = { im: "directmessage", mpim: channel?.name ?? "", channel: channel?.name ?? "", group: "privategroup" };
    return this.source.send("slash_commands", trigger, {
      token: "verification",
      team_id: this.workspace.users.get(options.user)?.teamId ?? this.workspace.teamId,
      team_domain: "home",
      channel_id: options.channel,
      channel_name: names[channel?.kind ?? "channel"],
      user_id: options.user,
      user_name: this.workspace.users.get(options.user)?.name ?? "",
      command: options.command ?? "/mneme",
      text: options.text,
      api_app_id: this.workspace.appId,
      is_enterprise_install: "false",
      response_url: `${this.origin}/commands/${trigger}`,
      trigger_id: trigger,
    });
  }

  /** A person presses the button with this value under a message. */
  press(options: { readonly channel: string; readonly ts: string; readonly user: string; readonly value: string }): Delivery {
    const message = this.workspace.find(options.channel, options.ts);
    const channel = this.workspace.channels.get(options.channel);
    const user = this.workspace.users.get(options.user);
    const trigger = this.workspace.nextId("7.6.");
    const buttons = (message?.blocks ?? []).flatMap((block) =>
      Array.isArray(block["elements"]) ? (block["elements"] as Record<string, unknown>[]) : [],
    );
    const button = buttons.find((item) => item["value"] === options.value);
    return this.source.send("interactive", trigger, {
      type: "block_actions",
      user: { id: options.user, username: user?.name, name: user?.name, team_id: user?.teamId },
      api_app_id: this.workspace.appId,
      token: "verification",
      container: {
        type: "message",
        message_ts: options.ts,
        channel_id: options.channel,
        is_ephemeral: false,
        ...(message?.threadTs === undefined ? {} : { thread_ts: message.threadTs }),
      },
      trigger_id: trigger,
      team: { id: this.workspace.teamId, domain: "home" },
      enterprise: null,
      is_enterprise_install: false,
      channel: { id: options.channel, name: channel?.kind === "im" ? "directmessage" : channel?.name },
      ...(message === undefined ? {} : { message: messageJson(this.workspace, message, false) }),
      response_url: `${this.origin}/commands/${trigger}`,
      actions: [
        {
          type: "button",
          block_id: "b1",
          action_id: button?.["action_id"] ?? "a1",
          value: options.value,
          action_ts: this.workspace.nextTs(),
        },
      ],
    });
  }

  /** From now on events go to this address, signed, instead of a socket. */
  useHttp(url: string): void {
    this.source.httpUrl = url;
  }

  /** Refuses connections until `reopen`. */
  async close(): Promise<void> {
    this.source.cut();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async reopen(): Promise<void> {
    await listen(this.#server, this.#port);
  }

  async stop(): Promise<void> {
    await this.source.stop();
    for (const server of [this.#server, this.#elsewhere]) {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    }
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.removeListener("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function parseArgs(request: IncomingMessage, body: Buffer): Record<string, unknown> {
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("application/json")) return JSON.parse(body.toString("utf8")) as Record<string, unknown>;
  const query = new URL(request.url ?? "/", "http://localhost").searchParams;
  return Object.fromEntries([...query, ...new URLSearchParams(body.toString("utf8"))]);
}
