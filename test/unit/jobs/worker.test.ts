/** One run of a job: lease, limits and endings, against a ledger that is a plain object. */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../src/domain/errors.js";
import { createJobRunner, type JobRunnerDeps } from "../../../src/jobs/worker.js";
import type { ClaimedJob, JobHandler, JobLedger, NotClaimed } from "../../../src/ports/job-queue.js";
import { collectingLogger, countedIds } from "../../support/runtime.js";
import { handlers } from "../../support/jobs/world.js";
import { manualClock, settled } from "./manual-clock.js";

const claimed: ClaimedJob = {
  id: "a",
  kind: "title",
  spaceId: "p",
  sessionId: "s",
  payload: { v: 1, sessionId: "s", spaceId: "p", upTo: 3 },
  attempts: 1,
  maxAttempts: 3,
  fence: 7,
};

function setUp(handler: JobHandler, more: Partial<JobRunnerDeps> = {}) {
  const clock = manualClock();
  const logger = collectingLogger();
  const calls: unknown[][] = [];
  const state = { claim: claimed as ClaimedJob | NotClaimed, isHeld: true, isAway: false };
  const ledger = {
    async claim() {
      if (state.isAway) throw new GatewayError("store.busy", "locked");
      return state.claim;
    },
    async heartbeat(id, fence) {
      calls.push(["heartbeat", id, fence]);
      if (state.isAway) throw new GatewayError("store.busy", "locked");
      return state.isHeld;
    },
    async finish(id, fence, watermarks) {
      if (!state.isHeld) throw new GatewayError("turn.outdated", "taken over");
      calls.push(["finish", id, fence, watermarks]);
    },
    async release(id, fence, outcome) {
      calls.push(["release", id, fence, outcome]);
    },
    async workerBeat(worker, now) {
      calls.push(["alive", worker, now - clock.now()]);
    },
  } satisfies Partial<JobLedger> as unknown as JobLedger;
  const deps = { ledger, handlers: handlers(handler), clock, logger, ids: countedIds("worker"), leaseMs: 3000, retryDelay: () => 250 };
  const runner = createJobRunner({ ...deps, ...more });
  const stop = new AbortController();
  return { clock, logger, calls, state, runner, stop, run: () => runner.run("a", stop.signal) };
}

/** Ends only when it is aborted. */
const untilAborted: JobHandler = (_job, { signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
const never: JobHandler = () => new Promise(() => undefined);

describe("the job runner", () => {
  it("closes a job with the watermarks its handler names", async () => {
    const watermarks = [{ kind: "title", sessionId: "s", upTo: 3 } as const];
    const { calls, run } = setUp(async () => ({ watermarks }));

    expect(await run()).toEqual({ state: "done" });
    expect(calls).toEqual([["finish", "a", 7, watermarks]]);
  });

  it("runs nothing that the ledger does not give out", async () => {
    const { state, run, calls } = setUp(() => Promise.reject(new Error("must not run")));

    state.claim = "over";
    expect(await run()).toEqual({ state: "done" });
    state.claim = { notBefore: 99 };
    expect(await run()).toEqual({ state: "again", at: 99 });
    state.claim = { failed: "unknown version" };
    expect(await run()).toEqual({ state: "failed", error: "unknown version" });
    expect(calls).toEqual([]);
  });

  it("keeps the lease of a long job alive at a third of its length", async () => {
    const { clock, calls, stop, run } = setUp(untilAborted);
    const outcome = run();
    await settled();
    await clock.advance(3500);
    expect(calls).toEqual([
      ["heartbeat", "a", 7],
      ["heartbeat", "a", 7],
      ["heartbeat", "a", 7],
    ]);
    stop.abort();
    await outcome;
    await clock.advance(10_000);
    expect(calls.filter(([name]) => name === "heartbeat")).toHaveLength(3);
  });

  it("aborts the handler when the lease is lost, and stores nothing", async () => {
    const { clock, logger, calls, state, run } = setUp(untilAborted);
    const outcome = run();
    await settled();
    state.isHeld = false;
    await clock.advance(1000);

    expect(await outcome).toMatchObject({ state: "again" });
    expect(calls.map(([name]) => name)).toEqual(["heartbeat"]);
    expect(logger.lines.at(-1)).toMatchObject({ level: "warn" });
  });

  it("goes on when a heartbeat could not be written: the fence decides", async () => {
    let end: () => void = () => undefined;
    const { clock, calls, state, run } = setUp(
      () =>
        new Promise((resolve) => {
          end = () => resolve({ watermarks: [] });
        }),
    );
    const outcome = run();
    await settled();
    state.isAway = true;
    await clock.advance(1000);
    state.isAway = false;
    end();

    expect(await outcome).toEqual({ state: "done" });
    expect(calls.map(([name]) => name)).toEqual(["heartbeat", "finish"]);
  });

  it("hands a job back, not counted, when the process stops", async () => {
    const { clock, calls, stop, run } = setUp(untilAborted);
    const outcome = run();
    await settled();
    stop.abort();

    expect(await outcome).toEqual({ state: "again", at: clock.now() });
    expect(calls).toMatchObject([["release", "a", 7, { counts: false, runAt: clock.now() }]]);
  });

  it("leaves a handler behind that does not heed its signal", async () => {
    const { clock, calls, stop, run } = setUp(never);
    const outcome = run();
    await settled();
    stop.abort();
    await settled();
    await clock.advance(2000);

    expect(await outcome).toMatchObject({ state: "again" });
    expect(calls.filter(([name]) => name === "release")).toHaveLength(1);
  });

  it("counts a job that runs too long as failed once", async () => {
    const { clock, calls, run } = setUp(untilAborted, { limitMs: 5000 });
    const outcome = run();
    await settled();
    await clock.advance(5000);

    expect(await outcome).toEqual({ state: "again", at: clock.now() + 250 });
    expect(calls.at(-1)).toMatchObject(["release", "a", 7, { counts: true, error: expect.stringContaining("5000 ms") }]);
  });

  it("shows a job as failed after its last attempt", async () => {
    const { calls, state, run } = setUp(() => Promise.reject(new Error("boom")));
    state.claim = { ...claimed, attempts: 3 };

    expect(await run()).toEqual({ state: "failed", error: "boom" });
    expect(calls).toEqual([["release", "a", 7, { error: "boom", counts: true }]]);
  });

  it("tries again later when the ledger is locked, and never rejects", async () => {
    const { clock, state, run } = setUp(never);
    state.isAway = true;

    expect(await run()).toEqual({ state: "again", at: clock.now() + 5000 });
  });

  it("takes no jobs while the schema is another program's, and says so once", async () => {
    const { logger, run } = setUp(never, { refusal: async () => "the schema is newer" });

    expect(await run()).toMatchObject({ state: "again" });
    expect(await run()).toMatchObject({ state: "again" });
    expect(logger.lines).toHaveLength(1);
  });

  it("says every 10 s that it lives, until it is stopped", async () => {
    const { clock, calls, runner } = setUp(never, { worker: "box-1" });
    runner.start();
    await clock.advance(20_000);
    expect(calls).toHaveLength(3);
    expect(calls[0]).toEqual(["alive", "box-1", 0]);
    runner.stop();
    await clock.advance(60_000);
    expect(calls).toHaveLength(3);
  });
});
