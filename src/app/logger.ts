/**
 * The log: one JSON object per line, through pino. Everything passes the redactor before pino sees it, message and fields alike,
 * so no caller can leak a secret by logging an error that quotes it.
 */
import { pino, type DestinationStream, type Logger as PinoLogger } from "pino";
import type { Logger } from "../ports/runtime.js";
import type { Redactor } from "../safety/redact.js";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LoggerDeps {
  readonly level: LogLevel;
  /** Turns fields into plain data without secrets. */
  readonly redactor: Redactor;
  /** 1 = standard output, 2 = standard error (for commands whose output is for people), or any stream. */
  readonly destination: 1 | 2 | DestinationStream;
}

/** A logger that never throws and never writes a secret that the redactor knows. Lines are written before the call returns. */
export function createLogger(deps: LoggerDeps): Logger {
  const { destination } = deps;
  const stream = typeof destination === "number" ? pino.destination({ fd: destination, sync: true }) : destination;
  const base = pino(
    { level: deps.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    stream,
  );
  return wrap(base, deps.redactor);
}

function wrap(target: PinoLogger, redactor: Redactor): Logger {
  const clean = (fields: object) => redactor.value(fields) as object;
  const write = (level: LogLevel) => (fields: object, message: string) => {
    if (target.isLevelEnabled(level)) target[level](clean(fields), redactor.text(message));
  };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => wrap(target.child(clean(fields)), redactor),
  };
}
