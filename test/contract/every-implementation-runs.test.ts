/** Folder listing = registry = list of contract tests: a new adapter cannot be forgotten by the suite, nor by the registry. */
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { registry, terminal } from "../../adapters/registry.js";

const list = (path: string): string[] => readdirSync(new URL(path, import.meta.url)).toSorted();
const tests = list(".").filter((name) => name.endsWith(".test.ts"));
const folders = readdirSync(new URL("../../adapters", import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .toSorted();

describe("every implementation", () => {
  it("is an adapter folder that the registry knows", () => {
    expect([terminal.platform, ...registry.map((entry) => entry.platform)].toSorted()).toEqual(folders);
  });

  it("runs the adapter suite", () => {
    const tested = tests.map((name) => /^platform-adapter\.(\w+)\.test\.ts$/.exec(name)?.[1]).filter((name) => name !== undefined);

    expect(tested).toEqual(folders);
  });

  it("has a suite that is run by at least one test", () => {
    const suites = list(".").filter((name) => name.endsWith(".contract.ts"));

    expect(suites.filter((suite) => !tests.some((test) => test.startsWith(suite.replace(".contract.ts", "."))))).toEqual([]);
  });
});
