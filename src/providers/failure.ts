/** What an SDK's error means here. Decided on the HTTP status alone; whatever is not a clear refusal counts as "try again later". */
import { GatewayError, errorText } from "../domain/errors.js";

/** The request itself is wrong: repeating it is useless. */
const refusals: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);

export function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("status" in error)) return undefined;
  return typeof error.status === "number" ? error.status : undefined;
}

export function isMissing(error: unknown): boolean {
  return statusOf(error) === 404;
}

/** Maps any thrown value; our own errors pass. */
export function providerError(name: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const status = statusOf(error);
  if (status !== undefined && refusals.has(status)) {
    return new GatewayError("input.invalid", `${name} refuses this (HTTP ${status}): ${errorText(error)}`, { cause: error });
  }
  if (error instanceof Error && error.name === "ZodError") {
    return new GatewayError("input.invalid", `${name}'s client refuses this: ${errorText(error)}`, { cause: error });
  }
  const why = status === 401 || status === 403 ? `it refuses our key (HTTP ${status})` : errorText(error);
  const after = retryAfterOf(error);
  return new GatewayError("provider.unavailable", `${name}: ${why}`, {
    cause: error,
    ...(after === undefined ? {} : { retryAfterMs: after }),
  });
}

/** An answer that is not what its page describes. */
export function garbage(name: string, what: string): GatewayError {
  return new GatewayError("provider.unavailable", `${name} answered ${what} in a form that nobody described.`);
}

function retryAfterOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("retryAfter" in error)) return undefined;
  return typeof error.retryAfter === "number" ? error.retryAfter : undefined;
}

export function text(name: string, what: string, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") throw garbage(name, what);
  return value;
}

export function texts(name: string, what: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value) || value.some((one) => typeof one !== "string")) throw garbage(name, what);
  return value as string[];
}
