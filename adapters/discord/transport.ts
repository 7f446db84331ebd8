/**
 * The one place where REST requests leave. It tells apart what certainly did not arrive from what may have: the client
 * library's own errors lose that difference (a 5xx with Discord's JSON and an HTML page of a proxy look alike there).
 */
import type { RESTOptions } from "discord.js";
import type { Sdk } from "./sdk.js";
import type { Timings } from "./timings.js";

type MakeRequest = RESTOptions["makeRequest"];
type Answer = Awaited<ReturnType<MakeRequest>>;

/** A request that ended without a proper answer of the API. */
export class TransportError extends Error {
  /** `not-sent`: Discord has certainly done nothing. `unknown`: it may have. */
  readonly outcome: "not-sent" | "unknown";
  readonly status: number | undefined;

  constructor(outcome: "not-sent" | "unknown", message: string, details: { readonly status?: number; readonly cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "TransportError";
    this.outcome = outcome;
    this.status = details.status;
  }
}

/** REST options: no retry and no hidden wait inside the library; delivery decides about both. */
export function restOptions(sdk: Sdk, apiUrl: string, timings: Timings): Partial<RESTOptions> {
  return {
    api: apiUrl.replace(/\/+$/, ""),
    version: "10",
    retries: 0,
    timeout: timings.requestMs,
    offset: 0,
    rejectOnRateLimit: () => true,
    makeRequest: (url, init) => requestOnce(sdk.DefaultRestOptions.makeRequest, url, init),
  };
}

/** Before a connection stands nothing can have been sent: names, refusals, routes, TLS. */
const beforeSending =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|ENETUNREACH|EHOSTUNREACH|EHOSTDOWN|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

async function requestOnce(send: MakeRequest, url: string, init: Parameters<MakeRequest>[1]): Promise<Answer> {
  let answer: Answer;
  let text: string;
  try {
    answer = await send(url, init);
    text = await answer.text();
  } catch (error) {
    const code = codeOf(error);
    const outcome = code !== undefined && beforeSending.test(code) ? "not-sent" : "unknown";
    throw new TransportError(outcome, `request failed${code === undefined ? "" : ` (${code})`}`, { cause: error });
  }
  const json = isJson(answer.headers.get("content-type"), text);
  if (answer.status >= 500) {
    throw new TransportError(json ? "not-sent" : "unknown", `HTTP ${answer.status}`, { status: answer.status });
  }
  if (answer.status === 429) return withText(answer, json ? text : "{}");
  if (!json && answer.status !== 204) {
    // A proxy's refusal page (4xx) means that nothing was done; a page instead of a success means that nobody knows.
    throw new TransportError(answer.status >= 400 ? "not-sent" : "unknown", `HTTP ${answer.status} without JSON`, {
      status: answer.status,
    });
  }
  return withText(answer, text);
}

function isJson(type: string | null, text: string): boolean {
  if (type === null || !type.toLowerCase().startsWith("application/json")) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // a cut body is no answer; the caller decides by the status
  }
}

function withText(answer: Answer, text: string): Answer {
  const bytes = new TextEncoder().encode(text);
  return {
    body: null,
    bodyUsed: true,
    headers: answer.headers,
    ok: answer.ok,
    status: answer.status,
    statusText: answer.statusText,
    text: () => Promise.resolve(text),
    json: () => Promise.resolve(JSON.parse(text) as unknown),
    arrayBuffer: () => Promise.resolve(bytes.buffer),
  };
}

/** The system's or the HTTP client's error code, looked for through causes. */
function codeOf(error: unknown): string | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const code: unknown = "code" in at ? at.code : undefined;
    if (typeof code === "string") return code;
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return undefined;
}
