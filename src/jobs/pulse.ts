/**
 * The beat of relay and embedded queue: one pass at a time, after `wake`, when the next job becomes due, and when another process has
 * written. Wakes during a pass are joined into one more pass.
 */
import type { Clock } from "../ports/runtime.js";

export interface PulseDeps {
  readonly clock: Clock;
  /** Changes when another process has written to the database. */
  readonly dataVersion: () => number;
  /** Answers when the next pass is wanted at the latest, epoch ms; in the past: at the next look. */
  readonly pass: () => Promise<number | undefined>;
  readonly onError: (error: unknown) => void;
}

export interface Pulse {
  start(): void;
  /** A pass as soon as possible. Does nothing before `start` and after `stop`. */
  wake(): void;
  /** Ends it; resolves when a running pass has ended. */
  stop(): Promise<void>;
}

/** How often to look whether another process has written, ms. */
const lookMs = 500;
/** The wait after a pass that failed, ms. */
const afterErrorMs = 5000;

export function createPulse({ clock, dataVersion, pass, onError }: PulseDeps): Pulse {
  let state: "new" | "on" | "off" = "new";
  let running: Promise<void> | undefined;
  let wanted = false;
  let next: number | undefined;
  let version = 0;
  let cancel: (() => void) | undefined;

  async function passes(): Promise<void> {
    do {
      wanted = false;
      try {
        version = dataVersion();
        next = await pass();
      } catch (error) {
        onError(error);
        next = clock.now() + afterErrorMs;
      }
    } while (wanted && isOn());
  }

  function isOn(): boolean {
    return state === "on";
  }

  function schedule(): void {
    cancel?.();
    if (!isOn()) return;
    const wait = next === undefined ? lookMs : next - clock.now();
    cancel = clock.after(wait <= 0 ? lookMs : Math.min(wait, lookMs), look);
  }

  function look(): void {
    let due = next !== undefined && next <= clock.now();
    try {
      due ||= dataVersion() !== version;
    } catch (error) {
      onError(error);
    }
    if (due) wake();
    else schedule();
  }

  function wake(): void {
    if (!isOn()) return;
    wanted = true;
    if (running !== undefined) return;
    cancel?.();
    running = passes().then(() => {
      running = undefined;
      if (wanted) wake();
      else schedule();
    });
  }

  return {
    start() {
      if (state !== "new") return;
      state = "on";
      wake();
    },
    wake,
    async stop() {
      state = "off";
      cancel?.();
      await running;
    },
  };
}
