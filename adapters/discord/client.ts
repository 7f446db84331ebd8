/**
 * How the discord.js client is set up: intents, caches without message contents, no hidden retries, and two hooks into
 * its socket layer. The library's own event handlers are contained: a packet they cannot digest would end the process.
 */
import type { Client, SimpleShardingStrategy, WebSocketOptions } from "discord.js";
import { errorText } from "../../src/domain/errors.js";
import type { Logger } from "../../src/ports/runtime.js";
import type { Sdk } from "./sdk.js";
import type { Timings } from "./timings.js";
import { restOptions } from "./transport.js";

/** The socket layer's manager; discord.js does not export the type under its own name. */
export type Manager = ConstructorParameters<typeof SimpleShardingStrategy>[0];

/** The socket layer's events; discord.js exports another enum under the name of theirs. */
interface ShardEvents {
  readonly hello: { readonly shardId: number };
  readonly ready: { readonly data: { readonly user: { readonly id: string }; readonly application: { readonly id: string } } };
  readonly resumed: { readonly shardId: number };
  readonly heartbeat: { readonly shardId: number };
  readonly dispatch: { readonly data: { readonly t: string; readonly d: unknown } };
  readonly closed: { readonly code: number; readonly shardId: number };
}

export interface ClientHooks {
  /** Called once, before anything connects. */
  attach(manager: Manager): void;
  /** Resolves when a login may be made. */
  loginTurn(signal: AbortSignal): Promise<void>;
}

export function makeClient(sdk: Sdk, apiUrl: string, timings: Timings, hooks: ClientHooks, logger: Logger): Client {
  const { Guilds, GuildMessages, MessageContent, DirectMessages } = sdk.GatewayIntentBits;
  const ws: WebSocketOptions = {
    buildStrategy: (manager) => {
      containErrors(manager, logger);
      hooks.attach(manager);
      return new sdk.SimpleShardingStrategy(manager);
    },
    buildIdentifyThrottler: () => ({ waitForIdentify: (_shard, signal) => hooks.loginTurn(signal) }),
  };
  const client = new sdk.Client({
    intents: [Guilds, GuildMessages, MessageContent, DirectMessages],
    partials: [sdk.Partials.Channel],
    allowedMentions: { parse: [] },
    makeCache: sdk.Options.cacheWithLimits({
      ...sdk.Options.DefaultMakeCacheSettings,
      MessageManager: 0,
      PresenceManager: 0,
      ReactionManager: 0,
      VoiceStateManager: 0,
    }),
    rest: restOptions(sdk, apiUrl, timings),
    ws,
  });
  const log = (what: string) => (error: Error) => logger.warn({ error: errorText(error) }, what);
  // Without these listeners the library's error events would end the process.
  client.on(sdk.Events.Error, log("the Discord client reported an error"));
  client.on(sdk.Events.ShardError, log("the Discord socket reported an error"));
  return client;
}

/** Listens to one of the socket layer's events. */
export function onShard<Name extends keyof ShardEvents>(
  manager: Manager,
  name: Name,
  listener: (payload: ShardEvents[Name]) => void,
): void {
  const on = manager.on.bind(manager) as unknown as (name: string, listener: (payload: ShardEvents[Name]) => void) => void;
  on(name, listener);
}

function containErrors(manager: Manager, logger: Logger): void {
  const emit: unknown = manager.emit.bind(manager);
  const contained = (...args: unknown[]): boolean => {
    try {
      return (emit as (...all: unknown[]) => boolean)(...args);
    } catch (error) {
      logger.warn({ error: errorText(error), event: String(args[0]) }, "the Discord client could not handle an event");
      return true;
    }
  };
  manager.emit = contained;
}
