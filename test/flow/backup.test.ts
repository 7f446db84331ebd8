/** Backup and restore as an operator does them, beside a gateway that is being talked to. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import SqliteDriver from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { backUp, type Manifest } from "../../src/app/backup.js";
import { restore } from "../../src/app/restore.js";
import { openDatabase } from "../../src/storage/database.js";
import { writeAtomically } from "../../src/storage/atomic-file.js";
import { runCli } from "../support/cli.js";
import { environmentOf, operatorId, quiet, startGateway, textsIn, until, world, type World } from "../support/gateway.js";
import { collectingLogger, systemClock } from "../support/runtime.js";
import { tempHome } from "../support/temp-home.js";

const operators = { MNEME_OPERATORS: `telegram:${operatorId}` };

async function talked(): Promise<World> {
  const where = await world({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId);
  return where;
}

function rows<Row>(file: string, sql: string): Row[] {
  const db = new SqliteDriver(file, { readonly: true });
  try {
    return db.prepare(sql).all() as Row[];
  } finally {
    db.close();
  }
}

describe("mneme backup", () => {
  it("copies database and files of the same moment while both are being written", async () => {
    const home = tempHome();
    const data = home.path("data");
    const db = await openDatabase({ file: home.path("data", "mneme.db"), logger: collectingLogger(), clock: systemClock });
    let [written, stop] = [0, false];
    const page = home.path("data", "people", "p1", "USER.md");
    // As memory does: the row and the file are one transaction.
    const write = (): Promise<void> =>
      db.write((tx) => {
        written += 1;
        tx.run("insert into settings (scope, key, value, updated_at) values ('test', ?, ?, 0)", [`n${written}`, "x".repeat(20_000)]);
        writeAtomically(page, `entry ${written}`);
      });
    for (let n = 0; n < 300; n += 1) await write();
    const writer = (async () => {
      while (!stop) {
        await write();
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();

    const found: { readonly file: number; readonly database: number; readonly check: unknown }[] = [];
    for (let round = 0; round < 4; round += 1) {
      const before = written;
      const target = home.path(`backup-${round}`);
      await backUp({ dataDir: data, target, now: Date.now() });
      expect(written).toBeGreaterThan(before);
      const [count] = rows<{ n: number }>(`${target}/mneme.db`, "select count(*) n from settings where scope = 'test'");
      const [check] = rows(`${target}/mneme.db`, "pragma quick_check");
      found.push({ file: Number(readFileSync(`${target}/people/p1/USER.md`, "utf8").split(" ")[1]), database: count?.n ?? 0, check });
    }
    stop = true;
    await writer;
    await db.close();

    expect(found.map(({ file }) => file)).toEqual(found.map(({ database }) => database));
    expect(found.map(({ check }) => check)).toEqual(found.map(() => ({ quick_check: "ok" })));
  }, 60_000);

  it("takes pages, skills and attachments, and leaves out locks, old copies and unfinished writes", async () => {
    const where = await talked();
    const running = await startGateway(where, operators);
    const data = where.home.path("data");
    for (const path of [
      "people/p1/USER.md",
      "skills/brew/SKILL.md",
      "spaces/s1/MEMORY.md",
      "media/a/photo.jpg",
      "SOUL.md",
      "mneme.db.old",
      "people/p1/.USER.md.x.tmp",
    ]) {
      mkdirSync(`${data}/${path.split("/").slice(0, -1).join("/")}`, { recursive: true });
      writeFileSync(`${data}/${path}`, path);
    }

    const target = where.home.path("backup");
    const finished = await runCli(["backup", target], { cwd: where.home.dir, env: environmentOf(where) });
    const manifest = JSON.parse(readFileSync(`${target}/backup.json`, "utf8")) as Manifest;

    expect(finished).toMatchObject({ code: 0 });
    expect(manifest.files.map(({ path }) => path).filter((path) => !/index|snapshot/.test(path))).toEqual([
      "SOUL.md",
      "media/a/photo.jpg",
      "mneme.db",
      "people/p1/USER.md",
      "skills/brew/SKILL.md",
      "spaces/s1/MEMORY.md",
    ]);
    await running.stop();
  }, 40_000);

  it("refuses a folder that holds something, and one inside the data folder", async () => {
    const where = await talked();
    await startGateway(where, operators);
    mkdirSync(where.home.path("full"));
    writeFileSync(where.home.path("full", "note.txt"), "mine");
    const deps = { dataDir: where.home.path("data"), now: Date.now() };

    await expect(backUp({ ...deps, target: where.home.path("full") })).rejects.toMatchObject({ code: "input.invalid" });
    await expect(backUp({ ...deps, target: where.home.path("data", "backup") })).rejects.toMatchObject({ code: "input.invalid" });
    expect(readdirSync(where.home.path("full"))).toEqual(["note.txt"]);
  });
});

describe("mneme restore", () => {
  it("brings the conversation back, and sends nothing that was still unsent when the backup was made", async () => {
    const where = await talked();
    const first = await startGateway(where, operators);
    where.telegram.say(operatorId, "hello");
    await until("the answer", () => textsIn(where).length === 1);
    await quiet(where);
    const down = where.telegram.fail("sendMessage", { status: 500 });
    where.telegram.say(operatorId, "and now?");
    const file = where.home.path("data", "mneme.db");
    await until(
      "an unsent answer",
      () => rows<{ n: number }>(file, "select count(*) n from outbox where state = 'waiting' and attempts > 0")[0]?.n === 1,
    );
    await backUp({ dataDir: where.home.path("data"), target: where.home.path("backup"), now: Date.now() });
    down();
    await until("the second answer", () => textsIn(where).length === 2, 20_000);
    await quiet(where);
    await first.stop();

    const finished = await runCli(["restore", where.home.path("backup"), "--force"], { cwd: where.home.dir, env: environmentOf(where) });
    const sent = textsIn(where).length;
    const second = await startGateway(where, operators);
    where.telegram.say(operatorId, "are you back?");
    await until("an answer", () => textsIn(where).length === sent + 1);
    await quiet(where);

    expect(finished).toMatchObject({ code: 0, err: "" });
    expect(finished.out).toContain("1 unsent messages");
    expect(rows(file, "select state, error from outbox where state = 'expired'")).toEqual([
      { state: "expired", error: "restored from a backup" },
    ]);
    expect(textsIn(where)).toHaveLength(3);
    // The conversation of before is the one that goes on.
    expect(JSON.stringify(where.model.requests.at(-1)?.body.messages)).toContain("hello");
    expect(readdirSync(where.home.path("data")).filter((name) => name.startsWith("before-restore-"))).toHaveLength(1);
    await second.stop();
  }, 60_000);

  it("refuses a folder that holds something, a running gateway or worker, and a backup that was changed", async () => {
    const where = await talked();
    const running = await startGateway(where, operators);
    const source = where.home.path("backup");
    await backUp({ dataDir: where.home.path("data"), target: source, now: Date.now() });
    const here = { source, dataDir: where.home.path("data"), now: Date.now() };

    const whileRunning = await runCli(["restore", source, "--force"], { cwd: where.home.dir, env: environmentOf(where) });
    await running.stop();
    await expect(restore({ ...here, force: false })).rejects.toMatchObject({ code: "input.invalid" });
    const db = new SqliteDriver(where.home.path("data", "mneme.db"));
    db.prepare("insert into job_workers (worker, at) values ('host-w1', ?)").run(Date.now());
    await expect(restore({ ...here, force: true })).rejects.toMatchObject({ code: "store.owned" });
    db.prepare("delete from job_workers").run();
    db.close();
    writeFileSync(where.home.path("backup", "mneme.db"), "changed");
    await expect(restore({ ...here, force: true })).rejects.toMatchObject({ code: "input.invalid" });

    expect(whileRunning.code).toBe(1);
    expect(whileRunning.err).toContain("Another gateway is running");
    expect(existsSync(where.home.path("data", "mneme.db"))).toBe(true);
    expect(readdirSync(where.home.path("data")).filter((name) => name.startsWith("before-restore-"))).toEqual([]);
  }, 40_000);

  it("fills an empty folder, and refuses a backup without its list", async () => {
    const where = await talked();
    const running = await startGateway(where, operators);
    const source = where.home.path("backup");
    await backUp({ dataDir: where.home.path("data"), target: source, now: Date.now() });
    await running.stop();

    const restored = await restore({ source, dataDir: where.home.path("elsewhere"), force: false, now: Date.now() });
    mkdirSync(where.home.path("half"));
    writeFileSync(where.home.path("half", "mneme.db"), readFileSync(where.home.path("backup", "mneme.db")));

    expect(restored.aside).toBeUndefined();
    expect(readdirSync(where.home.path("elsewhere"))).toContain("mneme.db");
    await expect(
      restore({ source: where.home.path("half"), dataDir: where.home.path("third"), force: false, now: Date.now() }),
    ).rejects.toMatchObject({ code: "input.invalid" });
  });
});
