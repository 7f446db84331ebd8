/** What the relay offers and when, against a ledger and a queue that are plain objects. */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../src/domain/errors.js";
import { createRelay } from "../../../src/jobs/relay.js";
import type { JobLedger, JobQueue, JobRow } from "../../../src/ports/job-queue.js";
import { collectingLogger } from "../../support/runtime.js";
import { manualClock, settled } from "./manual-clock.js";

function row(id: string, runAt = 0): JobRow {
  const common = {
    kind: "stretch",
    spaceId: "p",
    sessionId: "s",
    payload: {},
    state: "open",
    attempts: 0,
    maxAttempts: 3,
    fence: 0,
  } as const;
  return { ...common, id, runAt, createdAt: 0 };
}

function setUp() {
  const clock = manualClock();
  const logger = collectingLogger();
  const state = { rows: [] as JobRow[], offers: [] as string[][], isDead: false, connected: () => undefined as void };
  const queue: Pick<JobQueue, "offer" | "onConnect"> = {
    async offer(jobs) {
      if (state.isDead) throw new GatewayError("internal", "away", { retryable: true });
      state.offers.push(jobs.map(({ id }) => id));
    },
    onConnect(listener) {
      state.connected = listener;
    },
  };
  const ledger = {
    due: async (now, limit) => state.rows.filter(({ runAt }) => runAt <= now).slice(0, limit),
    nextDue: async () => state.rows.map(({ runAt }) => runAt).sort((a, b) => a - b)[0],
    prune: async () => 0,
  } satisfies Partial<JobLedger> as unknown as JobLedger;
  const relay = createRelay({ ledger, queue, clock, logger, dataVersion: () => 1 });
  return { clock, logger, state, relay };
}

describe("the relay", () => {
  it("offers a new intent at once, and only once", async () => {
    const { clock, state, relay } = setUp();
    relay.start();
    await settled();

    state.rows.push(row("a"));
    relay.wake();
    await settled();
    state.rows.push(row("b"));
    relay.wake();
    await settled();
    await clock.advance(60_000);

    expect(state.offers).toEqual([["a"], ["b"]]);
  });

  it("offers everything again every 5 minutes, and when the server comes back", async () => {
    const { clock, state, relay } = setUp();
    state.rows.push(row("a"));
    relay.start();
    await settled();

    await clock.advance(299_000);
    expect(state.offers).toHaveLength(1);
    await clock.advance(2000);
    expect(state.offers).toEqual([["a"], ["a"]]);
    state.connected();
    await settled();
    expect(state.offers).toHaveLength(3);
  });

  it("offers a delayed job when its time comes, and a retried one again", async () => {
    const { clock, state, relay } = setUp();
    state.rows.push(row("later", clock.now() + 5000));
    relay.start();
    await settled();
    expect(state.offers).toEqual([]);

    await clock.advance(5000);
    expect(state.offers).toEqual([["later"]]);
    state.rows = [row("later", clock.now() + 1000)];
    relay.wake();
    await settled();
    await clock.advance(1500);
    expect(state.offers).toEqual([["later"], ["later"]]);
  });

  it("says once that the server is away, and once that it is back", async () => {
    const { clock, logger, state, relay } = setUp();
    state.isDead = true;
    state.rows.push(row("a"));
    relay.start();
    await settled();
    await clock.advance(60_000);
    expect(logger.lines.filter(({ level }) => level === "warn")).toHaveLength(1);

    state.isDead = false;
    await clock.advance(5000);

    expect(state.offers).toEqual([["a"]]);
    expect(logger.lines.at(-1)).toMatchObject({ level: "info" });
  });

  it("keeps at most 1,000 jobs at the server, in bounded batches", async () => {
    const { state, relay } = setUp();
    state.rows = Array.from({ length: 1500 }, (_, n) => row(`n${n}`));
    relay.start();
    await settled();
    expect(state.offers.map(({ length }) => length)).toEqual([200, 200, 200, 200, 200]);

    state.rows = state.rows.slice(700);
    relay.wake();
    await settled();

    expect(state.offers.flat()).toHaveLength(1500);
    expect(new Set(state.offers.flat()).size).toBe(1500);
  });

  it("offers nothing after it was closed", async () => {
    const { state, relay } = setUp();
    relay.start();
    await relay.close();
    state.rows.push(row("a"));
    relay.wake();
    await settled();

    expect(state.offers).toEqual([]);
  });
});
