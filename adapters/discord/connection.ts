/**
 * One discord.js client from login to its end. The trap: the library reconnects for ever by itself, with the same dead
 * session and without a pause, and goes on doing so when it is destroyed in the middle of it; this file bounds all three.
 */
import type { Client } from "discord.js";
import { AdapterError } from "../../src/domain/errors.js";
import type { AdapterDeps, AdapterHealth } from "../../src/ports/platform-adapter.js";
import { type Manager, makeClient, onShard } from "./client.js";
import { fatalClose, startErrorOf } from "./failures.js";
import type { Sdk } from "./sdk.js";
import type { Timings } from "./timings.js";

export interface ConnectionEvents {
  /** Every dispatch, as it came. Must not throw. */
  dispatch(type: string, data: unknown): void;
  /** A new session began: what happened before it was not and will not be sent. */
  newSession(self: { readonly userId: string; readonly applicationId: string }): void;
  /** No reconnect will mend it. At most once. */
  fatal(error: AdapterError): void;
}

/** A resume that fails so often is given up for a new login. */
const resumesBeforeLogin = 3;

export class Connection {
  readonly client: Client;
  readonly #sdk: Sdk;
  readonly #token: string;
  readonly #deps: AdapterDeps;
  readonly #timings: Timings;
  readonly #events: ConnectionEvents;
  #manager: Manager | undefined;
  #state: AdapterHealth["state"] = "starting";
  #lastAliveAt: number | undefined;
  #closing = false;
  #opened = false;
  #fatal: AdapterError | undefined;
  /** Between HELLO and the end of a socket. */
  #socketOpen = false;
  /** A socket may be in the middle of being opened. */
  #dialling = false;
  #nextLoginAt = 0;
  /** Sockets closed since the last READY or RESUMED. */
  #losses = 0;
  #pause: Promise<void> = Promise.resolve();
  #cancelPause: () => void = () => undefined;
  #cancelWatch: () => void = () => undefined;
  /** Ends a start that still waits. */
  #giveUp: (error: AdapterError) => void = () => undefined;
  #settled: (() => void)[] = [];

  constructor(options: {
    readonly sdk: Sdk;
    readonly settings: { readonly token: string; readonly apiUrl: string };
    readonly timings: Timings;
    readonly deps: AdapterDeps;
    readonly events: ConnectionEvents;
  }) {
    this.#sdk = options.sdk;
    this.#token = options.settings.token;
    this.#deps = options.deps;
    this.#timings = options.timings;
    this.#events = options.events;
    const hooks = { attach: (manager: Manager) => this.#attach(manager), loginTurn: (signal: AbortSignal) => this.#loginTurn(signal) };
    this.client = makeClient(this.#sdk, options.settings.apiUrl, this.#timings, hooks, this.#deps.logger);
  }

  /** Logs in. Resolves at READY; rejects with AdapterError, and nothing is left open then. */
  async open(): Promise<void> {
    let cancel: () => void = () => undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      this.#giveUp = reject;
      cancel = this.#deps.clock.after(this.#timings.startMs, () =>
        reject(new AdapterError("adapter.lost", "Discord's gateway did not answer in time")),
      );
    });
    tooLate.catch(() => undefined);
    const login = this.client.login(this.#token);
    login.catch(() => undefined); // it may still reject after the deadline, when nobody waits any more
    try {
      await Promise.race([login, tooLate]);
      this.#opened = true;
    } catch (error) {
      const why = this.#fatal ?? (await this.#noLoginLeft()) ?? startErrorOf(this.#sdk, error);
      this.#state = "failed";
      await this.close();
      throw why;
    } finally {
      cancel();
    }
  }

