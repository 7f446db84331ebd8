/**
 * Discord's refusals -> what may be done next. Decided on Discord's numeric codes, never on texts
 * (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json).
 */
import { AdapterError, DeliveryError, type DeliveryCode } from "../../src/domain/errors.js";
import type { Sdk } from "./sdk.js";
import { asFields, fieldsOf } from "./fields.js";
import { TransportError } from "./transport.js";

export const codes = {
  unknownChannel: 10_003,
  unknownMessage: 10_008,
  unknownWebhook: 10_015,
  unknownInteraction: 10_062,
  alreadyAcknowledged: 40_060,
  missingAccess: 50_001,
  cannotMessageUser: 50_007,
  missingPermissions: 50_013,
  invalidWebhookToken: 50_027,
  invalidForm: 50_035,
  threadArchived: 50_083,
  noMutualGuilds: 50_278,
  noHistoryForReply: 160_002,
  threadExists: 160_004,
  threadLocked: 160_005,
} as const;

const chatGone: ReadonlySet<number> = new Set([
  codes.unknownChannel,
  codes.missingAccess,
  codes.cannotMessageUser,
  codes.missingPermissions,
  codes.threadArchived,
  codes.noMutualGuilds,
  codes.threadLocked,
]);

/** The token's 15 minutes are over, or the interaction was never known. */
const interactionGone: ReadonlySet<number> = new Set([
  codes.unknownWebhook,
  codes.unknownInteraction,
  codes.invalidWebhookToken,
  codes.unknownMessage,
]);

/** Discord's own error code, when the API refused; undefined otherwise. */
export function apiCode(sdk: Sdk, error: unknown): number | undefined {
  return error instanceof sdk.DiscordAPIError && typeof error.code === "number" ? error.code : undefined;
}

export function isInteractionGone(sdk: Sdk, error: unknown): boolean {
  const code = apiCode(sdk, error);
  return code !== undefined && interactionGone.has(code);
}

/** True when the token itself was refused; the library has forgotten it by then. */
export function isUnauthorized(sdk: Sdk, error: unknown): boolean {
  return error instanceof sdk.DiscordAPIError && error.status === 401 && apiCode(sdk, error) !== codes.invalidWebhookToken;
}

/** One failed call as the port promises it. */
export function deliveryErrorOf(sdk: Sdk, error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  if (error instanceof sdk.RateLimitError) {
    const wait = Math.ceil(Math.max(error.retryAfter, error.sublimitTimeout, 0));
    return new DeliveryError("delivery.rate-limited", `Discord asks to wait (${error.global ? "whole bot" : error.route})`, {
      cause: error,
      retryAfterMs: wait,
    });
  }
  if (error instanceof TransportError) {
    return new DeliveryError(error.outcome === "not-sent" ? "delivery.not-sent" : "delivery.unknown", error.message, { cause: error });
  }
  if (error instanceof sdk.DiscordAPIError) {
    return new DeliveryError(
      refusalCode(apiCode(sdk, error), error.status, error.rawError),
      `Discord refused: code ${error.code}, HTTP ${error.status}`,
      { cause: error },
    );
  }
  // What is left comes from the library before a request left: no token after a stop, or the call was aborted while it queued.
  return new DeliveryError("delivery.not-sent", "the request was not made", { cause: error });
}

function refusalCode(code: number | undefined, status: number, raw: unknown): DeliveryCode {
  if (code !== undefined && chatGone.has(code)) return "delivery.chat-gone";
  if (code === codes.noHistoryForReply) return "delivery.reply-gone";
  if (code === codes.invalidForm && asFields(fieldsOf(asFields(raw) ?? {}, "errors")["message_reference"]) !== undefined)
    return "delivery.reply-gone";
  return status === 401 ? "delivery.not-sent" : "delivery.refused";
}

/** Gateway close codes that no reconnect mends (https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway). */
export function fatalClose(code: number): AdapterError | undefined {
  switch (code) {
    case 4004:
      return tokenRefused();
    case 4010:
    case 4011:
      return new AdapterError("adapter.setup", "Discord wants this bot to be sharded (more than 2500 servers), which is not supported");
    case 4012:
      return new AdapterError("adapter.setup", "Discord no longer accepts gateway version 10");
    case 4013:
    case 4014:
      return new AdapterError("adapter.setup", `Discord refuses the Message Content Intent. ${contentIntentRemedy}`);
    default:
      return undefined;
  }
}

export const contentIntentRemedy =
  "Switch it on at https://discord.com/developers/applications → your application → Bot → Message Content Intent.";

export function tokenRefused(cause?: unknown): AdapterError {
  return new AdapterError("adapter.auth", "Discord refused the bot token (discord.token, DISCORD_BOT_TOKEN)", { cause, retryable: false });
}

/** Why a start failed. */
export function startErrorOf(sdk: Sdk, error: unknown): AdapterError {
  if (error instanceof AdapterError) return error;
  const invalid = error instanceof sdk.DiscordjsError && error.code === sdk.DiscordjsErrorCodes.TokenInvalid;
  if (invalid || isUnauthorized(sdk, error)) return tokenRefused(error);
  const wait = error instanceof sdk.RateLimitError ? { retryAfterMs: Math.ceil(error.retryAfter) } : {};
  return new AdapterError("adapter.lost", "no connection to Discord", { cause: error, ...wait });
}
