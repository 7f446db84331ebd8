/**
 * Numbers for Prometheus. The client library is loaded after the start; what happens before is kept and counted then, so loading it
 * late costs no number. Gauges are read when somebody asks, from the same report as the health.
 */
import type { Registry } from "prom-client";
import type { Usage } from "../domain/transcript.js";
import type { OutboxRow } from "../ports/mailbox.js";
import type { TurnCommit } from "../ports/stores.js";
import type { Clock } from "../ports/runtime.js";
import { readFinishedJobs } from "../storage/queue-ages.js";
import type { Database } from "../storage/database.js";
import type { HealthReport } from "./health.js";

export interface MetricsDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly report: () => Promise<HealthReport>;
}

/** What one turn was, when it was committed. */
export interface TurnSeen {
  readonly platform: string;
  readonly outcome: TurnCommit["outcome"];
  /** From the claim to the commit, milliseconds. */
  readonly ms: number;
  readonly usage: Usage;
}

type Numbers = Awaited<ReturnType<typeof load>>;

/** Kept until the library is loaded; more than this in the first seconds is not counted. */
const keptObservations = 10_000;
/** A job's end may be committed this long after the time it bears. */
const lateMs = 300_000;

export class Metrics {
  readonly #deps: MetricsDeps;
  readonly #startedAt: number;
  readonly #waiting: ((numbers: Numbers) => void)[] = [];
  readonly #jobsSeen = new Map<string, number>();
  #jobsUpTo: number;
  #numbers: Numbers | undefined;
  #loading: Promise<Numbers> | undefined;

  constructor(deps: MetricsDeps) {
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
    this.#jobsUpTo = this.#startedAt;
  }

  /** Loads the library; may be called again. Rejects when it cannot be loaded. */
  async load(): Promise<void> {
    await this.#load();
  }

  turn({ platform, outcome, ms, usage }: TurnSeen): void {
    this.#observe((numbers) => {
      numbers.turnSeconds.observe({ platform, outcome }, ms / 1000);
      numbers.tokens.inc({ kind: "input" }, usage.inputTokens);
      numbers.tokens.inc({ kind: "cached" }, usage.cachedTokens);
      numbers.tokens.inc({ kind: "output" }, usage.outputTokens);
    });
  }

  sent({ route, kind, createdAt }: OutboxRow): void {
    const ms = this.#deps.clock.now() - createdAt;
    this.#observe((numbers) => numbers.deliverySeconds.observe({ platform: route.platform, kind }, ms / 1000));
  }

  /** Everything in Prometheus' text form. */
  async text(): Promise<{ readonly type: string; readonly body: string }> {
    const numbers = await this.#load();
    const [report, jobs] = await Promise.all([this.#deps.report(), this.#finishedJobs()]);
    for (const kind of jobs) numbers.jobs.inc({ kind });
    gauges(numbers, report);
    const { input = 0, cached = 0 } = await tokenSums(numbers);
    numbers.cacheShare.set(input === 0 ? 0 : cached / input);
    return { type: numbers.registry.contentType, body: await numbers.registry.metrics() };
  }

  #observe(act: (numbers: Numbers) => void): void {
    if (this.#numbers !== undefined) act(this.#numbers);
    else if (this.#waiting.length < keptObservations) this.#waiting.push(act);
  }

  #load(): Promise<Numbers> {
    this.#loading ??= load().then(
      (numbers) => {
        this.#numbers = numbers;
        for (const act of this.#waiting.splice(0)) act(numbers);
        return numbers;
      },
      (error: unknown) => {
        this.#loading = undefined;
        throw error;
      },
    );
    return this.#loading;
  }

  /** Kinds of the jobs that ended since the last call, in whatever process. The ledger's times may be committed late, so it looks back a while. */
  async #finishedJobs(): Promise<string[]> {
    const now = this.#deps.clock.now();
    const since = Math.max(this.#startedAt, this.#jobsUpTo - lateMs);
    const rows = await readFinishedJobs(this.#deps.db, since);
    this.#jobsUpTo = now;
    const fresh = rows.filter(({ id }) => !this.#jobsSeen.has(id));
    for (const { id } of fresh) this.#jobsSeen.set(id, now);
    for (const [id, at] of this.#jobsSeen) if (at < now - 2 * lateMs && at < since) this.#jobsSeen.delete(id);
    return fresh.map(({ kind }) => kind);
  }
}

function gauges(numbers: Numbers, report: HealthReport): void {
  numbers.up.set(report.status === "ok" ? 1 : 0);
  numbers.turnsRunning.set(report.turns.running);
  for (const one of report.platforms) {
    const labels = { platform: one.platform };
    numbers.platformUp.set(labels, one.ok ? 1 : 0);
    numbers.restarts.set(labels, one.restarts);
    if (one.lastEventAt !== undefined) numbers.lastEvent.set(labels, one.lastEventAt / 1000);
    if (one.lastSentAt !== undefined) numbers.lastSent.set(labels, one.lastSentAt / 1000);
    if (one.lastAliveAt !== undefined) numbers.lastAlive.set(labels, one.lastAliveAt / 1000);
  }
  for (const { platform, unread, oldestUnreadAt, unsent, oldestUnsentAt } of report.queues) {
    numbers.queued.set({ platform, queue: "inbox" }, unread);
    numbers.queued.set({ platform, queue: "outbox" }, unsent);
    numbers.queueAge.set({ platform, queue: "inbox" }, age(oldestUnreadAt, report.at));
    numbers.queueAge.set({ platform, queue: "outbox" }, age(oldestUnsentAt, report.at));
  }
  const { jobs } = report;
  if (jobs === undefined) return;
  for (const state of ["open", "active", "failed"] as const) numbers.jobsNow.set({ state }, jobs[state]);
}

function age(since: number | undefined, now: number): number {
  return since === undefined ? 0 : Math.max(0, now - since) / 1000;
}

async function tokenSums(numbers: Numbers): Promise<Partial<Record<string, number>>> {
  const { values } = await numbers.tokens.get();
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels.kind), value]));
}

