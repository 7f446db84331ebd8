/**
 * Whether and when a failed try is repeated. Nothing is repeated once text was shown: the person would read it twice.
 */
import type { Clock } from "../ports/runtime.js";
import type { Cause } from "./model-failure.js";

export interface RetryLimits {
  readonly maxRetries: number;
  /** Milliseconds; a server that asks for more is not waited for. */
  readonly maxWaitMs: number;
  /** 0 ≤ n < 1, for the spread of the back-off. */
  readonly random: () => number;
}

/** A repeat after a silence or a broken answer costs as much as the first try; more than one is not worth it. */
const maxSlowRetries = 1;

/** The repeats of one call. */
export class Retries {
  readonly #limits: RetryLimits;
  #made = 0;
  #slow = 0;

  constructor(limits: RetryLimits) {
    this.#limits = limits;
  }

  /** Milliseconds to wait before the next try (which is counted), or undefined when there shall be none. */
  next(cause: Cause, hasShown: boolean): number | undefined {
    const { maxRetries, maxWaitMs, random } = this.#limits;
    const isSlow = cause.failure === "timeout" || cause.failure === "protocol";
    if (!cause.repeat || hasShown || this.#made >= maxRetries || (isSlow && this.#slow >= maxSlowRetries)) return undefined;
    const wait = cause.retryAfterMs ?? Math.round(Math.min(8000, 500 * 2 ** this.#made) * (0.5 + random()));
    if (wait > maxWaitMs) return undefined;
    this.#made += 1;
    if (isSlow) this.#slow += 1;
    return wait;
  }
}

/** Resolves with true after `ms`, or with false as soon as the signal is aborted. */
export function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (waited: boolean): void => {
      cancel();
      signal.removeEventListener("abort", stop);
      resolve(waited);
    };
    const stop = (): void => done(false);
    const cancel = clock.after(ms, () => done(true));
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) done(false);
  });
}
