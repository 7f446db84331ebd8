/** A clock whose timers fire when the test moves it. */
import type { Clock } from "../../../src/ports/runtime.js";

export interface ManualClock extends Clock {
  /** Moves the time on, firing each timer at its own instant and letting what it started settle. */
  advance(ms: number): Promise<void>;
}

export function manualClock(start = 1_800_000_000_000): ManualClock {
  let time = start;
  const timers = new Set<{ readonly at: number; readonly task: () => void }>();
  return {
    now: () => time,
    after(ms, task) {
      const timer = { at: time + ms, task };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const until = time + ms;
      for (;;) {
        const next = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        timers.delete(next);
        time = Math.max(time, next.at);
        next.task();
        await settled();
      }
      time = until;
    },
  };
}

/** Lets all promises that are ready run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
