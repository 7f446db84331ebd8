/**
 * What became of an outbound call, as a DeliveryError. The question each case answers is "can it have arrived?": only
 * where it certainly did not may the code allow a repeat.
 */
import { DeliveryError, errorText } from "../../src/domain/errors.js";
import { asFields, fieldsOf, numberOf, textOf } from "./fields.js";

/** What the transport saw of one call. */
export interface CallTrace {
  /** HTTP status, once headers came. */
  status?: number;
  /** True when the answer said it is JSON. */
  json?: boolean;
  /** Milliseconds of the Retry-After header. */
  retryAfterMs?: number;
}

const codes = {
  auth: [
    "invalid_auth",
    "not_authed",
    "token_revoked",
    "token_expired",
    "account_inactive",
    "not_allowed_token_type",
    "app_missing_action_url",
  ],
  markup: [
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "invalid_attachments",
    "markdown_text_conflict",
    "blocks_too_long",
  ],
  chat: [
    "channel_not_found",
    "not_in_channel",
    "is_archived",
    "is_inactive",
    "user_not_found",
    "user_disabled",
    "cannot_dm_bot",
    "messages_tab_disabled",
    "restricted_action",
    "restricted_action_read_only_channel",
    "restricted_action_non_threadable_channel",
    "restricted_action_thread_only_channel",
    "restricted_action_thread_locked",
    "team_access_not_granted",
    "posting_to_general_channel_denied",
    "not_in_conversation",
    "access_denied",
    "team_not_found",
    "ekm_access_denied",
    "enterprise_is_restricted",
  ],
  thread: ["thread_not_found", "cannot_reply_to_message", "invalid_thread_ts", "parent_not_found"],
  limited: ["ratelimited", "rate_limited", "message_limit_exceeded"],
  /** The service says that nothing was done. */
  failed: ["service_unavailable", "request_timeout", "team_added_to_org", "missing_scope", "no_permission", "upgrade_required"],
  /** The service says that something may have been done ("some aspect of the operation may have succeeded"). */
  unclear: ["internal_error", "fatal_error"],
} as const;

/** Codes after which the token is of no use any more. */
export function isAuthCode(code: string | undefined): boolean {
  return code !== undefined && (codes.auth as readonly string[]).includes(code);
}

/** Slack's own error code of a failed call, if Slack answered at all. */
export function platformCode(error: unknown): string | undefined {
  const fields = asFields(error);
  return fields?.["code"] === "slack_webapi_platform_error" ? textOf(fieldsOf(fields, "data"), "error") : undefined;
}

/** The scope Slack says is missing, with `missing_scope`. */
export function neededScope(error: unknown): string | undefined {
  const fields = asFields(error);
  return fields === undefined ? undefined : textOf(fieldsOf(fields, "data"), "needed");
}

const defaultWaitMs = 5_000;

/** Error classes of Node and undici for connections that were never made: nothing left this machine. */
const unreached: ReadonlySet<string> = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "EPROTO",
]);

/** True when a network error says that the connection was never made. */
export function neverLeft(error: unknown): boolean {
  for (let current = asFields(error), depth = 0; current !== undefined && depth < 5; depth += 1) {
    const code = textOf(current, "code");
    if (code !== undefined && unreached.has(code)) return true;
    const several = current["errors"];
    if (Array.isArray(several) && several.length > 0) return several.every((item) => neverLeft(item));
    current = asFields(current["cause"] ?? current["original"]);
  }
  return false;
}

/** Turns any failure of a Web API call into a DeliveryError. `method` is for the message only. */
export function deliveryError(method: string, error: unknown, trace: CallTrace): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const [code, message, retryAfterMs] = judge(error, trace);
  return new DeliveryError(code, `${method}: ${message}`, { cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}

type Judgement = readonly [code: DeliveryError["code"], message: string, retryAfterMs?: number | undefined];

function judge(error: unknown, trace: CallTrace): Judgement {
  const { status } = trace;
  if (status === undefined) return neverLeft(error) ? ["delivery.not-sent", "no connection"] : ["delivery.unknown", errorText(error)];
  if (status === 429) return ["delivery.rate-limited", "rate limit", trace.retryAfterMs ?? defaultWaitMs];
  if (trace.json !== true) return ["delivery.unknown", `status ${status} without Slack's answer`];
  if (status >= 500) return ["delivery.not-sent", `status ${status}`];
  const code = platformCode(error);
  if (code === undefined) return status >= 400 ? ["delivery.refused", `status ${status}`] : ["delivery.unknown", errorText(error)];
  const scope = neededScope(error);
  return [codeFor(code), scope === undefined ? code : `${code} (${scope})`, inList(codes.limited, code) ? retryAfter(error) : undefined];
}

function inList(list: readonly string[], code: string): boolean {
  return list.includes(code);
}

function codeFor(code: string): DeliveryError["code"] {
  if (inList(codes.markup, code)) return "delivery.markup-refused";
  if (inList(codes.chat, code)) return "delivery.chat-gone";
  if (inList(codes.thread, code)) return "delivery.thread-gone";
  if (inList(codes.limited, code)) return "delivery.rate-limited";
  if (inList(codes.failed, code) || inList(codes.auth, code)) return "delivery.not-sent";
  if (inList(codes.unclear, code)) return "delivery.unknown";
  return "delivery.refused";
}

function retryAfter(error: unknown): number {
  const fields = asFields(error) ?? {};
  const seconds = numberOf(fieldsOf(fieldsOf(fields, "data"), "response_metadata"), "retryAfter");
  return seconds === undefined ? defaultWaitMs : seconds * 1000;
}
