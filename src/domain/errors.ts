/**
 * The one error class family and its code table. Decide on `code`, `retryable` and the class; never on message text.
 * Delays are milliseconds, always. A test compares this table with docs/errors.md.
 */

export const errorCodes = {
  "config.invalid": "A setting is wrong or missing; the message names key, value and what is allowed.",
  "store.busy": "The database stayed locked for the whole waiting time; nothing was written; may be tried again.",
  "store.full": "The disk is full or not writable; nothing was written.",
  "store.corrupt": "The database file is damaged; restore a backup.",
  "store.unsupported": "The SQLite library is older than 3.51.3 or the schema is newer than this program.",
  "store.owned": "Another gateway process uses this data folder.",
  "turn.outdated": "The turn lost its claim (stopped, interrupted, timed out or taken over); it may neither post nor write.",
  "turn.not-found": "There is no such turn.",
  "adapter.auth": "The platform refused the credentials; the message names the setting.",
  "adapter.conflict": "Another program uses the same bot token.",
  "adapter.setup": "The platform refuses because a permission, intent or scope is missing; the message names it.",
  "adapter.lost": "The connection to the platform was lost and will be built again.",
  "delivery.not-sent": "The request certainly did not reach the platform, or the platform said it failed; may be sent again.",
  "delivery.rate-limited": "The platform asked to wait; may be sent again after retryAfterMs.",
  "delivery.unknown": "The request left and no answer came: it may or may not have arrived. Never sent again blindly.",
  "delivery.markup-refused": "The platform cannot parse the markup; send the plain form once.",
  "delivery.refused": "The platform refuses this message for good (too long, invalid); sending it again is useless.",
  "delivery.reply-gone": "The message replied to no longer exists; send without the reply.",
  "delivery.thread-gone": "The topic or thread no longer exists; send to the chat itself.",
  "delivery.chat-gone": "The chat cannot be written to (blocked, kicked, locked, deleted); mark it and stop.",
  "delivery.chat-migrated": "The chat has a new id; send there.",
  "download.too-large": "The file is larger than the platform or the configuration allows.",
  "download.failed": "The file could not be fetched.",
  "download.wrong-type": "What came is not the file (for example a login page).",
  "access.denied": "The caller may not do this here.",
  "input.invalid": "What was typed or passed is not valid; the message says what is.",
  "job.invalid": "A job's payload has an unknown kind or version; it stays visible as failed.",
  "job.postponed": "The job gave way and is taken up again after retryAfterMs; not counted as a failure.",
  "provider.unavailable": "The external memory does not answer, or its circuit breaker is open.",
  internal: "A fault of this program.",
} as const;

export type ErrorCode = keyof typeof errorCodes;

const retryableCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "store.busy",
  "adapter.conflict",
  "adapter.lost",
  "delivery.not-sent",
  "delivery.rate-limited",
  "job.postponed",
  "provider.unavailable",
]);

export interface ErrorDetails {
  readonly cause?: unknown;
  /** Milliseconds to wait before a repeat. */
  readonly retryAfterMs?: number;
  readonly retryable?: boolean;
}

/** Base of every error this program throws on purpose. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = details.retryable ?? retryableCodes.has(code);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Settings are wrong: the operator must act. */
export class ConfigError extends GatewayError {}

/** The store could not do it. */
export class StoreError extends GatewayError {}

/** A platform adapter as a whole failed. */
export class AdapterError extends GatewayError {}

export type DeliveryCode = Extract<ErrorCode, `delivery.${string}`>;

/** One outbound call failed; `code` says what may be done next. */
export class DeliveryError extends GatewayError {
  declare readonly code: DeliveryCode;
  /** With `delivery.chat-migrated`: the chat's new id. */
  readonly newChatId: string | undefined;

  constructor(code: DeliveryCode, message: string, details: ErrorDetails & { readonly newChatId?: string } = {}) {
    super(code, message, details);
    this.newChatId = details.newChatId;
  }
}

/** The text of any thrown value, for logs only (it must pass the log's redaction). */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
