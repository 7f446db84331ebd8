/**
 * The gateway's health from what really happened last: proofs of life of the platforms, ages of what waits, turns that should have
 * ended, the job queue, and whether the store takes a write. "ok" only when nothing of it is wrong.
 */
import { errorText } from "../domain/errors.js";
import type { PlatformState } from "../gateway/supervisor.js";
import type { JobLedger } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Database } from "../storage/database.js";
import { readQueueAges, saveHealth, type QueueAge } from "../storage/queue-ages.js";

export interface HealthDeps {
  readonly db: Database;
  readonly platforms: () => readonly PlatformState[];
  /** Turns that run, since when the oldest does, and sessions in which messages wait though a turn could begin. */
  readonly lanes: () => { readonly running: number; readonly oldestAt: number | undefined; readonly stalled: readonly string[] };
  readonly ledger: JobLedger;
  readonly queue: () => Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** True when jobs are done by `mneme worker` processes only. */
  readonly needsWorkers: boolean;
  readonly turnTimeoutMs: number;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits?: Partial<HealthLimits>;
}

/** Milliseconds after which something that waits is wrong. */
export interface HealthLimits {
  readonly unreadMs: number;
  readonly unsentMs: number;
  readonly stalledMs: number;
  /** Beyond a turn's own deadline. */
  readonly turnMs: number;
  readonly jobMs: number;
  readonly workerMs: number;
  /** Age of the last write that worked. */
  readonly storeMs: number;
  readonly tickMs: number;
  /** One look at a queue or a store. */
  readonly lookMs: number;
}

const usual: HealthLimits = {
  unreadMs: 60_000,
  unsentMs: 300_000,
  stalledMs: 30_000,
  turnMs: 60_000,
  jobMs: 900_000,
  workerMs: 60_000,
  storeMs: 45_000,
  tickMs: 10_000,
  lookMs: 3_000,
};

export interface Problem {
  /** `platform telegram`, `inbox`, `outbox`, `turns`, `jobs`, `store`. */
  readonly subject: string;
  readonly message: string;
}

export interface HealthReport {
  readonly status: "ok" | "failing";
  readonly at: number;
  readonly problems: readonly Problem[];
  readonly platforms: readonly {
    readonly platform: string;
    readonly ok: boolean;
    readonly state: string;
    readonly lastAliveAt: number | undefined;
    readonly lastEventAt: number | undefined;
    readonly lastSentAt: number | undefined;
    readonly restarts: number;
  }[];
  readonly queues: readonly QueueAge[];
  readonly turns: { readonly running: number; readonly oldestAt: number | undefined };
  readonly jobs:
    | { readonly ok: boolean; readonly detail: string; readonly open: number; readonly active: number; readonly failed: number }
    | undefined;
}

export class Health {
  readonly #deps: HealthDeps;
  readonly #limits: HealthLimits;
  readonly #lastSent = new Map<string, number>();
  /** Stalled sessions and when they were first seen so. */
  #stalled = new Map<string, number>();
  #lastWriteAt: number;
  #writeError: string | undefined;
  #cancel: (() => void) | undefined;
  #stopped = false;
  #running: Promise<HealthReport> | undefined;
  #ticking: Promise<void> = Promise.resolve();

  constructor(deps: HealthDeps) {
    this.#deps = deps;
    this.#limits = { ...usual, ...deps.limits };
    this.#lastWriteAt = deps.clock.now();
  }

  /** Looks and writes now, and regularly from now on; called again, it looks at once. */
  start(): void {
    this.#cancel?.();
    this.#ticking = this.#ticking.then(() => this.#tick());
  }

