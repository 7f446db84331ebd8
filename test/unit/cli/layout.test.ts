import { describe, expect, it } from "vitest";
import { networkFileSystem } from "../../../src/cli/doctor-machine.js";
import { describeFailure } from "../../../src/cli/failure.js";
import { ago, clean, span, stamp, table } from "../../../src/cli/layout.js";
import { ConfigError, GatewayError, StoreError } from "../../../src/domain/errors.js";
import { createRedactor } from "../../../src/safety/redact.js";

describe("tables and times", () => {
  it("let no name from outside move the cursor", () => {
    expect(clean("Amy\u001b[2J\r\n\u202eevil")).toBe("Amy [2J evil");
  });

  it("stand in columns, also with wide letters", () => {
    expect(
      table(
        ["who", "what"],
        [
          ["Amy", "a"],
          ["小明", "b"],
        ],
      ),
    ).toBe("who   what\nAmy   a\n小明  b");
  });

  it("are said in the largest sensible unit", () => {
    expect([0, 119_000, 120_000, 7_200_000, 200_000_000].map(span)).toEqual(["0 s", "119 s", "2 min", "2 h", "2 days"]);
    expect(ago(undefined, 5)).toBe("never");
    expect(stamp(Date.UTC(2026, 2, 1, 14, 5, 9), "UTC")).toBe("2026-03-01 14:05:09");
  });
});

describe("a failure as a person sees it", () => {
  const redactor = createRedactor({ secrets: ["very-secret-word"] });

  it("is a sentence and a remedy without secrets, 2 for wrong settings and 1 for the rest", () => {
    const wrong = describeFailure(new ConfigError("config.invalid", "model.id is wrong: very-secret-word."), { verbose: false, redactor });
    const full = describeFailure(new StoreError("store.full", "The disk is full."), { verbose: false, redactor });

    expect(wrong).toEqual({ text: "model.id is wrong: [redacted].", exitCode: 2 });
    expect(full).toEqual({ text: "The disk is full.\nFree some space, or give another folder with --data DIR.", exitCode: 1 });
  });

  it("shows the stack and its causes only with --verbose", () => {
    const error = new GatewayError("internal", "odd", { cause: new Error("deeper") });

    expect(describeFailure(error, { verbose: false, redactor }).text).not.toContain("    at ");
    expect(describeFailure(error, { verbose: true, redactor }).text).toMatch(/odd[\s\S]* at [\s\S]*deeper/);
  });
});

describe("the doctor's list of file systems", () => {
  it("knows network file systems, whichever sign the number comes with", () => {
    expect(networkFileSystem(0x6969)).toBe("NFS");
    expect(networkFileSystem(0xff534d42 | 0)).toBe("CIFS");
    expect(networkFileSystem(0xef53)).toBeUndefined();
  });
});
