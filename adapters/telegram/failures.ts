/**
 * Failed Bot API calls -> what may be done next. Telegram has codes for few refusals, so some are told apart by the
 * beginning of its description, which is protocol text; our own decisions are on the codes that come out of here.
 */
import { TelegramError } from "telegraf";
import { AdapterError, DeliveryError, errorText, type DeliveryCode } from "../../src/domain/errors.js";
import { CallError } from "./api.js";

/** Telegram's answer, when there was one. */
export interface Refusal {
  readonly code: number;
  readonly description: string;
  readonly retryAfterMs: number | undefined;
  readonly migratedTo: string | undefined;
}

/** Wait when Telegram says "too many requests" without saying how long. */
const defaultRetryMs = 5_000;

/** Reads Telegram's refusal; undefined for network failures and for 5xx answers that are not Telegram's own. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof CallError)) return undefined;
  const cause = error.cause;
  if (!(cause instanceof TelegramError)) return undefined;
  if (cause.code >= 500 && !error.progress.json) return undefined;
  const said: { readonly description?: unknown } = cause; // a broken server may leave it out
  const { retry_after: seconds, migrate_to_chat_id: migrated } = cause.parameters ?? {};
  return {
    code: cause.code,
    description: typeof said.description === "string" ? said.description : "",
    retryAfterMs: cause.code === 429 ? (seconds === undefined ? defaultRetryMs : seconds * 1000) : undefined,
    migratedTo: migrated === undefined ? undefined : String(migrated),
  };
}

/** 400 descriptions after "Bad Request: ", lower case, by their beginning or a telling part. */
const descriptions: readonly (readonly [RegExp, DeliveryCode])[] = [
  [/^(can't parse (entit|messageentity)|entity |unsupported start tag)/, "delivery.markup-refused"],
  [/^(message to be replied not found|replied message not found|reply message not found)/, "delivery.reply-gone"],
  [/^(message thread not found|topic_(deleted|closed|id_invalid))/, "delivery.thread-gone"],
  [
    /^(chat not found|user not found|peer_id_invalid|chat_write_forbidden|chat_restricted|user_is_blocked|group chat was deactivated|have no rights to send|not enough rights|need administrator rights|bot is not a member)/,
    "delivery.chat-gone",
  ],
];

/** The DeliveryError of a failed send, edit, removal or reaction. The message holds no token and nothing a person wrote. */
export function deliveryError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const refusal = refusalOf(error);
  if (refusal !== undefined) {
    const code = refusalCode(refusal);
    return new DeliveryError(code, `Telegram: ${refusal.code} ${refusal.description}`, {
      cause: error,
      ...(refusal.retryAfterMs === undefined ? {} : { retryAfterMs: refusal.retryAfterMs }),
      ...(code === "delivery.chat-migrated" && refusal.migratedTo !== undefined ? { newChatId: refusal.migratedTo } : {}),
    });
  }
  if (!(error instanceof CallError))
    return new DeliveryError("delivery.refused", "the message could not be made into a request", { cause: error });
  const { connected, status, ended } = error.progress;
  // A page in place of an answer: a 4xx of something in between did not pass the request on; of a 5xx nobody knows.
  const certain = !connected || (status !== undefined && status >= 400 && status < 500);
  const why =
    ended === "timeout"
      ? "no answer in time"
      : ended === "stopped"
        ? "ended by us"
        : status === undefined
          ? "connection failed"
          : `HTTP ${status}`;
  return new DeliveryError(certain ? "delivery.not-sent" : "delivery.unknown", `Telegram: ${why}`, { cause: error });
}

function refusalCode(refusal: Refusal): DeliveryCode {
  if (refusal.migratedTo !== undefined) return "delivery.chat-migrated";
  if (refusal.code === 429) return "delivery.rate-limited";
  if (refusal.code === 403) return "delivery.chat-gone";
  // 401 and 404: the token is wrong. The operator can mend that, so the message waits; 409: a poller's quarrel.
  if (refusal.code >= 500 || refusal.code === 401 || refusal.code === 404 || refusal.code === 409) return "delivery.not-sent";
  if (refusal.code !== 400) return "delivery.refused";
  const said = refusal.description.replace(/^bad request: /i, "").toLowerCase();
  return descriptions.find(([beginning]) => beginning.test(said))?.[1] ?? "delivery.refused";
}

/** True for a 400 whose description, after "Bad Request: ", begins like one of these (lower case). */
export function saysBadRequest(error: unknown, ...beginnings: readonly string[]): boolean {
  const refusal = refusalOf(error);
  if (refusal?.code !== 400) return false;
  const said = refusal.description.replace(/^bad request: /i, "").toLowerCase();
  return beginnings.some((beginning) => said.startsWith(beginning));
}

/** Telegram answers 401 to an unknown token and 404 to one of the wrong form. */
export function isBadToken(error: unknown): boolean {
  const code = refusalOf(error)?.code;
  return code === 401 || code === 404;
}

/** The AdapterError of a failed connection. */
export function connectionError(error: unknown): AdapterError {
  if (error instanceof AdapterError) return error;
  if (isBadToken(error)) {
    return new AdapterError("adapter.auth", "Telegram refuses the bot token: check telegram.token (TELEGRAM_BOT_TOKEN)", { cause: error });
  }
  if (!(error instanceof CallError))
    return new AdapterError("adapter.lost", `Telegram could not be started: ${errorText(error)}`, { cause: error });
  const refusal = refusalOf(error);
  const why = refusal === undefined ? "Telegram does not answer" : `Telegram: ${refusal.code} ${refusal.description}`;
  return new AdapterError("adapter.lost", why, {
    cause: error,
    ...(refusal?.retryAfterMs === undefined ? {} : { retryAfterMs: refusal.retryAfterMs }),
  });
}