  /** Ends everything; resolves within `dialMs + closeMs`. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#cancelPause();
    this.#cancelWatch();
    this.#giveUp(new AdapterError("adapter.lost", "stopped while connecting"));
    if (this.#state !== "failed") this.#state = "stopped";
    if (this.#dialling) await this.#within(this.#timings.dialMs, new Promise<void>((resolve) => this.#settled.push(resolve)));
    // Destroying a socket that is being opened takes its error handler away; a late failure would end the process.
    // Such a socket is left to itself: at its HELLO or its failure `#settle` ends it.
    if (!this.#dialling) await this.#within(this.#timings.closeMs, this.#destroy());
  }

  health(): AdapterHealth {
    return { state: this.#state, lastAliveAt: this.#lastAliveAt, aliveWithinMs: this.#timings.aliveWithinMs };
  }

  #attach(manager: Manager): void {
    this.#manager = manager;
    manager.options.handshakeTimeout = Math.min(10_000, this.#timings.startMs);
    manager.options.helloTimeout = this.#timings.sessionMs;
    const stored = manager.options.retrieveSessionInfo.bind(manager.options);
    // Asked right before a socket is opened: the only place where a reconnect can be delayed, or stopped for good.
    manager.options.retrieveSessionInfo = async (shardId) => {
      if (this.#socketOpen) return stored(shardId);
      await this.#pause;
      if (this.#closing) return new Promise<never>(() => undefined);
      this.#dialling = true;
      return stored(shardId);
    };
    onShard(manager, "hello", () => this.#hello());
    onShard(manager, "ready", ({ data }) => {
      this.#sessionStands();
      if (!this.#closing) this.#events.newSession({ userId: data.user.id, applicationId: data.application.id });
    });
    onShard(manager, "resumed", () => this.#sessionStands());
    onShard(manager, "heartbeat", () => {
      this.#lastAliveAt = this.#deps.clock.now();
    });
    onShard(manager, "dispatch", ({ data }) => {
      if (!this.#closing) this.#events.dispatch(data.t, data.d);
    });
    onShard(manager, "closed", ({ code, shardId }) => this.#closed(manager, code, shardId));
  }

  /** Discord allows 1000 logins a day; the library says so in a sentence only, the numbers are in its cache. */
  async #noLoginLeft(): Promise<AdapterError | undefined> {
    try {
      const limit = (await this.#manager?.fetchGatewayInformation())?.session_start_limit;
      if (limit === undefined || limit.remaining > 0) return undefined;
      return new AdapterError("adapter.lost", "Discord allows no more logins for now", { retryAfterMs: limit.reset_after });
    } catch {
      return undefined; // never asked, or not answered: then this is not why the start failed
    }
  }

  /** Resolves when the next login may be made; rejects when the socket closed meanwhile. */
  async #loginTurn(signal: AbortSignal): Promise<void> {
    const now = this.#deps.clock.now();
    const wait = Math.max(0, this.#nextLoginAt - now);
    this.#nextLoginAt = now + wait + this.#timings.loginMs;
    if (wait === 0) return;
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#deps.clock.after(wait, resolve);
      signal.addEventListener("abort", () => {
        cancel();
        reject(new AdapterError("adapter.lost", "the socket closed before the login"));
      });
    });
  }

  #hello(): void {
    this.#socketOpen = true;
    this.#lastAliveAt = this.#deps.clock.now();
    this.#settle();
    if (this.#closing) return;
    this.#cancelWatch();
    this.#cancelWatch = this.#deps.clock.after(this.#timings.sessionMs, () =>
      this.#fail(new AdapterError("adapter.lost", "Discord's gateway opened but no session began")),
    );
  }

  #sessionStands(): void {
    this.#cancelWatch();
    this.#losses = 0;
    this.#lastAliveAt = this.#deps.clock.now();
    if (!this.#closing) this.#state = "connected";
  }

  #closed(manager: Manager, code: number, shardId: number): void {
    this.#socketOpen = false;
    this.#cancelWatch();
    this.#settle();
    if (this.#closing) return;
    const fatal = fatalClose(code);
    if (fatal !== undefined) {
      this.#fail(fatal);
      return;
    }
    if (this.#state === "connected") this.#state = "reconnecting";
    this.#losses += 1;
    this.#deps.logger.info({ code, losses: this.#losses }, "the connection to Discord was closed; it is built again");
    if (this.#losses > resumesBeforeLogin) void manager.options.updateSessionInfo(shardId, null);
    const wait = this.#losses < 2 ? 0 : Math.min(this.#timings.reconnectMs * 2 ** (this.#losses - 2), this.#timings.reconnectMaxMs);
    this.#pause = new Promise((resolve) => {
      const cancel = this.#deps.clock.after(wait, resolve);
      this.#cancelPause = () => {
        cancel();
        resolve();
      };
    });
  }

  #fail(error: AdapterError): void {
    if (this.#fatal !== undefined || this.#closing) return;
    this.#fatal = error;
    this.#state = "failed";
    if (this.#opened) this.#events.fatal(error);
  }

  /** The socket that was being opened is open or dead. */
  #settle(): void {
    this.#dialling = false;
    for (const resolve of this.#settled.splice(0)) resolve();
    if (this.#closing) void this.#destroy();
  }

  async #destroy(): Promise<void> {
    try {
      await this.client.destroy();
    } catch (error) {
      this.#deps.logger.debug({ error: String(error) }, "closing the Discord client failed");
    }
  }

  async #within(ms: number, what: Promise<void>): Promise<void> {
    let cancel: () => void = () => undefined;
    const limit = new Promise<void>((resolve) => {
      cancel = this.#deps.clock.after(ms, resolve);
    });
    await Promise.race([what, limit]);
    cancel();
  }
}
