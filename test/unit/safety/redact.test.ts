import { describe, expect, it } from "vitest";
import { containsSecret, createRedactor } from "../../../src/safety/redact.js";

const redactor = createRedactor({ secrets: ["hunter2-pass", 'we"ird&key', "abc"] });

describe("redaction", () => {
  it.each([
    ["Incorrect API key provided: sk-test-1234.", "sk-test-1234"],
    ["Incorrect API key provided: sk-proj-AbC_123-xyz", "AbC_123-xyz"],
    ["POST https://api.telegram.org/bot123:AAA/sendMessage failed", "123:AAA"],
    ["GET https://api.telegram.org/file/bot123:AAA/photos/1.jpg", "123:AAA"],
    ["token 1234567890:AAEhBOweik6ad6PsVtdGz-abcdefghijk", "AAEhBOweik6ad6PsVtdGz"],
    ["Authorization: Bearer abc.def-123", "abc.def-123"],
    ["header Bot MTk4NjIy.x.y-12345678", "MTk4NjIy"],
    ["xoxb-1234-5678-abcDEF", "1234-5678"],
    ["xapp-1-A0-123-abcdef", "A0-123"],
    ["ghp_0123456789abcdef0123456789", "0123456789abcdef"],
    ["AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"],
    ["redis://user:pa55@redis.local:6379", "pa55"],
    ["https://x.example/cb?token=zzz999&x=1", "zzz999"],
    ['{"api_key": "plainvalue"}', "plainvalue"],
    ["password=letmein now", "letmein"],
    ["configured hunter2-pass here", "hunter2-pass"],
    ["in a URL we%22ird%26key", "we%22ird%26key"],
    ['in JSON we\\"ird&key', 'we\\"ird&key'],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij", "eyJzdWIiOi"],
    ["-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----", "abc\n"],
  ])("MC-13: hides the secret in %j", (text, secret) => {
    const clean = redactor.text(text);

    expect(clean).not.toContain(secret);
    expect(clean).toContain("[redacted]");
    expect(redactor.text(clean)).toBe(clean);
  });

  it.each([
    "The task-list has 12 items; ask-2 follows.",
    "alphabet abc is too short to be a secret",
    "basic training and a bot that works",
    "bearer of good news",
    "sk-learn is a library",
    "https://example.org/path?q=hello",
    "password reset works",
    "12:30:45 and 10:20",
  ])("leaves %j alone", (text) => {
    expect(redactor.text(text)).toBe(text);
  });

  it("hides values under secret names in objects and keeps the rest", () => {
    const logged = redactor.value({
      headers: { authorization: "x", Cookie: "y", "x-api-key": "z", accept: "json" },
      botToken: "t",
      inputTokens: 5,
      max_tokens: 6,
      session: { key: "telegram/dm/1" },
      list: ["ok", "sk-test-1234"],
    });

    expect(logged).toEqual({
      headers: {
        authorization: "[redacted]",
        Cookie: "[redacted]",
        "x-api-key": "[redacted]",
        accept: "json",
      },
      botToken: "[redacted]",
      inputTokens: 5,
      max_tokens: 6,
      session: { key: "telegram/dm/1" },
      list: ["ok", "sk-[redacted]"],
    });
  });

  it("MC-13: cleans errors with their causes, request details and cycles", () => {
    const cause = Object.assign(new Error("401: sk-test-1234"), {
      config: { url: "https://t/bot123:AAA/getMe" },
    });
    const error: Error & { self?: unknown } = new Error("failed with hunter2-pass", { cause });
    error.self = error;

    const text = JSON.stringify(redactor.value(error));

    expect(text).not.toMatch(/sk-test-1234|123:AAA|hunter2-pass/u);
    expect(text).toContain("[circular]");
    expect(text).toContain("401");
  });

  it("survives getters that throw and values JSON does not know", () => {
    const odd = {
      big: 5n,
      when: new Date(0),
      bytes: new Uint8Array(3),
      map: new Map([["a", "sk-test-1234"]]),
      get bad(): string {
        throw new Error("no");
      },
    };

    expect(redactor.value(odd)).toEqual({
      big: "5",
      when: "1970-01-01T00:00:00.000Z",
      bytes: "[3 bytes]",
      map: [["a", "sk-[redacted]"]],
      bad: "[unreadable]",
    });
  });

  it("tells whether a text holds a secret of a known shape", () => {
    expect(containsSecret("key is sk-test-1234")).toBe(true);
    expect(containsSecret("key is in the vault")).toBe(false);
    expect(containsSecret("key is sk-test-1234")).toBe(true);
  });
});
