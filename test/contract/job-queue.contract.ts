/**
 * What every job queue promises, together with the ledger and the runner: at least once, and every effect once. Each backend runs all
 * of it on a real database file; a worker that is killed is a real process.
 */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { GatewayError } from "../../src/domain/errors.js";
import { createJobRunner } from "../../src/jobs/worker.js";
import type { JobHandler, JobQueue } from "../../src/ports/job-queue.js";
import { countedIds, systemClock } from "../support/runtime.js";
import { handlers, intent, leavesEffect, openJobWorld, pause, type JobWorld } from "../support/jobs/world.js";
import { startWorkerProcess, type WorkerOrder, type WorkerProcess } from "../support/jobs/worker-process.js";
import { removeHome, tempHome, type TempHome } from "../support/temp-home.js";

/** One test's share of a backend: closed by the suite. */
export interface QueueUnderTest {
  /** A queue as one process has it. */
  open(options: { readonly lockMs: number }): JobQueue;
  /** What the gateway does after a commit. */
  wake(): void;
  /** For a worker process. */
  readonly redis?: { readonly url: string; readonly prefix: string };
  /** How many records the queue's server holds. */
  serverKeys?(): Promise<number>;
  close(): Promise<void>;
}

export interface JobQueueDescriptor {
  readonly name: string;
  begin(world: JobWorld): Promise<QueueUnderTest>;
}

const leaseMs = 800;

