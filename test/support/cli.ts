/** The command line as a process of its own, in a folder of the test's own and with no variable but those given. */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunningCli {
  readonly child: ChildProcess;
  /** What was printed so far. */
  out(): string;
  err(): string;
  readonly finished: Promise<Finished>;
}

export interface CliOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Given on standard input, which then ends. */
  readonly input?: string;
}

const root = join(import.meta.dirname, "..", "..");

/** Starts `mneme ARGS`; killed at the end of the test when it still runs. */
export function startCli(args: readonly string[], options: CliOptions): RunningCli {
  const loader = `file://${join(root, "node_modules/tsx/dist/loader.mjs")}`;
  const child = spawn(process.execPath, ["--import", loader, join(root, "src/cli/main.ts"), ...args], {
    cwd: options.cwd,
    env: { PATH: process.env["PATH"], HOME: options.cwd, TMPDIR: options.cwd, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (out += piece));
  child.stderr.setEncoding("utf8").on("data", (piece: string) => (err += piece));
  child.stdin.end(options.input ?? "");
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, out: () => out, err: () => err, finished };
}

export function runCli(args: readonly string[], options: CliOptions): Promise<Finished> {
  return startCli(args, options).finished;
}
