/**
 * The gateway as a process of its own, and what the kernel says about it. CPU time is the figure to trust on a busy
 * machine; wall time also counts who else was running.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

export interface Started {
  readonly child: ChildProcess;
  /** From the spawn until every platform was connected, in milliseconds. */
  readonly startMs: number;
  /** CPU time spent until then, in milliseconds. */
  readonly startCpuMs: number;
  /** The lines of its log that are no debug or info. */
  readonly complaints: readonly string[];
  /** Runs `global.gc` where the process has it, and resolves with the bytes of the heap in use (unpaced gateway only). */
  heapBytes(): Promise<number>;
}

/** One tick of the counters in /proc/PID/stat; 100 a second on every Linux that Node supports. */
const tickMs = 10;

export async function startGateway(command: readonly string[], env: Readonly<Record<string, string>>, platforms: number): Promise<Started> {
  const began = performance.now();
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"], env: { PATH: process.env["PATH"], ...env } });
  const complaints: string[] = [];
  let connected = 0;
  let heard: (bytes: number) => void = () => undefined;
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the gateway ended with ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const entry = JSON.parse(line) as { level: string; msg: string; platform?: string; heapBytes?: number };
      if (entry.heapBytes !== undefined) heard(entry.heapBytes);
      if (entry.level === "warn" || entry.level === "error") complaints.push(line);
      if (entry.msg === "connected" && entry.platform !== undefined) connected += 1;
      if (connected === platforms) resolve();
    });
  });
  return {
    child,
    startMs: performance.now() - began,
    startCpuMs: cpuMs(child),
    complaints,
    heapBytes: () =>
      new Promise((resolve) => {
        heard = resolve;
        child.kill("SIGUSR2");
      }),
  };
}

export async function endGateway(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

/** Resident memory in megabytes (2^20 bytes). */
export function rssMb(child: ChildProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/u.exec(status)?.[1] ?? Number.NaN) / 1_024;
}

/** CPU time of all threads of the process so far, user and system, in milliseconds. */
export function cpuMs(child: ChildProcess): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8")
    .replace(/^.*\) /u, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}
