import { describe, expect, it } from "vitest";
import { createLogger } from "../../../src/app/logger.js";

function logged(act: (logger: ReturnType<typeof createLogger>) => void, level: "debug" | "info" = "info"): Record<string, unknown>[] {
  const lines: string[] = [];
  const redact = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll("hunter2", "***"));
  act(createLogger({ level, redact, destination: { write: (line) => void lines.push(line) } }));
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
      const error = new Error("GET /bothunter2/getMe failed", { cause: new Error("hunter2") });
      logger.child({ url: "http://x/hunter2" }).error({ error, list: [{ deep: "hunter2" }] }, "hunter2 again");
    });

    expect(JSON.stringify(lines)).not.toContain("hunter2");
    expect(lines[0]).toMatchObject({ url: "http://x/***", error: { message: "GET /bot***/getMe failed", cause: { message: "***" } } });
  });

  it("never throws, whatever it is given", () => {
    const cycle: Record<string, unknown> = {
      big: 1n,
      when: new Date(Number.NaN),
      bytes: Buffer.from("abc"),
      map: new Map([["a", 1]]),
      call: () => 1,
    };
    cycle["self"] = cycle;

    expect(logged((logger) => logger.warn(cycle, "odd"))[0]).toMatchObject({
      big: "1",
      bytes: "[3 bytes]",
      map: [["a", 1]],
      call: "[function]",
    });
  });
});
