/** The atomic file write: whole content, private mode, nothing left behind. */
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeAtomically } from "../../../src/storage/atomic-file.js";
import { tempHome } from "../../support/temp-home.js";

describe("writing a file atomically", () => {
  it("replaces the content, keeps the file private and leaves no other file", () => {
    const home = tempHome();
    const path = join(home.dir, "people", "p1", "USER.md");

    writeAtomically(path, "first");
    writeAtomically(path, "second · 第二");

    expect(readFileSync(path, "utf8")).toBe("second · 第二");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(home.dir, "people")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(home.dir, "people", "p1"))).toEqual(["USER.md"]);
  });

  it("leaves nothing behind when the target cannot be replaced", () => {
    const home = tempHome();
    const path = join(home.dir, "taken");
    mkdirSync(join(path, "inside"), { recursive: true });

    expect(() => writeAtomically(path, "text")).toThrow();

    expect(readdirSync(home.dir)).toEqual(["taken"]);
  });
});
