/**
 * Why a call to an MCP server failed, and what the model is told. Decided on codes, never on a message's text; the words of the server
 * itself come fenced.
 */
import { errorText } from "../domain/errors.js";
import { fenced } from "./result.js";

/**
 * `down`: the call certainly was not run. `lost`: the connection broke in the call. `session-gone`: the server forgot us; not run. `timeout`: no
 * answer in time. `auth`: our credentials were refused. `refused`: the server answered with an error. `other`: anything else.
 */
export type FailureKind = "down" | "lost" | "session-gone" | "timeout" | "auth" | "refused" | "other";

/** A failed call, in words for the model. */
export class McpCallError extends Error {
  override readonly name = "McpCallError";
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Network codes that say that nothing reached the server. */
const unreached = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Sorts what the client library threw. */
export function failureKind(error: unknown): FailureKind {
  const code = propertyOf(error, "code");
  if (code === "REQUEST_TIMEOUT") return "timeout";
  if (code === "NOT_CONNECTED") return "down";
  if (code === "CONNECTION_CLOSED" || code === "SEND_FAILED") return "lost";
  const status = propertyOf(error, "status");
  if (status === 404) return "session-gone";
  if (status === 401 || status === 403 || code === "CLIENT_HTTP_AUTHENTICATION" || code === "CLIENT_HTTP_FORBIDDEN") return "auth";
  if (typeof code === "number") return "refused";
  if (typeof status === "number") return "other";
  const network = networkCode(error);
  if (network === undefined) return "other";
  return unreached.has(network) ? "down" : "lost";
}

/** True when the connection is of no more use after this. */
export function endsConnection(kind: FailureKind): boolean {
  return kind === "down" || kind === "lost" || kind === "session-gone";
}

export interface FailedCall {
  readonly server: string;
  /** The tool's own name. */
  readonly tool: string;
  readonly effect: "read" | "once";
  readonly timeoutMs: number;
}

/** The failure as the model reads it. */
export function callError(error: unknown, call: FailedCall): McpCallError {
  const kind = failureKind(error);
  const server = `The MCP server "${call.server}"`;
  const outcome = call.effect === "once" ? "whether the call had an effect is unknown" : "the call has no effects and may be made again";
  switch (kind) {
    case "down":
    case "session-gone":
      return downError(call.server, undefined, error);
    case "lost":
      return new McpCallError(kind, `${server} went away during this call; ${outcome}.`, error);
    case "timeout":
      return new McpCallError(kind, `${server} did not answer within ${call.timeoutMs / 1000} s; ${outcome}.`, error);
    case "auth":
      return new McpCallError(kind, `${server} refuses our credentials (mcp.servers.${call.server}.headers); the call was not run.`, error);
    case "refused":
    case "other":
      return new McpCallError(
        kind,
        `${server} could not do it:\n${fenced(errorText(error), { server: call.server, tool: call.tool })}`,
        error,
      );
  }
}

/** For a call that could not be made. `reason`: what the last attempt to connect said. */
export function downError(server: string, reason?: string, cause?: unknown): McpCallError {
  const because = reason === undefined ? "" : ` (${reason})`;
  return new McpCallError(
    "down",
    `The MCP server "${server}" is down${because}; the call was not run. Its tools work again once it is back.`,
    cause,
  );
}

/** A system or fetch error's code, its own or its cause's (fetch hides it there); the library's own codes are none. */
export function networkCode(error: unknown): string | undefined {
  return [propertyOf(error, "code"), propertyOf(propertyOf(error, "cause"), "code")]
    .filter((code) => typeof code === "string")
    .find((code) => /^(?:E[A-Z0-9]+|EAI_[A-Z]+|UND_ERR_[A-Z_]+)$/.test(code));
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}
