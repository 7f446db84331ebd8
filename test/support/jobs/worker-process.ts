/** Starts worker-main.ts and lets a test wait for its lines, stop it and kill it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

export interface WorkerOrder {
  readonly file: string;
  readonly redis?: { readonly url: string; readonly prefix: string };
  readonly leaseMs: number;
  readonly concurrency: number;
  readonly graceMs: number;
  /** `work`: takes its time, heeding its signal. `block`: holds the event loop. */
  readonly does: "work" | "block";
  readonly ms: number;
}

export interface WorkerProcess {
  readonly lines: readonly string[];
  /** Resolves with the first line that begins so. */
  line(beginning: string): Promise<string>;
  kill(): Promise<void>;
  /** SIGTERM; resolves with how long the process took to end, ms, and its exit code. */
  stop(): Promise<{ readonly ms: number; readonly code: number | null }>;
}

export async function startWorkerProcess(order: WorkerOrder): Promise<WorkerProcess> {
  const main = join(import.meta.dirname, "worker-main.ts");
  const child = spawn(process.execPath, ["--import", "tsx", main, JSON.stringify(order)], { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(child, "exit");
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    for (const check of waiting) check();
  });
  async function kill(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await exit;
  }
  onTestFinished(kill);
  const worker: WorkerProcess = {
    lines,
    line(beginning) {
      const found = new Promise<string>((resolve) => {
        const check = (): void => {
          const line = lines.find((one) => one.startsWith(beginning));
          if (line === undefined) return;
          waiting.delete(check);
          resolve(line);
        };
        waiting.add(check);
        check();
      });
      const gone = exit.then(([code, signal]) => {
        throw new Error(`The worker ended (${String(code ?? signal)}) before it said "${beginning}": ${lines.join(" | ")}`);
      });
      return Promise.race([found, gone]);
    },
    kill,
    async stop() {
      const begin = Date.now();
      child.kill("SIGTERM");
      await exit;
      return { ms: Date.now() - begin, code: child.exitCode };
    },
  };
  await worker.line("ready");
  return worker;
}
