/**
 * Health and metrics on the gateway's HTTP server: `/healthz` is the truth (503 when something is wrong), `/livez` and `/healthz?live`
 * only say that the process answers. An address that cannot be used is a warning, never a failed start.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { GatewayConfig } from "../../config/schema.js";
import { errorText } from "../domain/errors.js";
import type { Lanes } from "../gateway/lanes.js";
import type { Supervisor } from "../gateway/supervisor.js";
import type { JobLedger } from "../ports/job-queue.js";
import type { OutboxRow } from "../ports/mailbox.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Database } from "../storage/database.js";
import { Health, type HealthDeps, type HealthReport } from "./health.js";
import type { HttpServer } from "./http.js";
import type { Jobs } from "./jobs.js";
import { Metrics, type TurnSeen } from "./metrics.js";

export interface MonitorDeps extends HealthDeps {
  readonly http: HttpServer;
  /** False: nothing listens (a terminal session). */
  readonly serve: boolean;
  readonly logger: Logger;
}

export class Monitor {
  readonly #deps: MonitorDeps;
  readonly health: Health;
  readonly #metrics: Metrics;

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
    this.health = new Health(deps);
    this.#metrics = new Metrics({ db: deps.db, clock: deps.clock, report: () => this.health.check() });
  }

  sent(row: OutboxRow): void {
    this.health.sent(row.route.platform);
    this.#metrics.sent(row);
  }

  turn(seen: TurnSeen): void {
    this.#metrics.turn(seen);
  }

  /** Listens and begins to look. Never rejects. */
  async start(): Promise<void> {
    const { http, logger, serve } = this.#deps;
    this.health.start();
    if (!serve) return;
    try {
      await http.mount("/healthz", (request, response) => this.#healthz(request, response));
      await http.mount("/livez", (_request, response) => answer(response, 200, "text/plain", "alive\n"));
      await http.mount("/metrics", (_request, response) => this.#serveMetrics(response));
      logger.info({ port: http.port }, "health and metrics are served");
    } catch (error) {
      logger.warn({ error: errorText(error) }, "health and metrics are not served; everything else runs");
    }
  }

  /** The start is over: looks again, and loads what only metrics need. Never rejects. */
  async warm(): Promise<void> {
    this.health.start();
    if (!this.#deps.serve) return;
    await this.#metrics
      .load()
      .catch((error: unknown) => this.#deps.logger.warn({ error: errorText(error) }, "metrics could not be loaded"));
  }

  stop(): Promise<void> {
    return this.health.stop();
  }

  #healthz(request: IncomingMessage, response: ServerResponse): void {
    if (new URL(request.url ?? "/", "http://localhost").searchParams.has("live")) {
      answer(response, 200, "text/plain", "alive\n");
      return;
    }
    void this.health
      .check()
      .then((report) =>
        answer(response, report.status === "ok" ? 200 : 503, "application/json", `${JSON.stringify(readable(report), null, 2)}\n`),
      );
  }

  #serveMetrics(response: ServerResponse): void {
    this.#metrics.text().then(
      ({ type, body }) => answer(response, 200, type, body),
      (error: unknown) => {
        this.#deps.logger.warn({ error: errorText(error) }, "metrics could not be read");
        answer(response, 500, "text/plain", "metrics could not be read; the log says why\n");
      },
    );
  }
}

/** The monitor of a wired gateway. */
export function gatewayMonitor(deps: {
  readonly config: GatewayConfig;
  readonly db: Database;
  readonly http: HttpServer;
  readonly supervisor: Supervisor;
  readonly lanes: Lanes;
  readonly jobs: Jobs;
  readonly core: { readonly ledger: JobLedger; readonly redact: (text: string) => string };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly serve: boolean;
}): Monitor {
  const { config, supervisor, lanes, jobs, core, ...rest } = deps;
  return new Monitor({
    ...rest,
    ...core,
    platforms: () => supervisor.states(),
    lanes: () => ({ running: lanes.running, oldestAt: lanes.oldestAt, stalled: lanes.stalled() }),
    queue: () => jobs.health(),
    needsWorkers: config.redis.url !== undefined,
    turnTimeoutMs: config.turns.timeoutMs,
  });
}

/** Times as people and monitors write them. */
function readable(report: HealthReport): unknown {
  const time = (key: string, value: unknown): unknown =>
    (key === "at" || key.endsWith("At")) && typeof value === "number" ? new Date(value).toISOString() : value;
  return JSON.parse(JSON.stringify(report, time));
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
}
