/** The database under contention, on a full disk, damaged, killed and outdated. */
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import Sqlite from "better-sqlite3";
import { describe, expect, it, vi } from "vitest";
import { waitBefore, whileBusy } from "../../../src/storage/busy-retry.js";
import { openDatabase, versionAtLeast } from "../../../src/storage/database.js";
import { tempHome } from "../../support/temp-home.js";
import { startChild } from "./child-process.js";
import { openTestDatabase, openTestStores, recordingLogger, testClock, type LoggedLine } from "./open-stores.js";

const insert = "insert into settings (scope, key, value, updated_at) values (?, ?, ?, 0)";

/** The longest time in which the event loop did nothing else while `work` ran, in milliseconds. */
async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  await work();
  clearInterval(timer);
  return longest;
}

/** A thread that always has a snapshot open, each for 20 ms; `stop` tells how many it had. */
function steadyReader(file: string): { stop(): Promise<number> } {
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    const db = new (require(workerData.driver))(workerData.file, { readonly: true, timeout: 1000 });
    let snapshots = 0;
    function next() {
      if (db.inTransaction) db.exec("commit");
      db.exec("begin");
      db.prepare("select * from settings limit 1").get();
      snapshots += 1;
    }
    const timer = setInterval(next, 20);
    parentPort.once("message", () => { clearInterval(timer); db.close(); parentPort.postMessage(snapshots); });`;
  const driver = createRequire(import.meta.url).resolve("better-sqlite3");
  const thread = new Worker(code, { eval: true, workerData: { driver, file } });
  return {
    async stop() {
      thread.postMessage("stop");
      const [snapshots] = (await once(thread, "message")) as [number];
      await thread.terminate();
      return snapshots;
    },
  };
}

describe("a locked database", () => {
  it("ST-01: waits for a lock held 300 ms by another process without blocking the event loop", { retry: 2 }, async () => {
    const home = tempHome();
    const db = await openTestDatabase(home);
    const other = startChild("storage-process.ts", ["hold", db.file]);
    await vi.waitUntil(() => existsSync(`${db.file}.holding`), { timeout: 10_000, interval: 2 });

    const started = performance.now();
    const pause = await longestPause(() => db.write((tx) => tx.run(insert, ["a", "k", "v"])));

    expect(performance.now() - started).toBeGreaterThan(100);
    expect(pause).toBeLessThan(50);
    expect(await db.read((tx) => tx.all("select scope from settings order by scope"))).toEqual([{ scope: "a" }, { scope: "hold" }]);
    expect(await other.ended).toBe(0);
  });

  it("gives up with a retryable error after about a second, having written nothing", async () => {
    const db = await openTestDatabase(tempHome());
    const holder = new Sqlite(db.file);
    holder.exec("begin immediate");

    await expect(db.write((tx) => tx.run(insert, ["a", "k", "v"]))).rejects.toMatchObject({ code: "store.busy", retryable: true });

    holder.exec("rollback");
    holder.close();
    expect(await db.read((tx) => tx.all("select * from settings"))).toEqual([]);
  });

  it("keeps trying for the inbox, in the order of the calls, and says so in the log", async () => {
    const home = tempHome();
    const lines: LoggedLine[] = [];
    const db = await openTestDatabase(home, { logger: recordingLogger(lines) });
    const holder = new Sqlite(db.file);
    holder.exec("begin immediate");

    const writes = ["1", "2", "3"].map((key) => db.write((tx) => tx.run(insert, ["a", key, "v"]).id, { patient: true }));
    await vi.waitUntil(() => lines.some((line) => line.level === "warn"), { timeout: 5000 });
    holder.exec("rollback");
    holder.close();

    const ids = await Promise.all(writes);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  });

  it("ends a waiting write when it closes", async () => {
    const db = await openTestDatabase(tempHome());
    const holder = new Sqlite(db.file);
    holder.exec("begin immediate");
    const waiting = db.write((tx) => tx.run(insert, ["a", "k", "v"]), { patient: true });
    const rejected = expect(waiting).rejects.toMatchObject({ code: "store.busy" });

    await db.close();

    await rejected;
    await expect(db.read(() => 1)).rejects.toMatchObject({ code: "store.busy" });
    holder.close();
  });

  it("waits 1, 2, 4, 8 ms, then fifteen times 20 to 150 ms", async () => {
    const waits: number[] = [];
    for (let index = 0; ; index += 1) {
      const wait = waitBefore(index, false, () => 0.999);
      if (wait === undefined) break;
      waits.push(wait);
    }
    expect(waits).toEqual([1, 2, 4, 8, ...Array.from({ length: 15 }, () => 150)]);
    expect(waitBefore(4, false, () => 0)).toBe(20);
    await expect(whileBusy(() => 7, { file: "f", signal: new AbortController().signal })).resolves.toBe(7);
  });
});

describe("transactions", () => {
  it("rolls everything back when the work throws, refuses to write in a read and to await", async () => {
    const db = await openTestDatabase(tempHome());

    await expect(
      db.write((tx) => {
        tx.run(insert, ["a", "k", "v"]);
        throw new Error("stop");
      }),
    ).rejects.toThrow("stop");
    await expect(db.read((tx) => tx.run(insert, ["a", "k", "v"]))).rejects.toMatchObject({ code: "internal" });
    await expect(db.write(async (tx) => Promise.resolve(tx.run(insert, ["a", "k", "v"])))).rejects.toMatchObject({ code: "internal" });

    expect(await db.read((tx) => tx.all("select * from settings"))).toEqual([]);
  });

  it("lets writes of one moment share a commit, each succeeding or failing alone and in order", async () => {
    const db = await openTestDatabase(tempHome());
    const before = await db.read((tx) => tx.all("select * from settings"));
    const writes = Array.from({ length: 50 }, (_, n) =>
      db.write((tx) => {
        const { id } = tx.run(insert, ["a", `k${n}`, "v"]);
        if (n % 10 === 3) throw new Error(`no ${n}`);
        return id;
      }),
    );

    const results = await Promise.allSettled(writes);

    const failed = results.flatMap((result, n) => (result.status === "rejected" ? [[n, String(result.reason)]] : []));
    expect(before).toEqual([]);
    expect(failed).toEqual([3, 13, 23, 33, 43].map((n) => [n, `Error: no ${n}`]));
    const keys = await db.read((tx) => tx.all<{ key: string }>("select key from settings order by rowid"));
    expect(keys.map((row) => row.key)).toEqual(results.flatMap((result, n) => (result.status === "fulfilled" ? [`k${n}`] : [])));
  });

  it("stores what was asked for before it closes", async () => {
    const home = tempHome();
    const db = await openTestDatabase(home);
    const writing = db.write((tx) => tx.run(insert, ["a", "k", "v"]));
    await db.close();
    await writing;

    const again = await openTestDatabase(home);
    expect(await again.read((tx) => tx.all("select key from settings"))).toEqual([{ key: "k" }]);
  });

  it("notices what another connection has written", async () => {
    const home = tempHome();
    const [db, other] = [await openTestDatabase(home), await openTestDatabase(home)];
    const before = db.dataVersion();
    await db.write((tx) => tx.run(insert, ["a", "own", "v"]));
    expect(db.dataVersion()).toBe(before);

    await other.write((tx) => tx.run(insert, ["a", "other", "v"]));

    expect(db.dataVersion()).not.toBe(before);
  });

  it("writes leases on the second connection and sees them on the first", async () => {
    const db = await openTestDatabase(tempHome());
    await db.write((tx) => tx.run(insert, ["a", "k", "v"]), { soft: true });
    expect(await db.read((tx) => tx.get("select value from settings"))).toEqual({ value: "v" });
  });

  it("makes the file private", async () => {
    const db = await openTestDatabase(tempHome());
    await db.write((tx) => tx.run(insert, ["a", "k", "v"]));
    for (const end of ["", "-wal", "-shm"]) expect(statSync(db.file + end).mode & 0o077).toBe(0);
  });
});

describe("the write-ahead log", () => {
  it("ST-03: stays bounded with a steady reader", async () => {
    const home = tempHome();
    const limit = 2 * 1024 * 1024;
    const db = await openTestDatabase(home, { truncateAboveBytes: limit });
    await db.checkpoint();
    const reader = steadyReader(db.file);
    let largest = 0;
    const text = "x".repeat(3000);

    for (let n = 0; n < 10_000; n += 1) {
      await db.write((tx) => tx.run(insert, ["a", `k${n}`, text]), { soft: true });
      if (n % 50 !== 0) continue;
      largest = Math.max(largest, statSync(`${db.file}-wal`).size);
      // At most 10,000 writes a second: far more than a gateway makes, and the other threads get their turn on a small machine.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }

    expect(await db.checkpoint()).toBeLessThanOrEqual(limit);
    expect(await reader.stop()).toBeGreaterThan(5);
    // 10,000 rows of 3 kB make over 150 MB of log when nobody cuts it.
    expect(largest).toBeLessThan(64 * 1024 * 1024);
    expect(statSync(db.file).size).toBeGreaterThan(8 * 1024 * 1024);
  }, 30_000);

  it("is empty after closing", async () => {
    const db = await openTestDatabase(tempHome());
    await db.write((tx) => tx.run(insert, ["a", "k", "v"]));
    await db.checkpoint();
    await db.close();
    await db.close();
    expect(existsSync(`${db.file}-wal`)).toBe(false);
  });
});

describe("a full disk", () => {
  it("says store.full, loses nothing that was stored and goes on when there is room", async () => {
    const stores = await openTestStores(tempHome());
    const kept = await stores.outbox.add([
      { kind: "reply", route: { platform: "chat", chatId: "c" }, part: { plain: "kept", payload: null } },
    ]);
    const pages = await stores.db.write((tx) => tx.get<{ page_count: number }>("pragma page_count")?.page_count ?? 0);
    await stores.db.write((tx) => tx.get(`pragma max_page_count = ${pages + 2}`));
    const big = { kind: "reply", route: { platform: "chat", chatId: "c" }, part: { plain: "x".repeat(100_000), payload: null } } as const;

    await expect(stores.outbox.add([big])).rejects.toMatchObject({ code: "store.full", retryable: false });

    expect((await stores.outbox.heads(stores.clock.time, 9)).map((row) => row.id)).toEqual(kept);
    const mixed = await Promise.allSettled([
      stores.access.noteWrongTry("x", 1),
      stores.outbox.add([big]),
      stores.access.noteWrongTry("x", 2),
    ]);
    expect(mixed.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await stores.access.wrongTries("x", 0)).toBe(2);
    await stores.db.write((tx) => tx.get("pragma max_page_count = 1000000"));
    expect(await stores.outbox.add([big])).toHaveLength(1);
  });
});

describe("a damaged or foreign file", () => {
  it("ST-07, ST-08: is refused with a clear message, and at most one copy is kept however often it is tried", async () => {
    const home = tempHome();
    writeFileSync(home.path("mneme.db"), "this is not a database, ".repeat(400));

    for (let attempt = 0; attempt < 3; attempt += 1) {
      const opening = openDatabase({ file: home.path("mneme.db"), logger: recordingLogger(), clock: testClock() });
      await expect(opening).rejects.toMatchObject({ code: "store.corrupt", message: expect.stringContaining("restore a backup") });
    }

    expect(readdirSync(home.dir).sort()).toEqual(["mneme.db", "mneme.db.damaged"]);
  });

  it("ST-08: reports a damaged page as what it is, not as an empty result", async () => {
    const home = tempHome();
    const stores = await openTestStores(home);
    for (let n = 0; n < 300; n += 1) {
      await stores.db.write((tx) => tx.run(insert, ["a", `k${n}`, "x".repeat(500)]), { soft: true });
    }
    await stores.db.close();
    const bytes = readFileSync(stores.file);
    bytes.fill(0xa5, bytes.length - 20 * 4096);
    writeFileSync(stores.file, bytes);

    const reading = openDatabase({ file: stores.file, logger: recordingLogger(), clock: testClock() }).then(async (db) => {
      try {
        return await db.read((tx) => tx.all("select value from settings"));
      } finally {
        await db.close();
      }
    });

    await expect(reading).rejects.toMatchObject({ code: "store.corrupt" });
  });

  it("ST-09: refuses a SQLite library that can damage the file", async () => {
    const home = tempHome();
    const opening = openDatabase({ file: home.path("mneme.db"), logger: recordingLogger(), clock: testClock(), minimumVersion: "99.1.0" });

    await expect(opening).rejects.toMatchObject({ code: "store.unsupported" });

    expect(versionAtLeast("3.50.4", "3.51.3")).toBe(false);
    expect(versionAtLeast("3.51.3", "3.51.3")).toBe(true);
    expect(versionAtLeast("3.100.0", "3.51.3")).toBe(true);
    expect(versionAtLeast("4.0", "3.51.3")).toBe(true);
  });
});

describe("a kill", () => {
  it("in the middle of writing leaves whole transactions only, and all that were confirmed", async () => {
    const home = tempHome();
    const file = home.path("mneme.db");
    for (let round = 0; round < 2; round += 1) {
      const child = startChild("storage-process.ts", ["pairs", file]);
      await child.line("writing");
      await child.kill();

      const db = await openTestDatabase(home);
      const rows = await db.read((tx) => tx.all<{ scope: string; key: string }>("select scope, key from settings"));
      const check = await db.read((tx) => tx.get("pragma integrity_check"));
      const [left, right] = ["left", "right"].map((scope) => rows.filter((row) => row.scope === scope).map((row) => row.key));
      expect(check).toEqual({ integrity_check: "ok" });
      expect(left?.sort()).toEqual(right?.sort());
      const confirmed = readFileSync(`${file}.confirmed`, "utf8").split("\n").slice(0, -1);
      expect(left).toEqual(expect.arrayContaining(confirmed.map((n) => `k${n}`)));
      await db.write((tx) => tx.exec("delete from settings"));
      await db.close();
      writeFileSync(`${file}.confirmed`, "");
      appendFileSync(`${file}.confirmed`, "");
    }
  }, 30_000);
});
