/**
 * What follows from one failed send: pure, by error code alone. Certainly not delivered is repeated; unknown is looked
 * up or said; permanent ends.
 */
import { DeliveryError, GatewayError, errorText } from "../domain/errors.js";
import type { Route, SentRef } from "../domain/message.js";
import type { Capabilities } from "../ports/platform-adapter.js";
import type { OutboxOutcome, OutboxRow } from "../ports/mailbox.js";

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
  const { current, error } = situation;
  if (current.do !== "send") return end({ state: "refused", error: errorText(error) });
  if (!(error instanceof GatewayError)) return end({ state: "unknown", error: errorText(error) });
  const refused = end({ state: "refused", error: error.message });
  switch (error.code) {
    case "delivery.not-sent":
    case "delivery.rate-limited":
      return repeat(situation, current, error);
    case "delivery.unknown":
      return ambiguous(situation, current, error);
    case "delivery.markup-refused":
      return current.plain ? refused : { ...current, plain: true };
    case "delivery.reply-gone":
      return current.route.replyTo === undefined ? refused : { ...current, route: without(current.route, "replyTo") };
    case "delivery.thread-gone":
      return current.route.threadId === undefined ? refused : { ...current, route: without(current.route, "threadId") };
    case "delivery.chat-migrated":
      return migrated(situation, current, error) ?? refused;
    case "delivery.refused":
      // A preview that cannot be edited any more is replaced by a new message.
      return current.takesOver === undefined ? refused : anew(situation, current.route, error);
    case "delivery.chat-gone":
      return refused;
    default:
      return end({ state: "unknown", error: error.message });
  }
}

type Sending = Extract<NextStep, { do: "send" }>;

function repeat({ row, now }: Situation, current: Sending, error: GatewayError): NextStep {
  const wait = error.retryAfterMs ?? backoff(row.attempts);
  // Edits that stay limited would hold the answer back for ever, and a message once given up is not edited again.
  const limitedAgain = error.code === "delivery.rate-limited" && row.attempts > 0;
  const dropTakeOver = row.takesOver !== undefined && (current.takesOver === undefined || limitedAgain);
  const outcome: OutboxOutcome = { state: "waiting", nextAt: now + wait, error: error.message, route: current.route };
  return end(dropTakeOver ? { ...outcome, dropTakeOver } : outcome);
}

/** Repeated only where a repeat cannot double anything; otherwise looked up where the platform can tell. */
function ambiguous(situation: Situation, current: Sending, error: GatewayError): NextStep {
  const { row, now, resend } = situation;
  const harmless = current.takesOver !== undefined || (resend === "safe" && now - row.createdAt < safeResendMs);
  if (harmless) return repeat(situation, current, error);
  return resend === "blind" ? end({ state: "unknown", error: error.message }) : { do: "look-up" };
}

function migrated(situation: Situation, current: Sending, error: GatewayError): NextStep | undefined {
  const chatId = error instanceof DeliveryError ? error.newChatId : undefined;
  if (chatId === undefined || chatId === current.route.chatId) return undefined;
  const route = { ...without(current.route, "replyTo"), chatId };
  return current.takesOver === undefined ? { ...current, route } : anew(situation, route, error);
}

/** As a new message instead of an edit. On disk first: after a crash an edit is repeated blindly, a send never is. */
function anew({ now }: Situation, route: Route, error: GatewayError): NextStep {
  return end({ state: "waiting", nextAt: now, error: error.message, route, dropTakeOver: true });
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
