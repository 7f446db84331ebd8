/**
 * What an error of a handler means for its job. Pure; decided on codes alone, and an unknown error is tried again.
 */
import { GatewayError, errorText, type ErrorCode } from "../domain/errors.js";

/** Trying again cannot help. */
const hopeless: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "job.invalid",
  "input.invalid",
  "config.invalid",
  "access.denied",
  "store.unsupported",
  "turn.not-found",
]);

const firstMs = 5000;
const factor = 4;
const longestMs = 3_600_000;
/** A job that gave way without naming a time, ms. */
const postponedMs = 60_000;

export interface Attempt {
  /** This one included. */
  readonly attempts: number;
  readonly maxAttempts: number;
}

/** `after` is absent when the job has failed for good; ms. `counts` false: the attempt is given back. */
export interface Verdict {
  readonly after?: number;
  readonly counts: boolean;
  readonly error: string;
}

/** 5 s, 20 s, 80 s … up to an hour, plus up to a quarter; `random` gives 0 ≤ n < 1. */
export function retryDelay(attempts: number, random: () => number): number {
  const delay = Math.min(firstMs * factor ** Math.min(attempts - 1, 10), longestMs);
  return Math.round(delay * (1 + random() / 4));
}

export function judge(error: unknown, { attempts, maxAttempts }: Attempt, delay: (attempts: number) => number): Verdict {
  const text = error instanceof GatewayError ? `${error.code}: ${error.message}` : errorText(error);
  if (error instanceof GatewayError) {
    if (error.code === "job.postponed") return { after: error.retryAfterMs ?? postponedMs, counts: false, error: text };
    if (hopeless.has(error.code)) return { counts: true, error: text };
  }
  if (attempts >= maxAttempts) return { counts: true, error: text };
  const asked = error instanceof GatewayError ? (error.retryAfterMs ?? 0) : 0;
  return { after: Math.max(delay(attempts), asked), counts: true, error: text };
}
