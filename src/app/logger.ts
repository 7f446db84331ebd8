/**
 * The log: one JSON object per line, through pino. Everything passes `redact` before pino sees it, message and fields alike,
 * so no caller can leak a secret by logging an error that quotes it.
 */
import { pino, type DestinationStream, type Logger as PinoLogger } from "pino";
import type { Logger } from "../ports/runtime.js";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LoggerDeps {
  readonly level: LogLevel;
  /** Returns the value with every secret replaced; given plain data only (no errors, no cycles). */
  readonly redact: (value: unknown) => unknown;
  /** 1 = standard output, 2 = standard error (for commands whose output is for people), or any stream. */
  readonly destination: 1 | 2 | DestinationStream;
}

/** A logger that never throws and never writes a secret that `redact` knows. */
export function createLogger(deps: LoggerDeps): Logger {
  const { destination } = deps;
  const stream = typeof destination === "number" ? pino.destination({ fd: destination, sync: true }) : destination;
  const base = pino(
    { level: deps.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    stream,
  );
  return wrap(base, deps.redact);
}

function wrap(target: PinoLogger, redact: LoggerDeps["redact"]): Logger {
  const clean = (fields: object) => redact(toPlain(fields, 0)) as object;
  const write = (level: LogLevel) => (fields: object, message: string) => {
    if (target.isLevelEnabled(level)) target[level](clean(fields), String(redact(message)));
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => wrap(target.child(clean(fields)), redact),
  };
}

const maxDepth = 6;
const maxItems = 100;

/** Errors become objects with their cause; what JSON cannot hold becomes text; depth and length are bounded, which also ends cycles. */
function toPlain(value: unknown, depth: number): unknown {
  if (typeof value === "bigint" || typeof value === "symbol") return value.toString();
  if (typeof value === "function") return "[function]";
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxDepth) return "[deeper]";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  if (value instanceof Error) return errorFields(value, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map || value instanceof Set) return toPlain([...value], depth);
  if (Array.isArray(value)) return value.slice(0, maxItems).map((item) => toPlain(item, depth + 1));
  const entries = Object.entries(value).slice(0, maxItems);
  return Object.fromEntries(entries.map(([key, item]) => [key, toPlain(item, depth + 1)]));
}

function errorFields(error: Error, depth: number): object {
  const code = "code" in error ? { code: toPlain(error.code, depth + 1) } : {};
  const cause = error.cause === undefined ? {} : { cause: toPlain(error.cause, depth + 1) };
  return { name: error.name, message: error.message, ...code, ...cause, stack: error.stack };
}
