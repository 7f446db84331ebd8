/** Costs and daily budgets as pure sums. */
import { describe, expect, it } from "vitest";
import { dayStart, shareUsed, sumOf } from "../../../src/gateway/budgets.js";

const used = { model: "m", inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 100_000, turns: 3 };
const prices = { currency: "USD", models: { m: { input: 2, cached: 0.5, output: 10 } } };

describe("costs", () => {
  it("counts cached tokens at their own price", () => {
    expect(sumOf([used], prices).cost).toBeCloseTo(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10);
  });

  it("says nothing of costs when a model that was used has no price", () => {
    expect(sumOf([used, { ...used, model: "other" }], prices)).toMatchObject({ cost: undefined, inputTokens: 2_000_000, turns: 6 });
    expect(sumOf([], prices).cost).toBe(0);
  });

  it("a budget of tokens or cost is used by whichever is nearer to its end; 0 is no limit", () => {
    const sum = sumOf([used], prices);
    expect(shareUsed(sum, { tokens: 0, cost: 0 })).toBeUndefined();
    expect(shareUsed(sum, { tokens: 1_100_000, cost: 0 })).toBe(1);
    expect(shareUsed(sum, { tokens: 11_000_000, cost: 2.4 })).toBeCloseTo(1);
  });

  it("the day begins at local midnight", () => {
    expect(new Date(dayStart(Date.parse("2026-03-01T03:30:10.500Z"), "Asia/Shanghai")).toISOString()).toBe("2026-02-28T16:00:00.000Z");
    expect(new Date(dayStart(Date.parse("2026-03-01T03:30:10Z"), "UTC")).toISOString()).toBe("2026-03-01T00:00:00.000Z");
  });
});
