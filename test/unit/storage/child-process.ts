/**
 * Runs a script with the project's sources in a process of its own, so that tests can kill it or race against it.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface Child {
  readonly process: ChildProcess;
  /** Resolves when the child has printed this line; rejects when it ends before. */
  line(text: string): Promise<void>;
  lines(): readonly string[];
  /** Resolves with the exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
  errors(): string;
  kill(): Promise<number | string>;
}

/** Starts `script` (a file beside this one) with arguments. */
export function startChild(script: string, args: readonly string[]): Child {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", path, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const seen: string[] = [];
  const waiting = new Set<() => void>();
  let rest = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const parts = (rest + chunk.toString("utf8")).split("\n");
    rest = parts.pop() ?? "";
    seen.push(...parts);
    for (const look of [...waiting]) look();
  });
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString("utf8")));
  const ended = new Promise<number | string>((resolve) => child.once("close", (code, signal) => resolve(code ?? signal ?? "unknown")));
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    process: child,
    ended,
    lines: () => seen,
    errors: () => errors,
    line(text) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (!seen.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
        void ended.then((how) => reject(new Error(`the child ended (${how}) before "${text}": ${errors}`)));
      });
    },
    kill() {
      child.kill("SIGKILL");
      return ended;
    },
  };
}