async function load() {
  const { Counter, Gauge, Histogram, Registry: MadeRegistry, collectDefaultMetrics } = await import("prom-client");
  const registry: Registry = new MadeRegistry();
  // Memory, CPU and the lag of the event loop.
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `mneme_${name}`, help, labelNames, registers });
  return {
    registry,
    up: gauge("healthy", "1 while nothing is wrong (the same as /healthz)"),
    platformUp: gauge("platform_up", "1 while the connection has shown a sign of life in time", ["platform"]),
    restarts: gauge("platform_restarts", "How often the adapter was built again since the start", ["platform"]),
    lastEvent: gauge("platform_last_event_timestamp_seconds", "When the last event came in", ["platform"]),
    lastSent: gauge("platform_last_sent_timestamp_seconds", "When the platform last confirmed a message", ["platform"]),
    lastAlive: gauge("platform_last_alive_timestamp_seconds", "Last sign of life of the connection", ["platform"]),
    queued: gauge("queue_length", "Messages not handled (inbox) or not sent (outbox)", ["platform", "queue"]),
    queueAge: gauge("queue_oldest_age_seconds", "Age of the oldest of them; 0 when there is none", ["platform", "queue"]),
    turnsRunning: gauge("turns_running", "Turns that run now"),
    jobsNow: gauge("jobs", "Background jobs in the ledger by state", ["state"]),
    cacheShare: gauge("model_cache_hit_share", "Share of the input tokens since the start that the model's server had cached"),
    jobs: new Counter({
      name: "mneme_jobs_finished_total",
      help: "Background jobs that ended well, in whatever process",
      labelNames: ["kind"],
      registers,
    }),
    tokens: new Counter({
      name: "mneme_model_tokens_total",
      help: "Tokens of turns (cached ones are part of input)",
      labelNames: ["kind"],
      registers,
    }),
    turnSeconds: new Histogram({
      name: "mneme_turn_seconds",
      help: "From the beginning of a turn to its commit",
      labelNames: ["platform", "outcome"],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640],
      registers,
    }),
    deliverySeconds: new Histogram({
      name: "mneme_delivery_seconds",
      help: "From the commit of a part to the platform's confirmation",
      labelNames: ["platform", "kind"],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600],
      registers,
    }),
  };
}
