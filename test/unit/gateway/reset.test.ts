/** When a conversation ends by itself: idle times, daily slots, zones and changes of clocks. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resetReason, slotOf, type ResetRules } from "../../../src/gateway/reset.js";

const daily: ResetRules = { mode: "daily", idleMinutes: 1440, dailyHour: 9 };
const at = (iso: string): number => Date.parse(iso);
const session = (createdAt: number, lastActiveAt = createdAt): { createdAt: number; lastActiveAt: number } => ({ createdAt, lastActiveAt });

describe("ends of conversations", () => {
  it("by default a conversation never ends by itself", () => {
    expect(
      resetReason({ ...daily, mode: "none" }, session(0), at("2026-05-01T00:00:00Z"), { timeZone: "UTC", lastSlot: undefined }),
    ).toBeUndefined();
  });

  it("JQ-09: a daily hour of 9 in Shanghai does not fire at 01:24 UTC minus a restart, but at 9 there, once", () => {
    const zone = { timeZone: "Asia/Shanghai", lastSlot: undefined };
    const evening = session(at("2026-03-01T10:00:00Z"));
    expect(resetReason(daily, evening, at("2026-03-02T00:24:00Z"), zone)).toBeUndefined();
    expect(resetReason(daily, evening, at("2026-03-02T01:00:00Z"), zone)).toBe("daily");
    expect(resetReason(daily, evening, at("2026-03-02T01:24:00Z"), { ...zone, lastSlot: "2026-03-02" })).toBeUndefined();
    expect(resetReason(daily, session(at("2026-03-02T01:10:00Z")), at("2026-03-02T12:00:00Z"), zone)).toBeUndefined();
  });

  it("JQ-09: moving to a zone where the slot comes again ends no second conversation on that date", () => {
    const zone = { timeZone: "America/New_York", lastSlot: "2026-03-02" };
    expect(resetReason(daily, session(at("2026-03-02T02:00:00Z")), at("2026-03-02T15:00:00Z"), zone)).toBeUndefined();
    expect(resetReason(daily, session(at("2026-03-02T02:00:00Z")), at("2026-03-03T15:00:00Z"), zone)).toBe("daily");
  });

  it("idle ends after the time, both ends by whichever comes first", () => {
    const rules: ResetRules = { mode: "both", idleMinutes: 60, dailyHour: 4 };
    const zone = { timeZone: "UTC", lastSlot: undefined };
    expect(resetReason(rules, session(at("2026-03-01T12:00:00Z")), at("2026-03-01T12:59:00Z"), zone)).toBeUndefined();
    expect(resetReason(rules, session(at("2026-03-01T12:00:00Z")), at("2026-03-01T13:00:00Z"), zone)).toBe("idle");
    expect(resetReason(rules, session(at("2026-03-01T03:50:00Z")), at("2026-03-01T04:05:00Z"), zone)).toBe("daily");
  });

  it("slots only ever move forward, in every zone and across changes of clocks", () => {
    const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Australia/Lord_Howe"];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 4_000_000_000 }),
        fc.integer({ min: 0, max: 400_000 }),
        (zone, hour, seconds, later) => {
          const start = seconds * 1_000;
          const [before, after] = [slotOf(start, hour, zone), slotOf(start + later * 1_000, hour, zone)];
          return later > 7_200 ? after >= before : before.length === 10;
        },
      ),
      { numRuns: 300 },
    );
  });
});
