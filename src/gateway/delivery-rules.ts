/**
 * What follows from one failed send: pure, by error code alone. Certainly not delivered is repeated; unknown is looked
 * up or said; permanent ends.
 */
import { DeliveryError, GatewayError, errorText } from "../domain/errors.js";
import type { Route, SentRef } from "../domain/message.js";
import type { Capabilities } from "../ports/platform-adapter.js";
import type { OutboxOutcome, OutboxRow } from "../ports/stores.js";

export type NextStep =
  | { readonly do: "send"; readonly route: Route; readonly plain: boolean; readonly takesOver: SentRef | undefined }
  | { readonly do: "look-up" }
  | { readonly do: "end"; readonly outcome: OutboxOutcome };

export interface Situation {
  readonly row: OutboxRow;
  readonly current: NextStep;
  readonly error: unknown;
  readonly now: number;
  readonly resend: Capabilities["resend"];
}

const firstBackoffMs = 1_000;
const maxBackoffMs = 300_000;
/** How long a repeat with the same delivery id is known to be harmless where `resend` is `safe`. */
const safeResendMs = 120_000;

export function decideOutcome(situation: Situation): NextStep {
  const { row, current, error, now } = situation;
  if (current.do !== "send") return end({ state: "refused", error: errorText(error) });
  if (!(error instanceof GatewayError)) return end({ state: "unknown", error: errorText(error) });
  const retry = (after: number): NextStep => end({ state: "waiting", nextAt: now + after, error: error.message, route: current.route });
  switch (error.code) {
    case "delivery.not-sent":
      return retry(error.retryAfterMs ?? backoff(row.attempts));
    case "delivery.rate-limited":
      return retry(error.retryAfterMs ?? backoff(row.attempts));
    case "delivery.unknown":
      // Edits may always be repeated.
      if (current.takesOver !== undefined) return retry(backoff(row.attempts));
      if (situation.resend === "safe" && now - row.createdAt < safeResendMs) return retry(backoff(row.attempts));
      return situation.resend === "blind" ? end({ state: "unknown", error: error.message }) : { do: "look-up" };
    case "delivery.markup-refused":
      return current.plain ? end({ state: "refused", error: error.message }) : { ...current, plain: true };
    case "delivery.reply-gone":
      return current.route.replyTo === undefined
        ? end({ state: "refused", error: error.message })
        : { ...current, route: without(current.route, "replyTo") };
    case "delivery.thread-gone":
      return current.route.threadId === undefined
        ? end({ state: "refused", error: error.message })
        : { ...current, route: without(current.route, "threadId") };
    case "delivery.chat-migrated":
      return error instanceof DeliveryError && error.newChatId !== undefined && error.newChatId !== current.route.chatId
        ? { ...current, route: { ...without(current.route, "replyTo"), chatId: error.newChatId }, takesOver: undefined }
        : end({ state: "refused", error: error.message });
    case "delivery.refused":
    case "delivery.chat-gone":
      // A preview that cannot be edited any more is replaced by a new message.
      return current.takesOver !== undefined && error.code === "delivery.refused"
        ? { ...current, takesOver: undefined }
        : end({ state: "refused", error: error.message });
    default:
      return end({ state: "unknown", error: error.message });
  }
}

/** 1, 2, 4 … seconds, at most five minutes. `attempts` counts the one that just failed. */
export function backoff(attempts: number): number {
  return Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(attempts, 16));
}

function end(outcome: OutboxOutcome): NextStep {
  return { do: "end", outcome };
}

function without(route: Route, key: "replyTo" | "threadId"): Route {
  const { [key]: _dropped, ...rest } = route;
  return rest;
}
