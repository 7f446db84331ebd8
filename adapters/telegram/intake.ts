/** What both ways in (polling, webhook) share: what they are given, and how they say that they are alive. */
import type { InboundEvent } from "../../src/domain/message.js";
import type { AdapterHealth, AdapterIo } from "../../src/ports/platform-adapter.js";
import type { Clock, Logger } from "../../src/ports/runtime.js";
import type { Self } from "./accounts.js";
import type { BotApi } from "./api.js";
import { readUpdate } from "./inbound.js";

/** Limits in milliseconds; tests shorten them. */
export interface Timings {
  /** One request, long polls aside. */
  readonly requestMs: number;
  /** What a poll may take beyond the time Telegram was asked to hold it. */
  readonly pollMarginMs: number;
  /** First and longest pause after a failed poll. */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** How often a webhook's registration is looked at. */
  readonly webhookCheckMs: number;
  /** The last confirmation of the offset when stopping. */
  readonly confirmMs: number;
}

export const defaultTimings: Timings = {
  requestMs: 15_000,
  pollMarginMs: 10_000,
  backoffMs: 1_000,
  backoffMaxMs: 30_000,
  webhookCheckMs: 60_000,
  confirmMs: 2_000,
};

export interface IntakeDeps {
  readonly api: BotApi;
  readonly self: Self;
  readonly io: AdapterIo;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: Timings;
}

export interface Intake {
  /** Resolves when the platform agreed; rejects with CallError or AdapterError. */
  start(): Promise<void>;
  /** Ends within 5 s; nothing is delivered afterwards. */
  stop(): Promise<void>;
  health(): AdapterHealth;
}

/** Reads a batch; what is nothing to us is left out. */
export function readBatch(updates: readonly unknown[], self: Self, receivedAt: number): InboundEvent[] {
  return updates.map((update) => readUpdate(update, self, receivedAt)).filter((event): event is InboundEvent => event !== undefined);
}

/** Resolves after `ms` or as soon as the signal aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Resolves with the promise or after `ms`, whichever comes first. */
export function atMost(clock: Clock, ms: number, promise: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, resolve);
    promise.then(
      () => {
        cancel();
        resolve();
      },
      (error: unknown) => {
        cancel();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
