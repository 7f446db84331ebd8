/** What an error means for its job. */
import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { GatewayError } from "../../../src/domain/errors.js";
import { judge, retryDelay } from "../../../src/jobs/retry-policy.js";

const delay = (attempts: number): number => attempts * 100;

describe("the retry policy", () => {
  it("waits longer after each failure, up to an hour and a quarter", () => {
    expect([1, 2, 3, 4, 5, 6, 20].map((n) => retryDelay(n, () => 0))).toEqual([
      5000, 20_000, 80_000, 320_000, 1_280_000, 3_600_000, 3_600_000,
    ]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempts, random) => {
        const wait = retryDelay(attempts, () => random);
        return wait >= 5000 && wait <= 4_500_000;
      }),
    );
  });

  it("tries an unknown error again until the attempts are used up", () => {
    expect(judge(new Error("boom"), { attempts: 2, maxAttempts: 3 }, delay)).toEqual({ after: 200, counts: true, error: "boom" });
    expect(judge(new Error("boom"), { attempts: 3, maxAttempts: 3 }, delay)).toEqual({ counts: true, error: "boom" });
  });

  it("waits at least as long as the error asks for", () => {
    const error = new GatewayError("provider.unavailable", "down", { retryAfterMs: 9000 });

    expect(judge(error, { attempts: 1, maxAttempts: 3 }, delay).after).toBe(9000);
  });

  it("fails at once when trying again cannot help", () => {
    expect(judge(new GatewayError("config.invalid", "no key"), { attempts: 1, maxAttempts: 9 }, delay)).toEqual({
      counts: true,
      error: "config.invalid: no key",
    });
  });

  it("gives way without end and without counting", () => {
    const verdict = judge(new GatewayError("job.postponed", "busy", { retryAfterMs: 70 }), { attempts: 3, maxAttempts: 3 }, delay);

    expect(verdict).toEqual({ after: 70, counts: false, error: "job.postponed: busy" });
  });
});
