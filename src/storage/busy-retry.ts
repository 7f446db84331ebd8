/**
 * Waits for a locked database without blocking the event loop: the driver's own timeout would stop everything else.
 * The waits are real time, not the injected clock's: another process holds the lock.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { busyError, isBusy, storeError } from "./sqlite-errors.js";

export interface RetryOptions {
  readonly file: string;
  /** Keeps trying until the signal is aborted. */
  readonly patient?: boolean;
  /** Ends all waiting: the database closes. */
  readonly signal: AbortSignal;
  /** 0 ≤ n < 1; for the jitter. */
  readonly random?: () => number;
}

const firstWaits: readonly number[] = [1, 2, 4, 8];
const furtherTries = 15;
/** From this try on only patient callers still wait. */
export const patientFrom = firstWaits.length + furtherTries;

/** The wait before try `index` (from 0), or undefined when the tries are used up. Pure but for `random`. */
export function waitBefore(index: number, patient: boolean, random: () => number): number | undefined {
  const first = firstWaits[index];
  if (first !== undefined) return first;
  if (index < patientFrom) return 20 + Math.floor(random() * 131);
  return patient ? 200 + Math.floor(random() * 801) : undefined;
}

/**
 * Runs `attempt` until it does not fail with a busy code. The first attempt runs synchronously, before the first await.
 * Rejects with `store.busy` when the tries are used up or the signal is aborted; other driver errors are mapped at once.
 */
export async function whileBusy<T>(attempt: () => T, options: RetryOptions): Promise<T> {
  const { file, signal, patient = false, random = Math.random } = options;
  for (let index = 0; ; index += 1) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw storeError(error, file);
      const wait = waitBefore(index, patient, random);
      if (wait === undefined || signal.aborted) throw busyError(file, error);
      try {
        await sleep(wait, undefined, { signal });
      } catch {
        throw busyError(file, error);
      }
    }
  }
}
