/** What was measured, as lines for a terminal and as docs/performance.md. Nothing here is a remembered number. */
import { cpus, loadavg, totalmem } from "node:os";
import type { Moments } from "./load.js";

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface LevelFigures {
  readonly chats: number;
  readonly messages: number;
  readonly in: Percentiles;
  readonly out: Percentiles;
  readonly overhead: Percentiles;
  readonly cpuMsPerMessage: number;
}

export interface StartFigures {
  readonly platforms: number;
  readonly startMs: number;
  readonly startCpuMs: number;
  readonly idleRssMb: number;
}

export interface SoakFigures {
  readonly messages: number;
  /** Heap in use after a collection, at the beginning and at the end, in MB. */
  readonly heapMb: readonly [number, number];
  readonly rssMb: readonly [number, number];
}

export interface Figures {
  readonly at: string;
  readonly machine: string;
  readonly starts: readonly StartFigures[];
  readonly levels: readonly LevelFigures[];
  readonly throughput?: { readonly perSecond: number; readonly cpuMsPerMessage: number };
  readonly soak?: SoakFigures;
  /** Warnings and errors the gateway logged. */
  readonly complaints: number;
}

export function machine(): string {
  const gb = Math.round(totalmem() / 2 ** 30);
  const cpu = `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"})`;
  const load = loadavg()[0]?.toFixed(1);
  return `node ${process.version}, ${cpu}, ${gb} GB; emulators and model on the same machine, whose load was ${load} at the beginning`;
}

export function level(chats: number, samples: readonly Moments[], cpuMs: number): LevelFigures {
  return {
    chats,
    messages: samples.length,
    in: percentiles(samples.map((sample) => sample.askedAt - sample.saidAt)),
    out: percentiles(samples.map((sample) => sample.sentAt - sample.answeredAt)),
    overhead: percentiles(samples.map((sample) => sample.askedAt - sample.saidAt + sample.sentAt - sample.answeredAt)),
    cpuMsPerMessage: cpuMs / samples.length,
  };
}

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

export function levelLines({ chats, messages, in: way, out, overhead, cpuMsPerMessage }: LevelFigures): string[] {
  const three = ({ p50, p95, p99 }: Percentiles): string => `p50 ${p50.toFixed(1)} ms  p95 ${p95.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms`;
  return [
    `${chats} parallel chats, ${messages} messages`,
    `  update handed over -> model request  ${three(way)}`,
    `  model's last byte  -> final send     ${three(out)}`,
    `  overhead of the gateway (sum)        ${three(overhead)}`,
    `  CPU time of the gateway per message  ${cpuMsPerMessage.toFixed(2)} ms`,
  ];
}

export function startLine({ platforms, startMs, startCpuMs, idleRssMb }: StartFigures): string {
  const what = platforms === 1 ? "Telegram alone" : `${platforms} platforms`;
  return `${what}: connected after ${startMs.toFixed(0)} ms (${startCpuMs.toFixed(0)} ms of CPU), idle memory (RSS) ${idleRssMb.toFixed(0)} MB`;
}

export function markdown(figures: Figures): string {
  const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  const three = ({ p50, p95, p99 }: Percentiles): string => [p50, p95, p99].map((ms) => ms.toFixed(1)).join(" / ");
  const lines = [
    "# Performance",
    "",
    "Written by `npm run bench -- --write`; do not edit. One run on one machine: compare runs of one machine only.",
    "",
    `Measured ${figures.at}: ${figures.machine}.`,
    "",
    "Overhead is the gateway's own time for one message: from the update being handed over by Telegram to the model request, plus from the",
    "model's last byte to the final send. Milliseconds, p50 / p95 / p99. The model answers at once; all chats together say 25 messages a",
    "second, because Telegram takes about 30. Targets: p50 ≤ 5 and p99 ≤ 25 at 50 chats; connected within 1.0 s and idle within 130 MB",
    "(three platforms: 1.5 s and 160 MB).",
    "",
    row("parallel chats", "messages", "to the model request", "to the final send", "overhead", "CPU per message"),
    row("---:", "---:", "---:", "---:", "---:", "---:"),
    ...figures.levels.map((one) =>
      row(one.chats, one.messages, three(one.in), three(one.out), `**${three(one.overhead)}**`, one.cpuMsPerMessage.toFixed(2)),
    ),
    "",
    row("platforms", "connected after", "CPU until then", "idle memory (RSS)"),
    row("---:", "---:", "---:", "---:"),
    ...figures.starts.map((one) =>
      row(one.platforms, `${one.startMs.toFixed(0)} ms`, `${one.startCpuMs.toFixed(0)} ms`, `${one.idleRssMb.toFixed(0)} MB`),
    ),
    "",
  ];
  if (figures.throughput !== undefined) {
    const { perSecond, cpuMsPerMessage } = figures.throughput;
    lines.push(
      `500 chats that ask at the same moment, without the platform's pace: ${perSecond.toFixed(0)} messages a second ` +
        `(${cpuMsPerMessage.toFixed(2)} ms of CPU each).`,
      "",
    );
  }
  if (figures.soak !== undefined) {
    const { messages, heapMb, rssMb } = figures.soak;
    lines.push(
      `After ${messages} messages the heap in use was ${heapMb[1].toFixed(1)} MB (${heapMb[0].toFixed(1)} MB after the first tenth) and the ` +
        `resident memory ${rssMb[1].toFixed(0)} MB (${rssMb[0].toFixed(0)} MB).`,
      "",
    );
  }
  return lines.join("\n");
}
