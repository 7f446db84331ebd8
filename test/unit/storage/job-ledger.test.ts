/** The rules of the job ledger on a real file, with a clock that the test owns. */
import { describe, expect, it } from "vitest";
import type { ClaimedJob, NotClaimed } from "../../../src/ports/job-queue.js";
import { insertIntents } from "../../../src/storage/intents.js";
import { closeJob, createJobLedger, heldJob } from "../../../src/storage/job-ledger.js";
import { intent } from "../../support/jobs/world.js";
import { tempHome } from "../../support/temp-home.js";
import { openTestDatabase } from "./open-stores.js";

const dayMs = 86_400_000;
const leaseMs = 1000;

async function open() {
  const db = await openTestDatabase(tempHome());
  const ledger = createJobLedger({ db });
  const add = (...intents: Parameters<typeof intent>[]) =>
    db.write((tx) =>
      insertIntents(
        tx,
        intents.map((one) => intent(...one)),
        100,
      ),
    );
  const claim = (id: string, now: number, worker = "w") => ledger.claim(id, worker, leaseMs, now);
  return { db, ledger, add, claim };
}

function job(claimed: ClaimedJob | NotClaimed): ClaimedJob {
  if (typeof claimed === "string" || !("fence" in claimed)) throw new Error(`Not claimed: ${JSON.stringify(claimed)}`);
  return claimed;
}

