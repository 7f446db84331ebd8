/** What turns health red, rule by rule, on a real database with a clock that the test moves. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Health, type HealthDeps } from "../../../src/app/health.js";
import type { PlatformState } from "../../../src/gateway/supervisor.js";
import { createJobLedger } from "../../../src/storage/job-ledger.js";
import { openDatabase, type Database } from "../../../src/storage/database.js";
import { loadHealth } from "../../../src/storage/queue-ages.js";
import { collectingLogger, systemClock } from "../../support/runtime.js";
import { tempHome } from "../../support/temp-home.js";

interface World {
  now: number;
  readonly db: Database;
  readonly health: Health;
  platform: PlatformState;
  lanes: ReturnType<HealthDeps["lanes"]>;
  queue: { ok: boolean; detail: string };
}

const begin = 1_800_000_000_000;

async function world(needsWorkers = false): Promise<World> {
  const db = await openDatabase({ file: tempHome().path("mneme.db"), logger: collectingLogger(), clock: systemClock });
  onTestFinished(() => db.close());
  const state: Omit<World, "health"> = {
    now: begin,
    db,
    platform: {
      platform: "alpha",
      ok: true,
      health: { state: "connected", lastAliveAt: begin, aliveWithinMs: 1_000 },
      lastEventAt: undefined,
      restarts: 0,
      lastError: undefined,
    },
    lanes: { running: 0, oldestAt: undefined, stalled: [] },
    queue: { ok: true, detail: "fine" },
  };
  const health = new Health({
    db,
    platforms: () => [state.platform],
    lanes: () => state.lanes,
    ledger: createJobLedger({ db }),
    queue: () => Promise.resolve(state.queue),
    needsWorkers,
    turnTimeoutMs: 600_000,
    redact: (text) => text.replaceAll("hunter2", "…"),
    clock: { ...systemClock, now: () => state.now },
    logger: collectingLogger(),
    // The clock of these tests jumps; writes do not.
    limits: { storeMs: Number.MAX_SAFE_INTEGER },
  });
  return Object.assign(state, { health });
}

async function problems(state: World): Promise<string[]> {
  return (await state.health.check()).problems.map(({ subject, message }) => `${subject}: ${message}`);
}

const event = (key: string, platform: string, state: string, at: number): string =>
  `insert into inbox (key, platform, chat_id, kind, event, state, received_at) values ('${key}', '${platform}', 'c', 'message', '{}', '${state}', ${at})`;
const part = (id: string, platform: string, state: string, at: number): string =>
  `insert into outbox (delivery_id, kind, platform, chat_id, route, part, state, created_at, next_at)
   values ('${id}', 'reply', '${platform}', 'c', '{}', '{}', '${state}', ${at}, ${at})`;

describe("health", () => {
  it("is green when nothing is wrong", async () => {
    const state = await world();

    expect(await state.health.check()).toMatchObject({ status: "ok", problems: [], jobs: { ok: true, open: 0, failed: 0 } });
  });

  it("names a platform without a sign of life, without the secrets in its error", async () => {
    const state = await world();
    state.now = begin + 90_000;
    state.platform = {
      ...state.platform,
      ok: false,
      lastError: "refused hunter2",
      health: { ...state.platform.health, state: "reconnecting" },
    };

    expect(await problems(state)).toEqual(["platform alpha: reconnecting, last sign of life 90 s ago: refused …"]);
  });

  it("OP-06: names messages that nobody handles and answers that do not leave, of running platforms only", async () => {
    const state = await world();
    await state.db.write((tx) => {
      tx.exec(event("a", "alpha", "new", begin));
      tx.exec(event("b", "alpha", "waiting", begin));
      tx.exec(event("c", "switched-off", "new", begin));
      tx.exec(part("a", "alpha", "waiting", begin));
      tx.exec(part("b", "alpha", "sent", begin));
      tx.exec(part("c", "switched-off", "waiting", begin));
    });

    state.now = begin + 59_000;
    const early = await problems(state);
    state.now = begin + 301_000;
    const late = await problems(state);

    expect(early).toEqual([]);
    expect(late).toEqual([
      "inbox: 1 messages from alpha are not handled, since 301 s",
      "outbox: 1 messages to alpha are not sent, since 301 s",
    ]);
  });

  it("names a turn past its deadline, and sessions in which messages wait though nothing runs", async () => {
    const state = await world();
    state.lanes = { running: 1, oldestAt: begin - 661_000, stalled: ["alpha/dm/1"] };
    const first = await problems(state);
    state.now = begin + 31_000;
    const second = await problems(state);
    state.lanes = { running: 0, oldestAt: undefined, stalled: [] };

    expect(first).toEqual(["turns: a turn runs for 661 s, past its deadline of 600 s"]);
    expect(second[1]).toBe("turns: messages wait in 1 sessions though no turn runs there");
    expect(await problems(state)).toEqual([]);
  });

  it("names a job queue that does not answer, workers that are missing, and jobs that nobody takes", async () => {
    const state = await world(true);
    const none = await problems(state);
    await state.db.write((tx) => tx.exec(`insert into job_workers (worker, at) values ('host-1', ${begin})`));
    const one = await problems(state);
    state.queue = { ok: false, detail: "Redis does not answer (hunter2)" };
    const away = await problems(state);

    expect(none).toEqual(["jobs: no worker is running: start mneme worker"]);
    expect(one).toEqual([]);
    expect(away).toEqual(["jobs: Redis does not answer (…)"]);
  });

  it("names a store that takes no write, and stores its report where it does", async () => {
    const state = await world();
    state.health.start();
    await vi.waitUntil(() => loadHealth(state.db));
    const stored = await loadHealth(state.db);
    await state.health.stop();
    const closed = await world();
    await closed.db.close();
    closed.health.start();

    expect(JSON.parse(stored?.report ?? "{}")).toMatchObject({ status: "ok" });
    await vi.waitUntil(async () => (await problems(closed)).some((problem) => problem.startsWith("store: the last write failed")));
    await closed.health.stop();
  });
});
