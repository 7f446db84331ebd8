import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createIds, systemClock } from "../../../src/app/runtime.js";

describe("ids", () => {
  it("are letters and digits, all different, and sort in the order they were made, even when the clock steps back", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5, max: 3 }), { minLength: 2, maxLength: 200 }), (steps) => {
        let now = 1_700_000_000_000;
        const ids = createIds({ clock: { now: () => now, after: () => () => undefined } });
        const made = steps.map((step) => {
          now += step;
          return ids.next();
        });

        expect(new Set(made).size).toBe(made.length);
        expect([...made].sort()).toEqual(made);
        for (const id of made) expect(id).toMatch(/^[a-z0-9]{22}$/);
      }),
    );
  });

  it("do not repeat between two processes in the same millisecond", () => {
    const clock = { now: () => 1_700_000_000_000, after: () => () => undefined };

    expect(createIds({ clock }).next()).not.toBe(createIds({ clock }).next());
  });
});

describe("the system clock", () => {
  it("runs a task once, and not when it was cancelled", async () => {
    const ran: string[] = [];
    const cancel = systemClock.after(0, () => ran.push("cancelled"));
    cancel();
    await new Promise<void>((resolve) => {
      systemClock.after(1, () => {
        ran.push("kept");
        resolve();
      });
      setTimeout(() => undefined, 50); // keeps the test's process alive: the clock's own timers do not
    });

    expect(ran).toEqual(["kept"]);
  });
});
