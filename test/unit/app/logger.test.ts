import { describe, expect, it } from "vitest";
import { createLogger } from "../../../src/app/logger.js";
import { createRedactor } from "../../../src/safety/redact.js";

function logged(act: (logger: ReturnType<typeof createLogger>) => void, level: "debug" | "info" = "info"): Record<string, unknown>[] {
  const lines: string[] = [];
  const redactor = createRedactor({ secrets: ["hunter2secret"] });
  act(createLogger({ level, redactor, destination: { write: (line) => void lines.push(line) } }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("the log", () => {
  it("writes one JSON object per line with level, time, fields and message", () => {
    const [line] = logged((logger) => logger.info({ chat: "42" }, "started"));

    expect(line).toMatchObject({ level: "info", chat: "42", msg: "started" });
    expect(Date.parse(String(line?.["time"]))).not.toBeNaN();
  });

  it("leaves out what is below its level", () => {
    expect(logged((logger) => logger.debug({}, "quiet"))).toEqual([]);
    expect(logged((logger) => logger.debug({}, "loud"), "debug")).toHaveLength(1);
  });

  it("blanks a secret wherever it stands: message, field, child, error, stack, cause", () => {
    const lines = logged((logger) => {
      const error = new Error("GET /bothunter2secret/getMe failed", { cause: new Error("hunter2secret") });
      logger.child({ url: "http://x/hunter2secret" }).error({ error, list: [{ deep: "hunter2secret" }] }, "hunter2secret again");
    });

    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain("hunter2secret");
    expect(JSON.stringify(lines)).toContain("/getMe failed");
  });

  it("never throws, whatever it is given", () => {
    const odd: Record<string, unknown> = { big: 1n, when: new Date(Number.NaN), map: new Map([["a", 1]]), call: () => 1 };
    odd["self"] = odd;

    expect(logged((logger) => logger.warn(odd, "odd"))[0]).toMatchObject({ level: "warn", msg: "odd", big: "1" });
  });
});