export function jobQueueContract(descriptor: JobQueueDescriptor): void {
  describe(`the job queue: ${descriptor.name}`, () => {
    let home: TempHome;
    let world: JobWorld;
    let backend: QueueUnderTest;

    beforeEach(async () => {
      home = tempHome({ keep: true });
      world = await openJobWorld(home.path("mneme.db"));
      backend = await descriptor.begin(world);
    });

    afterEach(async () => {
      await backend.close();
      await world.close();
      removeHome(home);
    });

    async function work(handler: JobHandler, concurrency = 4): Promise<JobQueue> {
      const queue = backend.open({ lockMs: leaseMs });
      const deps = { ledger: world.ledger, clock: systemClock, logger: world.log, ids: countedIds("w"), leaseMs };
      const runner = createJobRunner({ ...deps, handlers: handlers(handler), retryDelay: (attempts) => attempts * 50 });
      await queue.work(runner.run, { concurrency });
      onTestFinished(() => queue.close(0));
      return queue;
    }

    function otherProcess(order: Partial<WorkerOrder>): Promise<WorkerProcess> {
      const redis = backend.redis === undefined ? {} : { redis: backend.redis };
      return startWorkerProcess({ file: world.file, leaseMs, concurrency: 2, graceMs: 1000, does: "work", ms: 50, ...redis, ...order });
    }

    it("runs every job that was written down, and closes it", async () => {
      await work(leavesEffect(world.db, "here", 5));

      await world.add(...Array.from({ length: 30 }, (_, n) => intent(`a${n}`)));
      backend.wake();

      await world.until("all done", (rows) => rows.length === 30 && rows.every(({ state }) => state === "done"));
      expect(new Set((await world.effects()).map(({ job }) => job)).size).toBe(30);
      expect(await world.ledger.counts()).toEqual({ open: 0, active: 0, failed: 0, oldestOpenAt: undefined });
    });

    it("takes jobs that were written before the worker started", async () => {
      await world.add(intent("early"));
      backend.wake();

      await work(leavesEffect(world.db, "here", 1));

      await world.until("done", ([job]) => job?.state === "done");
    });

    it("runs a job once when it is offered many times", async () => {
      await world.add(intent("twice"));
      const queue = await work(leavesEffect(world.db, "here", 100));
      const offer = { id: "twice", kind: "stretch", runAt: 0 } as const;

      for (let n = 0; n < 5; n += 1) {
        backend.wake();
        await offerSafely(queue, offer);
      }
      await world.until("done", ([job]) => job?.state === "done");
      await offerSafely(queue, offer);
      backend.wake();
      await pause(300);

      expect(await world.effects()).toHaveLength(1);
    });

    it("does not run a job before its time", async () => {
      const runAt = Date.now() + 900;
      await work(leavesEffect(world.db, "here", 1));

      await world.add(intent("later", { runAt }));
      backend.wake();

      await world.until("done", ([job]) => job?.state === "done");
      expect((await world.effects())[0]?.began).toBeGreaterThanOrEqual(runAt);
    });

    it("tries a failing job again with growing pauses, then shows it as failed until somebody retries it", async () => {
      const tries: number[] = [];
      let isBroken = true;
      await work(async () => {
        tries.push(Date.now());
        if (isBroken) throw new Error("the model is silent");
        return { watermarks: [] };
      });

      await world.add(intent("broken", { kind: "title" }));
      backend.wake();
      await world.until("failed", ([job]) => job?.state === "failed");

      expect(tries).toHaveLength(3);
      expect((tries[1] ?? 0) - (tries[0] ?? 0)).toBeGreaterThanOrEqual(45);
      expect((tries[2] ?? 0) - (tries[1] ?? 0)).toBeGreaterThanOrEqual(95);
      expect((await world.ledger.list({ state: "failed", limit: 5 }))[0]).toMatchObject({
        id: "broken",
        attempts: 3,
        error: "the model is silent",
      });

      isBroken = false;
      expect(await world.ledger.retry("broken", Date.now())).toBe(true);
      backend.wake();
      await world.until("done after a retry by hand", ([job]) => job?.state === "done");
    });

    it("fails at once when trying again cannot help", async () => {
      let tries = 0;
      await work(async () => {
        tries += 1;
        throw new GatewayError("input.invalid", "there is no such session");
      });

      await world.add(intent("hopeless"));
      backend.wake();

      await world.until("failed", ([job]) => job?.state === "failed");
      expect(tries).toBe(1);
    });

    it("keeps a payload of an unknown version visible as failed, and runs no handler for it", async () => {
      let calls = 0;
      await work(async () => {
        calls += 1;
        return { watermarks: [] };
      });

      const future = intent("future");
      await world.add({ ...future, payload: { ...future.payload, v: 99 as unknown as 1 } });
      backend.wake();

      await world.until("failed", ([job]) => job?.state === "failed");
      expect((await world.ledger.byId("future"))?.error).toContain("v:");
      expect(calls).toBe(0);
    });

    it("does not count it as an attempt when a job gives way", async () => {
      let calls = 0;
      const attempts: number[] = [];
      await work(async (job) => {
        attempts.push(job.attempts);
        calls += 1;
        if (calls === 1) return { postponeMs: 60, reason: "the session is busy" };
        if (calls === 2) throw new GatewayError("job.postponed", "the session is busy", { retryAfterMs: 60 });
        return { watermarks: [{ kind: job.kind, sessionId: job.sessionId, upTo: 7 }] };
      });

      await world.add(intent("polite", { kind: "title", sessionId: "s" }));
      backend.wake();

      await world.until("done", ([job]) => job?.state === "done");
      expect(attempts).toEqual([1, 1, 1]);
      expect(await world.ledger.watermark("title", "s")).toBe(7);
    });

    it("never runs two jobs of one session, or two reviews of one space, at the same time, in two processes", async () => {
      const other = await otherProcess({ ms: 60 });
      await work(leavesEffect(world.db, "here", 60), 2);

      await world.add(
        ...Array.from({ length: 6 }, (_, n) => intent(`s${n}`, { sessionId: `session-${n % 2}` })),
        ...Array.from({ length: 6 }, (_, n) => intent(`r${n}`, { kind: "review", sessionId: `other-${n}`, spaceId: `space-${n % 2}` })),
      );
      backend.wake();
      await world.until("all done", (rows) => rows.every(({ state }) => state === "done"), 25_000);

      const effects = await world.effects();
      expect(effects).toHaveLength(12);
      for (const scope of ["session-0", "session-1", "space-0", "space-1"]) {
        const inScope = effects.filter((one) => (one.kind === "review" ? one.space === scope : one.session === scope));
        expect(inScope).toHaveLength(3);
        for (const [index, one] of inScope.entries()) expect(one.began).toBeGreaterThanOrEqual(inScope[index - 1]?.ended ?? 0);
      }
      await other.stop();
    }, 40_000);

    it("JQ-01: stores the effect once when a blocked worker loses its lease in the middle of a job", async () => {
      const blocked = await otherProcess({ does: "block", ms: 2500, concurrency: 1 });
      await world.add(intent("long"));
      backend.wake();
      await blocked.line("began long");

      await work(leavesEffect(world.db, "here", 10));

      await world.until("done", ([job]) => job?.state === "done");
      await pause(1500);
      expect((await world.effects()).map(({ worker }) => worker)).toEqual(["here"]);
      expect((await world.ledger.byId("long"))?.state).toBe("done");
    }, 30_000);

    it("runs a job again after the lease when its worker was killed, with one effect", async () => {
      const victim = await otherProcess({ ms: 60_000, concurrency: 1 });
      await world.add(intent("survivor"));
      backend.wake();
      await victim.line("began survivor");
      await victim.kill();
      const killedAt = Date.now();

      await work(leavesEffect(world.db, "here", 10));

      await world.until("done", ([job]) => job?.state === "done");
      expect(Date.now() - killedAt).toBeLessThan(leaseMs * 6);
      expect(await world.effects()).toHaveLength(1);
      expect((await world.ledger.byId("survivor"))?.attempts).toBe(2);
    }, 30_000);

    it("lets a short job end when the worker closes", async () => {
      const queue = await work(leavesEffect(world.db, "here", 300));
      await world.add(intent("short"));
      backend.wake();
      await world.until("running", ([job]) => job?.state === "active");

      await queue.close(5000);

      expect((await world.ledger.byId("short"))?.state).toBe("done");
    });

    it("JQ-07: hands a long job back when the worker is stopped, and the next one runs it once", async () => {
      const first = await otherProcess({ ms: 30_000, graceMs: 300 });
      await world.add(intent("long"));
      backend.wake();
      await first.line("began long");

      const { ms, code } = await first.stop();
      expect(code).toBe(0);
      expect(ms).toBeLessThan(5000);
      expect(await world.ledger.byId("long")).toMatchObject({ state: "open", attempts: 0 });

      await work(leavesEffect(world.db, "here", 10));
      await world.until("done", ([job]) => job?.state === "done");
      expect(await world.effects()).toHaveLength(1);
    }, 30_000);

    it("JQ-08: an idle worker process ends within 5 s of SIGTERM", async () => {
      const idle = await otherProcess({});

      const { ms, code } = await idle.stop();

      expect(idle.lines).toContain("closed");
      expect(code).toBe(0);
      expect(ms).toBeLessThan(5000);
    });

    it("JQ-06: keeps a bounded number of finished jobs", async () => {
      await world.add(...Array.from({ length: 400 }, (_, n) => intent(`m${n}`)));
      await work(async () => ({ watermarks: [] }), 8);
      backend.wake();
      await world.until("all done", (rows) => rows.length === 400 && rows.every(({ state }) => state === "done"));

      await pause(100);
      if (backend.serverKeys !== undefined) expect(await backend.serverKeys()).toBeLessThan(15);
      await world.ledger.prune(Date.now() + 8 * 86_400_000);
      expect(await world.ledger.list({ limit: 10 })).toEqual([]);
    });

    it("says in one line whether it is well", async () => {
      const queue = backend.open({ lockMs: leaseMs });

      const health = await queue.health();
      await queue.close(0);

      expect(health.ok).toBe(true);
      expect(health.detail).not.toBe("");
    });
  });
}

/** An offer may be refused while the connection is young: that is part of the promise. */
async function offerSafely(queue: JobQueue, job: Parameters<JobQueue["offer"]>[0][number]): Promise<void> {
  try {
    await queue.offer([job]);
  } catch (error) {
    expect(error).toMatchObject({ retryable: true });
  }
}
