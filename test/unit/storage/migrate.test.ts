/** Schema steps: whole or not at all, once each, backed up. */
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openDatabase, type OpenOptions } from "../../../src/storage/database.js";
import type { Migration } from "../../../src/storage/migrate.js";
import { migrations } from "../../../src/storage/migrations.js";
import { tempHome, type TempHome } from "../../support/temp-home.js";
import { startChild } from "./child-process.js";
import { openTestDatabase, recordingLogger, testClock } from "./open-stores.js";

function step(name: string, sql: string): Migration {
  return { name, up: (tx) => tx.exec(sql) };
}

const first = step("first", "create table one (n integer) strict; insert into one values (1);");
const second = step("second", "create table two (n integer) strict;");
const third = step("third", "create table three (n integer) strict;");
const failing: Migration = {
  name: "third",
  up(tx) {
    tx.exec("create table three (n integer) strict;");
    throw new Error("power cut");
  },
};

function open(home: TempHome, steps: readonly Migration[], more: Partial<OpenOptions> = {}) {
  return openDatabase({ file: home.path("mneme.db"), logger: recordingLogger(), clock: testClock(), migrations: steps, ...more });
}

describe("migrations", () => {
  it("ST-06: leave the version where it was when a step fails, and complete at the next start", async () => {
    const home = tempHome();
    await (await open(home, [first, second])).close();

    await expect(open(home, [first, second, failing])).rejects.toThrow("power cut");

    const between = await open(home, [first, second]);
    expect(await between.schemaVersion()).toBe(2);
    expect(await between.read((tx) => tx.all("select name from sqlite_schema where name = 'three'"))).toEqual([]);
    await between.close();
    const after = await open(home, [first, second, third]);
    expect(await after.schemaVersion()).toBe(3);
    await after.close();
  });

  it("ST-06: two processes that start at once are both fine, and each step runs once", async () => {
    const home = tempHome();
    const file = home.path("mneme.db");

    const children = [startChild("storage-process.ts", ["migrate", file]), startChild("storage-process.ts", ["migrate", file])];

    for (const child of children) {
      expect(await child.ended, child.errors()).toBe(0);
      expect(child.lines()).toEqual([`version ${migrations.length + 1} rows 200000`]);
    }
  }, 30_000);

  it("ST-07: back up an existing file once for each version and keep the newest three", async () => {
    const home = tempHome();
    const steps = Array.from({ length: 6 }, (_, index) => step(`s${index}`, `create table t${index} (n integer) strict;`));
    await (await open(home, steps.slice(0, 1))).close();
    expect(readdirSync(home.dir)).toEqual(["mneme.db"]);

    await expect(open(home, [...steps.slice(0, 1), failing])).rejects.toThrow("power cut");
    await expect(open(home, [...steps.slice(0, 1), failing])).rejects.toThrow("power cut");
    expect(readdirSync(home.dir).filter((name) => name.endsWith(".backup"))).toEqual(["mneme.db.schema-1.backup"]);

    for (let count = 2; count <= steps.length; count += 1) await (await open(home, steps.slice(0, count))).close();
    expect(readdirSync(home.dir).sort()).toEqual([
      "mneme.db",
      "mneme.db.schema-3.backup",
      "mneme.db.schema-4.backup",
      "mneme.db.schema-5.backup",
    ]);
    const backup = await open({ ...home, path: () => home.path("mneme.db.schema-5.backup") }, steps.slice(0, 5));
    expect(await backup.schemaVersion()).toBe(5);
    await backup.close();
  });

  it("refuse a file of a newer program, and an older one where migrating is not allowed", async () => {
    const home = tempHome();
    await (await open(home, [first, second])).close();

    await expect(open(home, [first])).rejects.toMatchObject({ code: "store.unsupported" });
    await expect(open(home, [first, step("renamed", "select 1;")])).rejects.toMatchObject({ code: "store.unsupported" });
    await expect(open(home, [first, second, third], { migrate: false })).rejects.toMatchObject({ code: "store.unsupported" });
    await (await open(home, [first, second], { migrate: false })).close();
  });

  it("let a worker notice that another process has raised the schema", async () => {
    const home = tempHome();
    const worker = await open(home, [first]);
    await (await open(home, [first, second])).close();

    expect(await worker.schemaVersion()).toBe(2);
    await worker.close();
  });

  it("give a file that passes SQLite's own checks", async () => {
    const db = await openTestDatabase(tempHome());
    expect(await db.read((tx) => [tx.get("pragma integrity_check"), tx.all("pragma foreign_key_check")])).toEqual([
      { integrity_check: "ok" },
      [],
    ]);
    expect(await db.schemaVersion()).toBe(migrations.length);
  });
});
