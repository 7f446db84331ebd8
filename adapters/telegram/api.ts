/**
 * Calls to the Bot API through telegraf's client, each with a time limit and a record of how far the request came.
 * telegraf throws the same error for Telegram's own 5xx and for a proxy's HTML page, and says nothing about whether a
 * request left: the agent watches the request for that.
 */
import { Agent as HttpAgent, type ClientRequest } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import { Telegram } from "telegraf";
import type { Opts, Telegram as Methods } from "telegraf/types";
import type { Clock } from "../../src/ports/runtime.js";

/** How far one request came. */
export interface Progress {
  /** A connection stood (with TLS), so the request may have arrived. */
  connected: boolean;
  status: number | undefined;
  /** The answer was JSON, as Telegram's own answers are. */
  json: boolean;
  /** Why we ended it ourselves, if we did. */
  ended: "timeout" | "stopped" | undefined;
}

/** A call that failed, with telegraf's error as the cause. */
export class CallError extends Error {
  readonly progress: Progress;

  constructor(method: string, progress: Progress, cause: unknown) {
    super(`${method} failed${progress.ended === undefined ? "" : ` (${progress.ended})`}`, { cause });
    this.name = "CallError";
    this.progress = progress;
  }
}

export interface CallLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Free sockets are given up well before servers do: a send on a socket that the server closes at that moment has an unknown outcome. */
const freeSocketMs = 15_000;

export type Method = keyof Methods;

export class BotApi {
  readonly #token: string;
  readonly #apiRoot: string;
  readonly #clock: Clock;
  readonly #agent: HttpAgent;

  constructor({ token, apiRoot, clock }: { readonly token: string; readonly apiRoot: string; readonly clock: Clock }) {
    this.#token = token;
    // telegraf resolves "./bot<token>/…" against the root: without the slash a path in it would be lost.
    this.#apiRoot = apiRoot.endsWith("/") ? apiRoot : `${apiRoot}/`;
    this.#clock = clock;
    const options = { keepAlive: true, timeout: freeSocketMs, scheduling: "lifo" } as const;
    this.#agent = this.#apiRoot.startsWith("http://") ? new HttpAgent(options) : new HttpsAgent(options);
  }

  /** Makes one call. Rejects with CallError after the time limit, on abort, and on any failure; never repeats. */
  async call<M extends Method>(method: M, payload: Opts<M>, { timeoutMs, signal }: CallLimits): Promise<ReturnType<Methods[M]>> {
    const progress: Progress = { connected: false, status: undefined, json: false, ended: undefined };
    const abort = new AbortController();
    const end = (why: "timeout" | "stopped"): void => {
      progress.ended ??= why;
      abort.abort();
    };
    const onAbort = (): void => end("stopped");
    if (signal?.aborted === true) {
      progress.ended = "stopped";
      throw new CallError(method, progress, signal.reason);
    }
    signal?.addEventListener("abort", onAbort, { once: true });
    const cancel = this.#clock.after(timeoutMs, () => end("timeout"));
    try {
      return await this.#client(progress).callApi(method, payload, { signal: abort.signal as never });
    } catch (error) {
      throw new CallError(method, progress, error);
    } finally {
      cancel();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Address of a file for `fetch`; it holds the token, so it must never be logged. */
  fileUrl(path: string): URL {
    return new URL(`./file/bot${this.#token}/${path}`, this.#apiRoot);
  }

  close(): void {
    this.#agent.destroy();
  }

  /** One client per call, since the agent is the only place where a request can be watched. It holds no connection itself. */
  #client(progress: Progress): Telegram {
    const client = new Telegram(this.#token, { apiRoot: this.#apiRoot, webhookReply: false });
    client.options.agent = watching(this.#agent, progress); // the constructor drops the agent of an http root
    return client;
  }
}

interface RequestTaker {
  addRequest(request: ClientRequest, ...rest: unknown[]): void;
}

function watching(agent: HttpAgent, progress: Progress): HttpAgent {
  const taker = agent as unknown as RequestTaker;
  return Object.create(agent, {
    addRequest: {
      value(request: ClientRequest, ...rest: unknown[]): void {
        watch(request, progress);
        taker.addRequest(request, ...rest);
      },
    },
  }) as HttpAgent;
}

function watch(request: ClientRequest, progress: Progress): void {
  request.once("socket", (socket: Socket) => {
    // node-fetch adds a listener per request and takes it away late: on a busy kept-alive socket that is no leak.
    socket.setMaxListeners(100);
    const secure = "encrypted" in socket;
    if (!socket.connecting && (!secure || request.reusedSocket)) progress.connected = true;
    else socket.once(secure ? "secureConnect" : "connect", () => (progress.connected = true));
  });
  request.once("response", (response) => {
    progress.status = response.statusCode;
    progress.json = response.headers["content-type"]?.startsWith("application/json") ?? false;
  });
}