  /** Resolves when the last look has ended: the store may be closed then. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#ticking;
  }

  sent(platform: string): void {
    this.#lastSent.set(platform, this.#deps.clock.now());
  }

  /** The state now. Calls at the same time share one look. Never rejects. */
  check(): Promise<HealthReport> {
    this.#running ??= this.#check().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #tick(): Promise<void> {
    const { db, clock, logger } = this.#deps;
    if (this.#stopped) return;
    const report = await this.check();
    try {
      await this.#within(saveHealth(db, JSON.stringify(report), clock.now()));
      this.#lastWriteAt = clock.now();
      this.#writeError = undefined;
    } catch (error) {
      if (!this.#stopped) logger.warn({ error: errorText(error) }, "the store did not take a write");
      this.#writeError = errorText(error);
    }
    if (this.#stopped) return;
    this.#cancel?.();
    this.#cancel = clock.after(this.#limits.tickMs, () => this.start());
  }

  async #check(): Promise<HealthReport> {
    const { db, clock } = this.#deps;
    const problems: Problem[] = [];
    const names = this.#deps.platforms().map(({ platform }) => platform);
    const [queues, jobs] = await Promise.all([this.#look("store", problems, readQueueAges(db, names)), this.#jobs(problems)]);
    // What needs no waiting is looked at last, so that the whole is the state at the end.
    const now = clock.now();
    const platforms = this.#deps.platforms();
    const lanes = this.#deps.lanes();
    problems.unshift(
      ...platforms.filter(({ ok }) => !ok).map((state) => ({ subject: `platform ${state.platform}`, message: whyDown(state, now) })),
      ...this.#laneProblems(lanes, now),
      ...this.#storeProblems(now),
      ...this.#ageProblems(queues ?? [], now),
    );
    return {
      status: problems.length === 0 ? "ok" : "failing",
      at: now,
      problems: problems.map(({ subject, message }) => ({ subject, message: this.#deps.redact(message) })),
      platforms: platforms.map(({ platform, ok, health, lastEventAt, restarts }) => ({
        platform,
        ok,
        state: health.state,
        lastAliveAt: health.lastAliveAt,
        lastEventAt,
        lastSentAt: this.#lastSent.get(platform),
        restarts,
      })),
      queues: queues ?? [],
      turns: { running: lanes.running, oldestAt: lanes.oldestAt },
      jobs,
    };
  }

  #laneProblems({ oldestAt, stalled }: ReturnType<HealthDeps["lanes"]>, now: number): Problem[] {
    const { turnTimeoutMs } = this.#deps;
    this.#stalled = new Map(stalled.map((key) => [key, this.#stalled.get(key) ?? now]));
    const long = [...this.#stalled.values()].filter((since) => now - since >= this.#limits.stalledMs).length;
    const hung = oldestAt !== undefined && now - oldestAt > turnTimeoutMs + this.#limits.turnMs;
    return [
      ...(hung
        ? [{ subject: "turns", message: `a turn runs for ${seconds(now - oldestAt)} s, past its deadline of ${seconds(turnTimeoutMs)} s` }]
        : []),
      ...(long > 0 ? [{ subject: "turns", message: `messages wait in ${long} sessions though no turn runs there` }] : []),
    ];
  }

  #storeProblems(now: number): Problem[] {
    const age = now - this.#lastWriteAt;
    if (this.#writeError !== undefined) return [{ subject: "store", message: `the last write failed: ${this.#writeError}` }];
    return age > this.#limits.storeMs ? [{ subject: "store", message: `no write has worked for ${seconds(age)} s` }] : [];
  }

  #ageProblems(queues: readonly QueueAge[], now: number): Problem[] {
    const { unreadMs, unsentMs } = this.#limits;
    return queues.flatMap(({ platform, unread, oldestUnreadAt, unsent, oldestUnsentAt }) => [
      ...old("inbox", `${unread} messages from ${platform} are not handled`, oldestUnreadAt, unreadMs, now),
      ...old("outbox", `${unsent} messages to ${platform} are not sent`, oldestUnsentAt, unsentMs, now),
    ]);
  }

  async #jobs(problems: Problem[]): Promise<HealthReport["jobs"]> {
    const { ledger, queue, needsWorkers, clock } = this.#deps;
    const { jobMs, workerMs } = this.#limits;
    const workersNow = needsWorkers ? ledger.workers(clock.now() - workerMs) : undefined;
    const all = Promise.all([queue(), ledger.counts(), ledger.nextDue(), workersNow]);
    const found = await this.#look("jobs", problems, all);
    if (found === undefined) return undefined;
    const [health, { open, active, failed }, nextDue, workers] = found;
    if (!health.ok) problems.push({ subject: "jobs", message: health.detail });
    else if (workers?.length === 0) problems.push({ subject: "jobs", message: "no worker is running: start mneme worker" });
    problems.push(...old("jobs", "a job is due and nobody takes it", nextDue, jobMs, clock.now()));
    return { ok: health.ok, detail: this.#deps.redact(health.detail), open, active, failed };
  }

  /** The result, or undefined and a problem when it fails or does not come. */
  async #look<T>(subject: string, problems: Problem[], work: Promise<T>): Promise<T | undefined> {
    try {
      return await this.#within(work);
    } catch (error) {
      problems.push({ subject, message: errorText(error) });
      return undefined;
    }
  }

  #within<T>(work: Promise<T>): Promise<T> {
    const { lookMs } = this.#limits;
    return new Promise<T>((resolve, reject) => {
      const cancel = this.#deps.clock.after(lookMs, () => reject(new Error(`no answer within ${lookMs} ms`)));
      work.then(resolve, reject).finally(cancel);
    });
  }
}

function old(subject: string, what: string, since: number | undefined, limitMs: number, now: number): Problem[] {
  return since === undefined || now - since <= limitMs ? [] : [{ subject, message: `${what}, since ${seconds(now - since)} s` }];
}

function whyDown({ health, lastError }: PlatformState, now: number): string {
  const silent = health.lastAliveAt === undefined ? "" : `, last sign of life ${seconds(now - health.lastAliveAt)} s ago`;
  const why = health.detail ?? lastError;
  return `${health.state}${silent}${why === undefined ? "" : `: ${why}`}`;
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
