/** When the relay and the embedded queue look at the ledger, by a clock that the test moves. */
import { describe, expect, it } from "vitest";
import { createPulse } from "../../../src/jobs/pulse.js";
import { manualClock, settled } from "./manual-clock.js";

function setUp(pass?: () => Promise<number | undefined>) {
  const clock = manualClock();
  const errors: unknown[] = [];
  const state = { version: 1, passes: 0, next: undefined as number | undefined };
  const pulse = createPulse({
    clock,
    dataVersion: () => state.version,
    pass: async () => {
      state.passes += 1;
      return pass === undefined ? state.next : pass();
    },
    onError: (error) => errors.push(error),
  });
  return { clock, errors, state, pulse };
}

describe("the pulse", () => {
  it("looks at the start, and then only when there is a reason", async () => {
    const { clock, state, pulse } = setUp();
    pulse.start();
    await settled();
    await clock.advance(10_000);

    expect(state.passes).toBe(1);
  });

  it("sees within half a second what another process has written", async () => {
    const { clock, state, pulse } = setUp();
    pulse.start();
    await settled();

    state.version += 1;
    await clock.advance(500);

    expect(state.passes).toBe(2);
  });

  it("looks when the next job becomes due", async () => {
    const { clock, state, pulse } = setUp();
    state.next = clock.now() + 1200;
    pulse.start();
    await settled();

    await clock.advance(1199);
    expect(state.passes).toBe(1);
    await clock.advance(1);
    expect(state.passes).toBe(2);
  });

  it("does not spin when something due cannot run yet", async () => {
    const { clock, state, pulse } = setUp();
    state.next = 0;
    pulse.start();
    await settled();
    await clock.advance(2000);

    expect(state.passes).toBe(5);
  });

  it("joins wakes that come during a pass into one more pass", async () => {
    let release: () => void = () => undefined;
    const { state, pulse } = setUp(
      () =>
        new Promise((resolve) => {
          release = () => resolve(undefined);
        }),
    );
    pulse.start();
    await settled();
    for (let n = 0; n < 10; n += 1) pulse.wake();

    release();
    await settled();
    release();
    await settled();

    expect(state.passes).toBe(2);
  });

  it("reports a pass that failed, and looks again after a pause", async () => {
    const { clock, errors, state, pulse } = setUp(() => Promise.reject(new Error("locked")));
    pulse.start();
    await settled();
    expect(errors).toHaveLength(1);

    await clock.advance(5000);

    expect(state.passes).toBe(2);
  });

  it("does nothing any more once it is stopped", async () => {
    const { clock, state, pulse } = setUp();
    pulse.start();
    await pulse.stop();
    pulse.wake();
    state.version += 1;
    await clock.advance(5000);

    expect(state.passes).toBe(1);
  });
});
