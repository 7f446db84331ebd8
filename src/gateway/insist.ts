/**
 * Repeats what the store refuses for now (locked, disk full) until it succeeds or the gateway stops: a stored message
 * waits for room instead of being lost. Only for work that may be begun anew.
 */
import { StoreError } from "../domain/errors.js";
import type { Clock } from "../ports/runtime.js";

export interface Insisting {
  readonly clock: Clock;
  /** Ends the waiting; the last refusal is then passed on. */
  readonly signal: AbortSignal;
  /** Called once, at the first refusal. */
  readonly onRefused?: (error: StoreError) => Promise<void> | void;
}

const firstPauseMs = 500;
const longestPauseMs = 5_000;

/** True when the same write may succeed later. */
export function isRefusedForNow(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.code === "store.busy" || error.code === "store.full");
}

export async function insist<T>(work: () => Promise<T>, { clock, signal, onRefused }: Insisting): Promise<T> {
  for (let pause = firstPauseMs; ; pause = Math.min(longestPauseMs, pause * 2)) {
    try {
      return await work();
    } catch (error) {
      if (!isRefusedForNow(error) || signal.aborted) throw error;
      if (pause === firstPauseMs) await onRefused?.(error);
      await waited(clock, pause, signal);
      if (signal.aborted) throw error;
    }
  }
}

function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener("abort", end, { once: true });
  });
}
