/** What follows from a failed send: nothing certain is lost, nothing ambiguous is repeated blindly. */
import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { DeliveryError, errorCodes, type DeliveryCode } from "../../../src/domain/errors.js";
import { backoff, decideOutcome, type NextStep, type Situation } from "../../../src/gateway/delivery-rules.js";
import type { OutboxRow } from "../../../src/ports/mailbox.js";

const route = { platform: "any", chatId: "c", threadId: "t", replyTo: "m" };
const preview = { chatId: "c", messageId: "p" };
const row: OutboxRow = {
  id: 1,
  deliveryId: "d1",
  kind: "reply",
  route,
  part: { plain: "x", payload: null },
  state: "sending",
  attempts: 0,
  createdAt: 0,
  nextAt: 0,
};
const codes = (Object.keys(errorCodes) as DeliveryCode[]).filter((code) => code.startsWith("delivery."));

function after(code: DeliveryCode, more: Partial<Situation> = {}, current: Partial<Extract<NextStep, { do: "send" }>> = {}): NextStep {
  return decideOutcome({
    row,
    now: 1_000,
    resend: "blind",
    error: new DeliveryError(code, "no"),
    current: { do: "send", route, plain: false, takesOver: undefined, ...current },
    ...more,
  });
}

describe("after a failed send", () => {
  it("repeats what certainly did not arrive, and waits as long as the platform asks", () => {
    expect(after("delivery.not-sent")).toMatchObject({ do: "end", outcome: { state: "waiting" } });
    const limited = after("delivery.rate-limited", { error: new DeliveryError("delivery.rate-limited", "slow", { retryAfterMs: 7_000 }) });
    expect(limited).toMatchObject({ do: "end", outcome: { state: "waiting", nextAt: 8_000 } });
  });

  it("never repeats an ambiguous send where a repeat could double it", () => {
    fc.assert(
      fc.property(fc.nat(20), fc.nat(1e9), fc.boolean(), (attempts, now, plain) => {
        const step = after("delivery.unknown", { now, row: { ...row, attempts } }, { plain });
        expect(step).toMatchObject({ do: "end", outcome: { state: "unknown" } });
      }),
    );
  });

  it("repeats an ambiguous send with the same id while that is harmless, and asks the platform afterwards", () => {
    expect(after("delivery.unknown", { resend: "safe" })).toMatchObject({ do: "end", outcome: { state: "waiting" } });
    expect(after("delivery.unknown", { resend: "safe", now: 3_600_000 })).toEqual({ do: "look-up" });
    expect(after("delivery.unknown", { resend: "lookup" })).toEqual({ do: "look-up" });
  });

  it("repeats an ambiguous edit: it cannot double anything", () => {
    expect(after("delivery.unknown", { row: { ...row, takesOver: preview } }, { takesOver: preview })).toMatchObject({
      outcome: { state: "waiting" },
    });
  });

  it("sends the plain form once when the markup is refused, and never takes a rate limit for that", () => {
    expect(after("delivery.markup-refused")).toMatchObject({ do: "send", plain: true });
    expect(after("delivery.markup-refused", {}, { plain: true })).toMatchObject({ do: "end", outcome: { state: "refused" } });
    expect(after("delivery.rate-limited")).not.toMatchObject({ do: "send" });
  });

  it("falls back within the same chat, never into another one", () => {
    expect(after("delivery.reply-gone")).toMatchObject({ do: "send", route: { chatId: "c", threadId: "t" } });
    expect(after("delivery.thread-gone")).toMatchObject({ do: "send", route: { chatId: "c", replyTo: "m" } });
  });

  it("gives up an edit that is refused on disk, before the new message leaves", () => {
    const step = after("delivery.refused", { row: { ...row, takesOver: preview } }, { takesOver: preview });
    expect(step).toMatchObject({ do: "end", outcome: { state: "waiting", nextAt: 1_000, dropTakeOver: true } });
  });

  it("follows a group to its new id", () => {
    const error = new DeliveryError("delivery.chat-migrated", "moved", { newChatId: "n" });
    expect(after("delivery.chat-migrated", { error })).toMatchObject({ do: "send", route: { chatId: "n", threadId: "t" } });
    expect(after("delivery.chat-migrated", { error }, { takesOver: preview })).toMatchObject({
      do: "end",
      outcome: { route: { chatId: "n" }, dropTakeOver: true },
    });
  });

  it("has an answer to every code, and each repeats or falls back only towards an end", () => {
    for (const code of codes) {
      let step = after(code);
      for (let round = 0; step.do === "send" && round < 5; round += 1) step = after(code, {}, step);
      expect(step.do, code).not.toBe("send");
    }
  });

  it("backs off to at most five minutes", () => {
    expect([0, 1, 2, 3].map((attempts) => backoff(attempts))).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(backoff(1_000)).toBe(300_000);
  });
});
