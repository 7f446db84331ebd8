/**
 * Calls of Slack's Web API through the library's client: no retry inside, a deadline, and an abort signal that reaches
 * the socket. One client per call, because the library has no signal of its own and its shared queue would let a rate
 * limit on edits hold back answers.
 */
import { DeliveryError } from "../../src/domain/errors.js";
import type { Logger } from "../../src/ports/runtime.js";
import { deliveryError, isAuthCode, platformCode, type CallTrace } from "./api-errors.js";
import { boltLogger, loadBolt } from "./bolt.js";
import type { Fields } from "./fields.js";

export interface ApiDeps {
  readonly token: string;
  readonly apiUrl: string;
  readonly timeoutMs: number;
  readonly logger: Logger;
  /** Called when Slack says that the token is of no use any more. */
  readonly onAuthLost: (code: string) => void;
}

export class SlackApi {
  readonly #deps: ApiDeps;

  constructor(deps: ApiDeps) {
    this.#deps = deps;
  }

  /** The token, for the file host. */
  get token(): string {
    return this.#deps.token;
  }

  /**
   * Makes one call and gives Slack's answer. Rejects with DeliveryError; an abort before the request left is
   * `delivery.not-sent`, afterwards `delivery.unknown`.
   */
  async call(method: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<Fields> {
    if (signal?.aborted === true)
      throw new DeliveryError("delivery.not-sent", `${method}: aborted before it was sent`, { cause: signal.reason });
    const bolt = await loadBolt();
    const trace: CallTrace = {};
    const client = new bolt.webApi.WebClient(this.#deps.token, {
      slackApiUrl: this.#deps.apiUrl,
      retryConfig: { retries: 0 },
      timeout: this.#deps.timeoutMs,
      rejectRateLimitedCalls: true,
      allowAbsoluteUrls: false,
      logger: boltLogger(bolt, this.#deps.logger),
      fetch: tracingFetch(trace, signal),
    });
    try {
      return (await client.apiCall(method, args)) as unknown as Fields;
    } catch (error) {
      const code = platformCode(error);
      if (code !== undefined && isAuthCode(code) && trace.json === true) this.#deps.onAuthLost(code);
      throw deliveryError(method, error, trace);
    }
  }
}

/** The global fetch that also obeys `signal` and notes what came back. */
export function tracingFetch(trace: CallTrace, signal: AbortSignal | undefined): typeof fetch {
  return async (input, init) => {
    const signals = [init?.signal, signal].filter((item): item is AbortSignal => item !== undefined && item !== null);
    const response = await fetch(input, { ...init, ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }) });
    trace.status = response.status;
    trace.json = response.headers.get("content-type")?.includes("application/json") === true;
    const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
    if (!Number.isNaN(seconds)) trace.retryAfterMs = seconds * 1000;
    return response;
  };
}