describe("the job ledger", () => {
  it("gives a job to one worker at a time, with a fence that grows", async () => {
    const { ledger, add, claim } = await open();
    await add(["a"]);

    const first = job(await claim("a", 1000));
    expect(first).toMatchObject({ id: "a", kind: "stretch", attempts: 1, maxAttempts: 10, fence: 1, payload: { v: 1, upTo: 1 } });
    expect(await claim("a", 1500)).toEqual({ notBefore: 2000 });

    expect(await ledger.due(1999, 10)).toEqual([]);
    expect((await ledger.due(2000, 10)).map(({ id }) => id)).toEqual(["a"]);
    expect(job(await claim("a", 2000))).toMatchObject({ attempts: 2, fence: 2 });
  });

  it("refuses everything from a worker that another one has replaced", async () => {
    const { db, ledger, add, claim } = await open();
    await add(["a"]);
    const old = job(await claim("a", 1000));
    const heir = job(await claim("a", 3000));

    expect(await ledger.heartbeat("a", old.fence, leaseMs, 3100)).toBe(false);
    await expect(ledger.finish("a", old.fence, [{ kind: "stretch", sessionId: "s", upTo: 9 }], 3100)).rejects.toMatchObject({
      code: "turn.outdated",
    });
    await expect(ledger.release("a", old.fence, { error: "x", counts: true })).rejects.toMatchObject({ code: "turn.outdated" });
    await expect(db.write((tx) => heldJob(tx, old))).rejects.toMatchObject({ code: "turn.outdated" });
    expect(await ledger.watermark("stretch", "s")).toBe(0);

    await ledger.finish("a", heir.fence, [{ kind: "stretch", sessionId: "s", upTo: 4 }], 3200);
    expect(await ledger.watermark("stretch", "s")).toBe(4);
    expect(await ledger.byId("a")).toMatchObject({ state: "done", doneAt: 3200 });
  });

  it("keeps a lease alive by heartbeats", async () => {
    const { ledger, add, claim } = await open();
    await add(["a"]);
    const held = job(await claim("a", 1000));

    expect(await ledger.heartbeat("a", held.fence, leaseMs, 1900)).toBe(true);

    expect(await ledger.due(2500, 10)).toEqual([]);
    expect(await ledger.nextDue()).toBe(2900);
  });

  it("lets the holder finish although its lease ran out, as long as nobody took over", async () => {
    const { ledger, add, claim } = await open();
    await add(["a"]);
    const held = job(await claim("a", 1000));

    await ledger.finish("a", held.fence, [], 9000);

    expect(await claim("a", 9001)).toBe("over");
  });

  it("moves watermarks forward only, and lets the holder finish twice", async () => {
    const { db, ledger, add, claim } = await open();
    await add(["a"], ["b"]);
    const a = job(await claim("a", 1000));
    await db.write((tx) => closeJob(tx, a, [{ kind: "memory-review", sessionId: "s", upTo: 8 }], 1100));

    await ledger.finish("a", a.fence, [{ kind: "memory-review", sessionId: "s", upTo: 8 }], 1200);
    const b = job(await claim("b", 1300));
    await ledger.finish("b", b.fence, [{ kind: "memory-review", sessionId: "s", upTo: 3 }], 1400);

    expect(await ledger.watermark("memory-review", "s")).toBe(8);
    expect(await ledger.watermark("skill-review", "s")).toBe(0);
  });

  it("runs one job of a kind in a session, and one review in a space", async () => {
    const { ledger, add, claim } = await open();
    await add(
      ["s1", { sessionId: "s", spaceId: "p" }],
      ["s2", { sessionId: "s", spaceId: "p" }],
      ["other", { sessionId: "t", spaceId: "p" }],
    );
    await add(["title", { kind: "title", sessionId: "s", spaceId: "p" }]);
    await add(["r1", { kind: "review", sessionId: "s", spaceId: "p" }], ["r2", { kind: "review", sessionId: "t", spaceId: "p" }]);

    const s1 = job(await claim("s1", 1000));
    job(await claim("r1", 1000));

    expect(await claim("s2", 1001)).toEqual({ notBefore: 1501 });
    expect(await claim("r2", 1001)).toEqual({ notBefore: 1501 });
    expect((await ledger.due(1001, 10)).map(({ id }) => id).sort()).toEqual(["other", "title"]);
    job(await claim("other", 1001));
    job(await claim("title", 1001));
    await ledger.finish("s1", s1.fence, [], 1002);
    job(await claim("s2", 1003));
  });

  it("does not give out a job before it is due", async () => {
    const { ledger, add, claim } = await open();
    await add(["a", { runAt: 5000 }]);

    expect(await claim("a", 4999)).toEqual({ notBefore: 5000 });
    expect(await ledger.due(4999, 10)).toEqual([]);
    expect(await ledger.nextDue()).toBe(5000);
    job(await claim("a", 5000));
  });

  it("gives the attempt back when a job gave way, and keeps the reason visible", async () => {
    const { ledger, add, claim } = await open();
    await add(["a"]);
    const first = job(await claim("a", 1000));

    await ledger.release("a", first.fence, { runAt: 2000, error: "the session is busy", counts: false });

    expect(await ledger.byId("a")).toMatchObject({ state: "open", attempts: 0, runAt: 2000, error: "the session is busy" });
  });

  it("fails a job that killed its worker at every attempt", async () => {
    const { ledger, add, claim } = await open();
    await add(["a", { kind: "title" }]);
    for (const now of [1000, 3000, 5000]) job(await claim("a", now));

    expect(await claim("a", 7000)).toEqual({ failed: "Its worker ended during attempt 3 of 3." });

    expect(await ledger.list({ state: "failed", limit: 5 })).toMatchObject([{ id: "a", attempts: 3 }]);
    expect(await claim("a", 8000)).toBe("over");
  });

  it("shows a job of an unknown kind or version as failed", async () => {
    const { db, ledger, add, claim } = await open();
    await add(["kind"], ["version"]);
    await db.write((tx) => {
      tx.run("update intents set kind = 'dream' where id = 'kind'");
      tx.run("update intents set payload = json_set(payload, '$.v', 2) where id = 'version'");
    });

    expect(await claim("kind", 1000)).toMatchObject({ failed: expect.stringContaining("dream") });
    expect(await claim("version", 1000)).toMatchObject({ failed: expect.stringContaining("v:") });

    expect(await ledger.counts()).toEqual({ open: 0, active: 0, failed: 2, oldestOpenAt: undefined });
  });

  it("retries failed jobs only, and removes none that a worker holds", async () => {
    const { ledger, add, claim } = await open();
    await add(["a"]);
    const held = job(await claim("a", 1000));

    expect(await ledger.retry("a", 1100)).toBe(false);
    expect(await ledger.remove("a", 1100)).toBe(false);
    await ledger.release("a", held.fence, { error: "broken", counts: true });
    expect(await ledger.retry("a", 1200)).toBe(true);
    expect(await ledger.byId("a")).toMatchObject({ state: "open", attempts: 0, runAt: 1200 });
    expect(await ledger.remove("a", 1300)).toBe(true);
    expect(await ledger.remove("a", 1300)).toBe(false);
    expect(await claim("a", 1400)).toBe("over");
  });

  it("keeps done jobs for 7 days and failed ones for 90", async () => {
    const { ledger, add, claim } = await open();
    await add(["done"], ["failed"], ["open"]);
    await ledger.finish("done", job(await claim("done", 1000)).fence, [], 1000);
    await ledger.release("failed", job(await claim("failed", 1000)).fence, { error: "x", counts: true });

    expect(await ledger.prune(6 * dayMs)).toBe(0);
    expect(await ledger.prune(8 * dayMs)).toBe(1);
    expect(await ledger.prune(91 * dayMs)).toBe(1);

    expect((await ledger.list({ limit: 10 })).map(({ id }) => id)).toEqual(["open"]);
  });

  it("lists the workers that were heard of lately", async () => {
    const { ledger } = await open();
    await ledger.workerBeat("old", 1000);
    await ledger.workerBeat("new", 1000);
    await ledger.workerBeat("new", 5000);

    expect(await ledger.workers(2000)).toEqual([{ worker: "new", at: 5000 }]);
    expect(await ledger.workers(0)).toHaveLength(2);
  });

  it("claims from a backlog of 20,000 jobs without a long block", async () => {
    const { db, ledger, claim } = await open();
    await db.write((tx) =>
      insertIntents(
        tx,
        Array.from({ length: 20_000 }, (_, n) => intent(`n${n}`, { sessionId: `s${n % 50}` })),
        100,
      ),
    );
    job(await claim("n0", 1000));

    const begin = performance.now();
    const due = await ledger.due(1001, 100);
    job(await claim(due[0]?.id ?? "", 1001));

    expect(performance.now() - begin).toBeLessThan(200);
    expect(due).toHaveLength(100);
  });
});
