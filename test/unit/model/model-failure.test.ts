import { APIConnectionError, APIError } from "openai";
import { describe, expect, it } from "vitest";
import { causeOf } from "../../../src/model/model-failure.js";

const now = Date.parse("2026-01-01T00:00:00Z");
const body = { max_tokens: 5, stream_options: {} };

function thrown(status: number, error: object, headers: Record<string, string> = {}): APIError {
  return APIError.generate(status, { error }, undefined, new Headers(headers));
}

describe("the class of a model failure", () => {
  const rows: readonly (readonly [string, unknown, object])[] = [
    [
      "a rate limit",
      thrown(429, { message: "slow down" }, { "retry-after": "7" }),
      { failure: "rate-limit", repeat: true, retryAfterMs: 7000 },
    ],
    [
      "a rate limit in milliseconds",
      thrown(429, {}, { "retry-after-ms": "250", "retry-after": "9" }),
      { failure: "rate-limit", retryAfterMs: 250 },
    ],
    ["a rate limit until a date", thrown(429, {}, { "retry-after": "Thu, 01 Jan 2026 00:00:05 GMT" }), { retryAfterMs: 5000 }],
    ["a used-up quota", thrown(429, { code: "insufficient_quota" }), { failure: "rate-limit", repeat: false }],
    ["a wrong key", thrown(401, {}), { failure: "auth", repeat: false }],
    ["no credit", thrown(402, {}), { failure: "auth", repeat: false }],
    ["an overloaded server", thrown(529, {}), { failure: "server", repeat: true }],
    ["a gateway time-out", thrown(504, {}), { failure: "server", repeat: true }],
    ["a server's request time-out", thrown(408, {}), { failure: "timeout", repeat: true }],
    ["a prompt too long, by code", thrown(400, { code: "context_length_exceeded" }), { failure: "too-long", repeat: false }],
    [
      "a prompt too long, by words of a llama server",
      thrown(400, { message: "the request exceeds the available context size" }),
      { failure: "too-long" },
    ],
    ["a prompt too long, as a 500", thrown(500, { message: "input is too long for the context window" }), { failure: "too-long" }],
    ["a body too large", thrown(413, {}), { failure: "too-long" }],
    ["an unknown model", thrown(404, { message: "model not found" }), { failure: "bad-request", repeat: false }],
    ["a refused field by param", thrown(400, { param: "stream_options" }), { failure: "bad-request", refusedField: "stream_options" }],
    [
      "a refused field by words that name its successor too",
      thrown(400, { message: "'max_tokens' is not supported, use 'max_completion_tokens'" }),
      { refusedField: "max_tokens" },
    ],
    [
      "a frame with an upstream status",
      new APIError(undefined, { code: 502, message: "x" }, undefined, undefined),
      { failure: "server", repeat: true },
    ],
    ["a frame without a code", new APIError(undefined, { message: "x" }, undefined, undefined), { failure: "server", repeat: true }],
    ["a refused connection", new APIConnectionError({ message: "Connection error." }), { failure: "network", repeat: true }],
    [
      "a silence that Node itself ended",
      new TypeError("terminated", { cause: Object.assign(new Error("Body Timeout Error"), { code: "UND_ERR_BODY_TIMEOUT" }) }),
      { failure: "timeout", repeat: true },
    ],
    ["a cut stream", new TypeError("terminated"), { failure: "network", repeat: true }],
    ["a frame that is not JSON", new SyntaxError("Unexpected token"), { failure: "protocol", repeat: true }],
    ["something that is no error", "odd", { failure: "network", detail: "odd" }],
  ];
  for (const [what, error, expected] of rows) {
    it(`is told apart for ${what}`, () => {
      expect(causeOf(error, { now, body })).toMatchObject(expected);
    });
  }

  it("names no field that was not sent", () => {
    expect(causeOf(thrown(400, { message: "temperature must be below 2" }), { now, body })).not.toHaveProperty("refusedField");
  });
});
