/** The systemd unit runs what exists, stops with enough time, and sets only variables that the program knows. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { variables } from "../../config/env.js";
import { exitCodes } from "../../src/cli/failure.js";

const root = join(import.meta.dirname, "..", "..");
const unit = readFileSync(join(root, "deploy/mneme.service"), "utf8");
const valuesOf = (key: string): string[] => [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value]) => value ?? "");

describe("the systemd unit", () => {
  it("has three sections and nothing but comments and settings in them", () => {
    const lines = unit.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

    expect(lines.filter((line) => line.startsWith("["))).toEqual(["[Unit]", "[Service]", "[Install]"]);
    expect(lines.filter((line) => !/^(\[\w+\]|[A-Z]\w+=\S.*)$/.test(line))).toEqual([]);
  });

  it("starts the built program as a user of its own", () => {
    const [start = ""] = valuesOf("ExecStart");
    const built = /\/opt\/mneme\/dist\/(.+)\.js start$/.exec(start)?.[1] ?? "";

    expect(existsSync(join(root, `${built}.ts`))).toBe(true);
    expect(valuesOf("User")).toEqual(["mneme"]);
    expect(valuesOf("StateDirectoryMode")).toEqual(["0700"]);
  });

  it("stops with more time than the program takes, and does not restart on wrong settings", () => {
    expect(Number(valuesOf("TimeoutStopSec")[0])).toBeGreaterThan(25);
    expect(valuesOf("KillSignal")).toEqual(["SIGTERM"]);
    expect(valuesOf("RestartPreventExitStatus")).toEqual([String(exitCodes.usage)]);
  });

  it("sets only variables that exist", () => {
    const names = valuesOf("Environment").flatMap((line) => line.split(" ").map((pair) => pair.split("=")[0] ?? ""));

    expect(names.filter((name) => name !== "NODE_ENV" && !(name in variables))).toEqual([]);
  });
});
