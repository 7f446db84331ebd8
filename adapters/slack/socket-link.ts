/**
 * Keeps one Socket Mode connection up. The library's own reconnecting is off: it waits 5 s, and a failed attempt becomes
 * an unhandled rejection that ends the process. Each connection is a new client, so no state is carried over.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { App, SocketModeReceiver } from "@slack/bolt";
import { AdapterError, errorText } from "../../src/domain/errors.js";
import type { Clock, Logger } from "../../src/ports/runtime.js";
import { isAuthCode, neededScope, platformCode } from "./api-errors.js";
import { boltLogger, type BoltModule } from "./bolt.js";
import { asFields } from "./fields.js";
import { lateAck } from "./late-ack.js";
import { parseFrame } from "./socket-frames.js";
import type { Timing } from "./timing.js";

export interface SocketLinkDeps {
  readonly bolt: BoltModule;
  readonly app: App;
  readonly appToken: string;
  readonly apiUrl: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timing: Timing;
  /** The link cannot be mended from here (credentials). Called at most once, after `start` resolved. */
  readonly onFailed: (error: AdapterError) => void;
}

type Client = SocketModeReceiver["client"];

interface Connection {
  readonly client: Client;
  readonly openedAt: number;
  readonly ended: Promise<void>;
  /** Slack's reason when it asked for a new connection. */
  asked?: string;
}

const pingChannels = ["undici:websocket:ping", "undici:websocket:pong"] as const;

export class SocketLink {
  state: "stopped" | "starting" | "connected" | "reconnecting" | "failed" = "stopped";
  lastAliveAt: number | undefined;
  readonly #deps: SocketLinkDeps;
  #current: Connection | undefined;
  #stopped = false;
  #wake: () => void = () => undefined;
  #cancelWatch: () => void = () => undefined;
  readonly #onPing = (message: unknown): void => {
    const socket = asFields(message)?.["websocket"];
    if (socket !== undefined && socket === rawSocket(this.#current?.client)) this.#alive();
  };

  constructor(deps: SocketLinkDeps) {
    this.#deps = deps;
  }

  /** Connects. Resolves at Slack's hello; rejects with AdapterError when Slack cannot be reached or refuses. */
  async start(): Promise<void> {
    this.state = "starting";
    for (const name of pingChannels) subscribe(name, this.#onPing);
    const until = this.#deps.clock.now() + this.#deps.timing.helloMs;
    let connection = await this.#connect();
    while (connection === "again" && !this.#stopped && this.#deps.clock.now() < until) {
      await this.#pause(this.#deps.timing.reconnectMs.first);
      connection = await this.#connect();
    }
    if (this.#stopped || connection === "again" || connection instanceof AdapterError) {
      await this.stop();
      throw connection instanceof AdapterError
        ? connection
        : new AdapterError("adapter.lost", "Slack closed the connection before its hello");
    }
    this.#watch();
    this.#keepUp(connection).catch((error: unknown) => {
      this.#fail(new AdapterError("adapter.lost", `the Socket Mode loop ended: ${errorText(error)}`, { cause: error }));
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    this.#cancelWatch();
    for (const name of pingChannels) unsubscribe(name, this.#onPing);
    const connection = this.#current;
    this.#current = undefined;
    this.state = "stopped";
    if (connection !== undefined) await this.#drop(connection.client);
  }

  async #keepUp(first: Connection): Promise<void> {
    const { clock, timing, logger } = this.#deps;
    let connection: Connection | "again" | AdapterError = first;
    let failures = 0;
    for (;;) {
      let asked = false;
      failures += 1;
      if (connection instanceof AdapterError) {
        if (connection.code !== "adapter.lost") return this.#fail(connection);
        logger.warn({ error: connection.message, failures }, "could not connect to Slack again");
      } else if (connection !== "again") {
        logger.info({}, "connected to Slack");
        await connection.ended;
        // A connection that did not last counts as a failure, so that ends in quick succession are not met with haste.
        if (clock.now() - connection.openedAt >= timing.reconnectMs.longest) failures = 0;
        asked = connection.asked !== undefined && failures <= 1;
        await this.#drop(connection.client);
        if (connection.asked === "link_disabled") return this.#fail(socketModeOff());
      }
      if (this.#stopped) return;
      this.state = "reconnecting";
      if (!asked) await this.#pause(this.#wait(failures));
      if (this.#stopped) return;
      connection = await this.#connect();
    }
  }

  /** Grows from attempt to attempt, spread by a quarter, so that many gateways do not come back at once. */
  #wait(failures: number): number {
    const { first, longest } = this.#deps.timing.reconnectMs;
    return Math.min(longest, first * 2 ** Math.min(Math.max(failures - 1, 0), 10)) * (0.75 + Math.random() / 2);
  }

  #fail(error: AdapterError): void {
    if (this.#stopped) return;
    this.state = "failed";
    this.#deps.onFailed(error);
  }

  /** "again": Slack or the network closed it before hello. */
  async #connect(): Promise<Connection | "again" | AdapterError> {
    const { bolt, app, appToken, apiUrl, logger, timing, clock } = this.#deps;
    const receiver = new bolt.SocketModeReceiver({
      appToken,
      logger: boltLogger(bolt, logger),
      autoReconnectEnabled: false,
      clientPingTimeout: timing.pongMs,
      serverPingTimeout: timing.aliveMs,
      installerOptions: {
        clientOptions: { slackApiUrl: apiUrl, retryConfig: { retries: 0 }, timeout: timing.callMs, rejectRateLimitedCalls: true },
      },
      processEventErrorHandler: ({ error }) => {
        logger.warn({ error: errorText(error) }, "an event was not stored and stays unacknowledged; Slack sends it again");
        return Promise.resolve(false);
      },
    });
    receiver.init(lateAck(app));
    const { client } = receiver;
    let end: () => void = () => undefined;
    const connection: Connection = { client, openedAt: clock.now(), ended: new Promise((resolve) => (end = resolve)) };
    client.on("disconnected", end);
    this.#guardFrames(client, connection);
    this.#current = connection;
    let cancel: () => void = () => undefined;
    const late = new Promise<"late">((resolve) => {
      cancel = clock.after(timing.helloMs, () => resolve("late"));
    });
    try {
      const opened = await Promise.race([
        receiver.start().then(() => "open" as const),
        late,
        connection.ended.then(() => "ended" as const),
      ]);
      if (opened === "open" && !this.#stopped) {
        this.state = "connected";
        this.#alive();
        return connection;
      }
      await this.#drop(client);
      return opened === "late" ? new AdapterError("adapter.lost", "Slack sent no hello in time") : "again";
    } catch (error) {
      await this.#drop(client);
      if (connection.asked === "link_disabled") return socketModeOff();
      return error === undefined || connection.asked !== undefined ? "again" : connectError(error); // the library rejects with nothing for a closed socket
    } finally {
      cancel();
    }
  }

  /** Frames reach the library only when they have the form it expects: its reader rejects on others and nobody catches it. */
  #guardFrames(client: Client, connection: Connection): void {
    client.removeAllListeners("ws_message");
    client.on("ws_message", (data: unknown, isBinary: boolean) => {
      this.#alive();
      const frame = typeof data === "string" && !isBinary ? parseFrame(data) : undefined;
      if (frame === undefined) {
        this.#deps.logger.warn({}, "Slack sent a frame that cannot be read; ignored");
        return;
      }
      if (frame.type === "disconnect") connection.asked = frame.reason ?? "";
      client["onWebSocketMessage"](data as string, false).catch((error: unknown) => {
        this.#deps.logger.warn({ error: errorText(error) }, "a Socket Mode frame failed");
      });
    });
  }

  #alive(): void {
    this.lastAliveAt = this.#deps.clock.now();
  }

