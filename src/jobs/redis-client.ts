/**
 * Connections to Redis for the job queue. Every client made here has an error listener (a missing one ends the process) and is known by
 * name to whoever must close it: a forgotten one keeps the process alive.
 */
import type { Redis } from "ioredis";
import type { Logger } from "../ports/runtime.js";

export interface RedisClientDeps {
  readonly url: string;
  readonly logger: Logger;
  /** `answer`: a command fails at once when the server is away. `wait`: it waits for the server, as a worker must. */
  readonly whenAway: "answer" | "wait";
  /** Called each time the server has become reachable. */
  readonly onReady: () => void;
}

export interface RedisClients {
  readonly main: Redis;
  /** Ends the client and all copies that were made of it; nothing is sent any more. */
  disconnect(): void;
}

/** What a command without an answer is waited for, ms. */
export const answerMs = 5000;
const oldestVersion = 5;

/** Makes a client that connects on its own and keeps trying, at least every 2 s. The libraries are loaded here, on first use. */
export async function connectRedis({ url, logger, whenAway, onReady }: RedisClientDeps): Promise<RedisClients> {
  const { Redis: Client } = await import("ioredis");
  const all: Redis[] = [];
  let isLost = false;

  const main = new Client(url, {
    connectTimeout: 5000,
    retryStrategy: (tries) => Math.min(50 * 2 ** Math.min(tries, 10), 2000),
    ...(whenAway === "answer"
      ? { enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: answerMs, autoResendUnfulfilledCommands: false }
      : { maxRetriesPerRequest: null }),
  });

  function watch(client: Redis): void {
    all.push(client);
    client.on("error", (error: Error) => {
      if (client !== main || isLost) return;
      isLost = true;
      logger.warn({ error: error.message }, "Redis is away; the connection is tried again.");
    });
  }

  watch(main);
  main.on("ready", () => {
    if (isLost) logger.info({}, "Redis answers again.");
    isLost = false;
    onReady();
  });
  const duplicate = main.duplicate.bind(main);
  main.duplicate = (options) => {
    const copy = duplicate(options);
    watch(copy);
    return copy;
  };
  return {
    main,
    disconnect() {
      for (const client of all) client.disconnect();
    },
  };
}

export interface RedisState {
  readonly version: string;
  readonly evictionPolicy: string;
  /** What an operator should change, if anything. */
  readonly problems: readonly string[];
}

/** Asks the server what it is. Rejects when it does not answer. */
export async function inspectRedis(client: Redis): Promise<RedisState> {
  const info = await client.info();
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "unknown";
  const version = field("redis_version");
  const evictionPolicy = field("maxmemory_policy");
  const problems: string[] = [];
  if (Number.parseInt(version, 10) < oldestVersion) problems.push(`Redis ${version} is too old: at least ${oldestVersion}.0 is needed.`);
  if (evictionPolicy !== "noeviction") {
    problems.push(`Redis may evict waiting jobs: maxmemory-policy is ${evictionPolicy}; set it to noeviction.`);
  }
  return { version, evictionPolicy, problems };
}
