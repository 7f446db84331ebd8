/**
 * A real Redis server on a free port with a folder of its own. Where no server is installed the suites skip and say so; with CI=true a
 * missing server is a failure.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { removeHome, tempHome } from "./temp-home.js";

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Starts it again on the same port. What it knew is gone, unless it was started with `keepData`. */
  start(): Promise<void>;
  /** Kills it; clients see a lost connection. */
  stop(): Promise<void>;
  /** One command over a connection of its own. */
  command(name: string, ...args: string[]): Promise<unknown>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

/** Undefined when a server can be started; otherwise why the suite is skipped. Throws with CI=true. */
export function missingRedis(): string | undefined {
  const found = spawnSync("redis-server", ["--version"], { encoding: "utf8" });
  if (found.status === 0) return undefined;
  const reason =
    "SKIPPED: no redis-server on this machine. Install it (Debian: apt-get install redis-server) to run the tests of the Redis queue.";
  if (process.env["CI"] === "true") throw new Error(reason);
  process.stderr.write(`\n*** ${reason}\n`);
  return reason;
}

export async function startRedis(options: { readonly keepData?: boolean } = {}): Promise<RedisServer> {
  const home = tempHome({ keep: true });
  const port = await freePort();
  const durable = options.keepData === true ? ["--appendonly", "yes", "--appendfsync", "always"] : ["--appendonly", "no"];
  let child: ChildProcess | undefined;

  const server: RedisServer = {
    url: `redis://127.0.0.1:${port}`,
    port,
    async start() {
      const args = [
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        ...durable,
        "--dir",
        home.dir,
        "--maxmemory-policy",
        "noeviction",
      ];
      child = spawn("redis-server", args, { stdio: "ignore" });
      const ended = once(child, "exit").then(([code]) => {
        throw new Error(`redis-server ended at once with code ${String(code)}.`);
      });
      await Promise.race([untilPong(port), ended]);
      ended.catch(() => undefined);
    },
    async stop() {
      if (child === undefined || child.exitCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      child = undefined;
    },
    async command(name, ...args) {
      const client = new Redis(port, "127.0.0.1", { maxRetriesPerRequest: 1 });
      try {
        return await client.call(name, ...args);
      } finally {
        client.disconnect();
      }
    },
    async remove() {
      await server.stop();
      removeHome(home);
    },
  };
  await server.start();
  return server;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function untilPong(port: number): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline;) {
    if (await pongs(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("redis-server did not answer within 10 s.");
}

function pongs(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.on("data", (data) => {
      socket.destroy();
      resolve(data.toString().startsWith("+PONG"));
    });
    socket.on("error", () => resolve(false));
  });
}