  /** Our own look at the age of the last frame, ping or pong: a connection that only seems open is dropped. */
  #watch(): void {
    const { clock, timing, logger } = this.#deps;
    this.#cancelWatch = clock.after(Math.max(50, timing.aliveMs / 4), () => {
      const connection = this.#current;
      if (this.state === "connected" && connection !== undefined && clock.now() - (this.lastAliveAt ?? 0) > timing.aliveMs) {
        logger.warn({ lastAliveAt: this.lastAliveAt }, "the Slack socket is silent; a new one is opened");
        this.#drop(connection.client).catch((error: unknown) => logger.warn({ error: errorText(error) }, "closing a silent socket failed"));
      }
      if (!this.#stopped) this.#watch();
    });
  }

  /** Closes a client for certain: in good order first, then by taking the socket away. Also one that is still opening. */
  async #drop(client: Client): Promise<void> {
    const gone = new Promise<void>((resolve) => client.once("disconnected", () => resolve()));
    // Its address may still be on the way: the socket that is then opened is closed at once.
    client.on("connecting", () => setImmediate(() => client.websocket?.disconnect()));
    const closing = client.disconnect().then(
      () => undefined,
      () => undefined, // it was closed already: that is what was wanted
    );
    let cancel: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.#deps.clock.after(this.#deps.timing.closeMs, resolve);
    });
    await Promise.race([gone, closing, late]);
    cancel();
    if (rawSocket(client) !== undefined) takeAway(client);
  }

  #pause(ms: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(ms, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** What the library keeps to itself about its socket; a test fails when a new version keeps it elsewhere. */
interface Inner {
  readonly websocket: object | null;
  cleanup(): void;
}

function rawSocket(client: Client | undefined): object | undefined {
  return (client?.websocket as unknown as Inner | undefined)?.websocket ?? undefined;
}

/** Destroys the connection below the socket: a peer that is gone never answers a close frame. */
function takeAway(client: Client): void {
  (client.websocket as unknown as Inner | undefined)?.cleanup();
}

function socketModeOff(): AdapterError {
  return new AdapterError(
    "adapter.setup",
    "Socket Mode is turned off in the settings of the Slack app; turn it on, or set slack.mode to http",
  );
}

function connectError(error: unknown): AdapterError {
  const code = platformCode(error);
  if (code === "missing_scope") {
    return new AdapterError("adapter.setup", `slack.appToken lacks the scope ${neededScope(error) ?? "connections:write"}`, {
      cause: error,
    });
  }
  if (isAuthCode(code)) return new AdapterError("adapter.auth", `Slack refuses slack.appToken: ${code ?? ""}`, { cause: error });
  return new AdapterError("adapter.lost", `apps.connections.open: ${code ?? errorText(error)}`, { cause: error });
}
