/**
 * One discord.js client from login to its end. The trap: the library reconnects for ever by itself, with the same dead
 * session and without a pause, and goes on doing so when it is destroyed in the middle of it; this file bounds all three.
 */
import type { Client, ClientOptions, SimpleShardingStrategy } from "discord.js";
import { AdapterError, errorText } from "../../src/domain/errors.js";
import type { AdapterDeps, AdapterHealth } from "../../src/ports/platform-adapter.js";
import { fatalClose, startErrorOf } from "./failures.js";
import type { Sdk } from "./sdk.js";
import type { Timings } from "./timings.js";
import { restOptions } from "./transport.js";

type Manager = ConstructorParameters<typeof SimpleShardingStrategy>[0];

export interface ConnectionEvents {
  /** Every dispatch, as it came. Must not throw. */
  dispatch(type: string, data: unknown): void;
  /** A new session began: what happened before it was not and will not be sent. */
  newSession(self: { readonly userId: string; readonly applicationId: string }): void;
  /** No reconnect will mend it. At most once. */
  fatal(error: AdapterError): void;
}

/** The socket layer's events; discord.js exports another enum under the name of theirs. */
interface ShardEvents {
  readonly hello: { readonly shardId: number };
  readonly ready: { readonly data: { readonly user: { readonly id: string }; readonly application: { readonly id: string } } };
  readonly resumed: { readonly shardId: number };
  readonly heartbeat: { readonly shardId: number };
  readonly dispatch: { readonly data: { readonly t: string; readonly d: unknown } };
  readonly closed: { readonly code: number; readonly shardId: number };
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
  #state: AdapterHealth["state"] = "starting";
  #lastAliveAt: number | undefined;
  #closing = false;
  #opened = false;
  #fatal: AdapterError | undefined;
  /** Between HELLO and the end of a socket. */
  #socketOpen = false;
  /** A socket may be in the middle of being opened. */
  #dialling = false;
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
    this.client = new this.#sdk.Client(this.#clientOptions(options.settings.apiUrl));
    const log = (what: string) => (error: Error) => this.#deps.logger.warn({ error: errorText(error) }, what);
    // Without these listeners the library's error events would end the process.
    this.client.on(this.#sdk.Events.Error, log("the Discord client reported an error"));
    this.client.on(this.#sdk.Events.ShardError, log("the Discord socket reported an error"));
    this.client.rest.on(this.#sdk.RESTEvents.InvalidRequestWarning, (data) => this.#deps.logger.warn({ ...data }, "many refused requests: Discord may block this address"));
  }

  /** Logs in. Resolves at READY; rejects with AdapterError, and nothing is left open then. */
  async open(): Promise<void> {
    let cancel: () => void = () => undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      this.#giveUp = reject;
      cancel = this.#deps.clock.after(this.#timings.startMs, () => reject(new AdapterError("adapter.lost", "Discord's gateway did not answer in time")));
    });
    tooLate.catch(() => undefined);
    const login = this.client.login(this.#token);
    login.catch(() => undefined); // it may still reject after the deadline, when nobody waits any more
    try {
      await Promise.race([login, tooLate]);
      this.#opened = true;
    } catch (error) {
      const why = this.#fatal ?? startErrorOf(this.#sdk, error);
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

  #clientOptions(apiUrl: string): ClientOptions {
    const sdk = this.#sdk;
    const { Guilds, GuildMessages, MessageContent, DirectMessages } = sdk.GatewayIntentBits;
    return {
      intents: [Guilds, GuildMessages, MessageContent, DirectMessages],
      partials: [sdk.Partials.Channel],
      allowedMentions: { parse: [] },
      makeCache: sdk.Options.cacheWithLimits({ ...sdk.Options.DefaultMakeCacheSettings, MessageManager: 0, PresenceManager: 0, ReactionManager: 0, VoiceStateManager: 0 }),
      rest: restOptions(sdk, apiUrl, this.#timings),
      ws: {
        buildStrategy: (manager) => {
          this.#attach(manager);
          return new sdk.SimpleShardingStrategy(manager);
        },
      },
    };
  }

  #attach(manager: Manager): void {
    const on = manager.on.bind(manager) as unknown as <Name extends keyof ShardEvents>(name: Name, listener: (payload: ShardEvents[Name]) => void) => void;
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
    this.#contain(manager);
    on("hello", () => this.#hello());
    on("ready", ({ data }) => {
      this.#sessionStands();
      if (!this.#closing) this.#events.newSession({ userId: data.user.id, applicationId: data.application.id });
    });
    on("resumed", () => this.#sessionStands());
    on("heartbeat", () => {
      this.#lastAliveAt = this.#deps.clock.now();
    });
    on("dispatch", ({ data }) => {
      if (!this.#closing) this.#events.dispatch(data.t, data.d);
    });
    on("closed", ({ code, shardId }) => this.#closed(manager, code, shardId));
  }

  /** A packet that the library's own handlers cannot digest must not end the process. */
  #contain(manager: Manager): void {
    const emit = manager.emit.bind(manager) as (...args: unknown[]) => boolean;
    const contained = (...args: unknown[]): boolean => {
      try {
        return emit(...args);
      } catch (error) {
        this.#deps.logger.warn({ error: errorText(error), event: String(args[0]) }, "the Discord client could not handle an event");
        return true;
      }
    };
    manager.emit = contained as typeof manager.emit;
  }

  #hello(): void {
    this.#socketOpen = true;
    this.#lastAliveAt = this.#deps.clock.now();
    this.#settle();
    if (this.#closing) return;
    this.#cancelWatch();
    this.#cancelWatch = this.#deps.clock.after(this.#timings.sessionMs, () => this.#fail(new AdapterError("adapter.lost", "Discord's gateway opened but no session began")));
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
      this.#deps.logger.debug({ error: errorText(error) }, "closing the Discord client failed");
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
