/** One gateway per data folder. */
import { chmodSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { lockDataFolder } from "../../../src/storage/data-folder.js";
import { tempHome } from "../../support/temp-home.js";
import { startChild } from "./child-process.js";

describe("the data folder", () => {
  it("RC-12: is free again as soon as its gateway is dead, however it ended", async () => {
    const home = tempHome();
    const other = startChild("storage-process.ts", ["lock", home.dir]);
    await other.line("locked");

    expect(() => lockDataFolder(home.dir)).toThrow(
      expect.objectContaining({ code: "store.owned", message: expect.stringContaining(home.dir) }),
    );
    await other.kill();

    lockDataFolder(home.dir).release();
  }, 20_000);

  it("RC-12: is not held by what a dead process or this process once wrote into it", () => {
    const home = tempHome();
    writeFileSync(home.path("gateway.pid"), String(process.pid));

    const first = lockDataFolder(home.dir);
    expect(() => lockDataFolder(home.dir)).toThrow(expect.objectContaining({ code: "store.owned" }));
    first.release();

    lockDataFolder(home.dir).release();
  });

  it("is made private", () => {
    const home = tempHome();
    const made = lockDataFolder(home.path("data"));
    expect(statSync(home.path("data")).mode & 0o777).toBe(0o700);
    made.release();
    chmodSync(home.path("data"), 0o755);

    const again = lockDataFolder(home.path("data"));

    expect(again.isPrivate).toBe(true);
    expect(statSync(home.path("data")).mode & 0o777).toBe(0o700);
    again.release();
  });
});
