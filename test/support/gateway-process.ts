/** The gateway as users run it, in a process of its own that a test may kill at any moment. */
import { spawn, type ChildProcess } from "node:child_process";
import { onTestFinished } from "vitest";
import { builtMain } from "./built.js";
import { environmentOf, type World } from "./gateway.js";

export interface GatewayProcess {
  readonly child: ChildProcess;
  /** Log lines so far. */
  readonly log: readonly { readonly level: string; readonly msg: string; readonly [field: string]: unknown }[];
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  terminate(): Promise<number | null>;
  /** Resolves with the exit code when it ends by itself. */
  readonly exited: Promise<number | null>;
}

/** Starts `mneme start` and waits until it says that the platform is connected. */
export function spawnGateway(where: World, overrides: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
  return spawnMneme("start", "connected", where, overrides);
}

/** Starts `mneme worker` beside a gateway. */
export function spawnWorker(where: World, overrides: Readonly<Record<string, string>> = {}): Promise<GatewayProcess> {
  return spawnMneme("worker", "the worker is running", where, overrides);
}

async function spawnMneme(
  command: string,
  ready: string,
  where: World,
  overrides: Readonly<Record<string, string>>,
): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [await builtMain(), command], {
    cwd: where.home.dir,
    env: { PATH: process.env["PATH"], ...environmentOf(where, overrides) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log: { level: string; msg: string }[] = [];
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  let complain = "";
  child.stderr.on("data", (chunk: Buffer) => (complain += chunk.toString()));
  const connected = new Promise<void>((resolve, reject) => {
    let rest = "";
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const entry = JSON.parse(line) as { level: string; msg: string };
        log.push(entry);
        if (entry.msg === ready) resolve();
      }
    });
    void exited.then((code) => reject(new Error(`mneme ${command} ended with ${code}: ${complain}`)));
  });
  const process_: GatewayProcess = {
    child,
    log,
    exited,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
    async terminate() {
      child.kill("SIGTERM");
      return exited;
    },
  };
  onTestFinished(() => process_.kill());
  await connected;
  return process_;
}
