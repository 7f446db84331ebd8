/** Real time, counted ids and a log that collects, for tests that talk over real sockets. */
import type { Clock, Ids, Logger } from "../../src/ports/runtime.js";

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

export function countedIds(prefix = "id"): Ids {
  let n = 0;
  return { next: () => `${prefix}${String((n += 1)).padStart(6, "0")}` };
}

export interface CollectedLog extends Logger {
  readonly lines: { readonly level: string; readonly fields: object; readonly message: string }[];
}

export function collectingLogger(): CollectedLog {
  const lines: CollectedLog["lines"] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  const logger: CollectedLog = {
    lines,
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => logger,
  };
  return logger;
}
