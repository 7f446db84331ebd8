/**
 * A second process on a database, for tests: holds the gateway lock, migrates, or writes pairs without end until it is
 * killed. Arguments: what to do, and the path.
 */
import { appendFileSync } from "node:fs";
import { lockDataFolder } from "../../../src/storage/data-folder.js";
import { openDatabase } from "../../../src/storage/database.js";
import { migrations } from "../../../src/storage/migrations.js";
import type { Migration } from "../../../src/storage/migrate.js";

const [task, path] = process.argv.slice(2);
const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
const clock = { now: () => Date.now(), after: () => () => undefined };

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A step that takes a while and would fail if it ran twice. */
const slowStep: Migration = {
  name: "slow",
  up(tx) {
    tx.exec("create table raced (n integer) strict");
    tx.run("with recursive c(n) as (select 1 union all select n + 1 from c where n < 200000) insert into raced select n from c");
  },
};

async function main(): Promise<void> {
  if (task === undefined || path === undefined) throw new Error("usage: storage-process TASK PATH");
  if (task === "lock") {
    lockDataFolder(path);
    say("locked");
    setInterval(() => undefined, 1000);
    return;
  }
  if (task === "migrate") {
    const db = await openDatabase({ file: path, logger: silent, clock, migrations: [...migrations, slowStep] });
    const version = await db.schemaVersion();
    const rows = await db.read((tx) => tx.get<{ n: number }>("select count(*) as n from raced")?.n);
    await db.close();
    say(`version ${version} rows ${rows}`);
    return;
  }
  if (task === "pairs") {
    const db = await openDatabase({ file: path, logger: silent, clock });
    for (let n = 0; ; n += 1) {
      await db.write((tx) => {
        tx.run("insert into settings (scope, key, value, updated_at) values ('left', ?, ?, ?)", [`k${n}`, "x".repeat(2000), n]);
        tx.run("insert into settings (scope, key, value, updated_at) values ('right', ?, ?, ?)", [`k${n}`, "x".repeat(2000), n]);
      });
      appendFileSync(`${path}.confirmed`, `${n}\n`);
      if (n === 20) say("writing");
    }
  }
  if (task === "hold") {
    const db = await openDatabase({ file: path, logger: silent, clock });
    say("ready");
    await db.write((tx) => {
      tx.run("insert into settings (scope, key, value, updated_at) values ('hold', 'k', 'v', 0)");
      appendFileSync(`${path}.holding`, "now");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    });
    await db.close();
    return;
  }
  throw new Error(`unknown task ${task}`);
}

await main();
