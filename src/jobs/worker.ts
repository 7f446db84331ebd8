/**
 * Runs one job: claims it in the ledger, keeps its lease, calls the injected handler and writes down how it ended. Whatever a queue
 * offers, twice or late, is harmless, because only a claim makes a job run.
 */
import { GatewayError, errorText } from "../domain/errors.js";
import type { JobKind } from "../domain/job.js";
import type { ClaimedJob, JobHandler, JobHandlers, JobLedger, JobResult, RunJob, RunOutcome } from "../ports/job-queue.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import { judge, retryDelay } from "./retry-policy.js";

export interface JobRunnerDeps {
  readonly ledger: JobLedger;
  readonly handlers: JobHandlers;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ids: Ids;
  /** How long a job is held without a sign of life, ms. After a crash it runs again when this has passed. */
  readonly leaseMs?: number;
  /** Longest run of one job, ms; then it is aborted and counts as failed once. */
  readonly limitMs?: number;
  /** Name under which this process says that it lives; by default a new id. */
  readonly worker?: string;
  /** Why no job may be taken now (the schema is not this program's), or undefined. Asked before each claim. */
  readonly refusal?: () => Promise<string | undefined>;
  /** The wait before the next attempt, ms. */
  readonly retryDelay?: (attempts: number) => number;
}

export interface JobRunner {
  readonly worker: string;
  /** Never rejects. An abort of the signal hands the job back, not counted. */
  readonly run: RunJob;
  /** Says every 10 s in the ledger that this worker lives, from now until `stop`. */
  start(): void;
  stop(): void;
}

const beatMs = 10_000;
/** The wait after the ledger itself could not be used, ms. */
const ledgerAwayMs = 5000;
/** How long an aborted handler may take to end before it is left behind, ms. */
const windDownMs = 2000;

type Ending = "lost" | "stopping" | "too-long";

export function createJobRunner(deps: JobRunnerDeps): JobRunner {
  const { ledger, clock, logger, ids, leaseMs = 30_000 } = deps;
  const worker = deps.worker ?? ids.next();
  let cancelBeat: (() => void) | undefined;
  let refused: string | undefined;

  const run: RunJob = async (id, signal) => {
    try {
      if (signal.aborted) return { state: "again", at: clock.now() };
      const refusal = await deps.refusal?.();
      if (refusal !== undefined) {
        if (refusal !== refused) logger.warn({ worker, reason: refusal }, "This worker takes no jobs.");
        refused = refusal;
        return { state: "again", at: clock.now() + ledgerAwayMs };
      }
      refused = undefined;
      const claimed = await ledger.claim(id, worker, leaseMs, clock.now());
      if (claimed === "over") return { state: "done" };
      if ("notBefore" in claimed) return { state: "again", at: claimed.notBefore };
      if ("failed" in claimed) {
        logger.error({ job: id, error: claimed.failed }, "A job failed for good; see `mneme jobs`.");
        return { state: "failed", error: claimed.failed };
      }
      return await runClaimed(deps, claimed, signal);
    } catch (error) {
      if (error instanceof GatewayError && error.code === "turn.outdated") {
        logger.warn({ job: id }, "Another worker has taken this job over; what it did here was not stored.");
      } else {
        logger.error({ job: id, error: errorText(error) }, "The job ledger could not be used; the job is tried again.");
      }
      return { state: "again", at: clock.now() + ledgerAwayMs };
    }
  };

  function beat(): void {
    cancelBeat = clock.after(beatMs, beat);
    ledger.workerBeat(worker, clock.now()).catch((error: unknown) => {
      logger.warn({ worker, error: errorText(error) }, "This worker could not say that it lives.");
    });
  }

  return {
    worker,
    run,
    start: beat,
    stop: () => cancelBeat?.(),
  };
}

async function runClaimed(deps: JobRunnerDeps, job: ClaimedJob, stop: AbortSignal): Promise<RunOutcome> {
  const { ledger, clock, logger } = deps;
  const log = { job: job.id, kind: job.kind, attempt: job.attempts };
  const startedAt = clock.now();
  const hold = holdLease(deps, job, stop);
  try {
    const result = await hold.orLeft(callHandler(deps.handlers, job, { signal: hold.signal, heartbeat: () => hold.beat() }));
    if ("postponeMs" in result) throw new GatewayError("job.postponed", result.reason, { retryAfterMs: result.postponeMs });
    await ledger.finish(job.id, job.fence, result.watermarks, clock.now());
    logger.debug({ ...log, ms: clock.now() - startedAt }, "A job is done.");
    return { state: "done" };
  } catch (error) {
    const ending = hold.ending();
    if (ending === "lost" || (error instanceof GatewayError && error.code === "turn.outdated")) throw outdated(job);
    if (ending === "stopping") {
      const runAt = clock.now();
      await ledger.release(job.id, job.fence, { runAt, error: "Handed back because the process stopped.", counts: false });
      return { state: "again", at: runAt };
    }
    return await giveUp(deps, job, error, log);
  } finally {
    hold.end();
  }
}

async function giveUp(deps: JobRunnerDeps, job: ClaimedJob, error: unknown, log: object): Promise<RunOutcome> {
  const { ledger, clock, logger } = deps;
  const delay = deps.retryDelay ?? ((attempts: number) => retryDelay(attempts, Math.random));
  const verdict = judge(error, job, delay);
  const text = { error: verdict.error, counts: verdict.counts };
  if (verdict.after === undefined) {
    await ledger.release(job.id, job.fence, text);
    logger.error({ ...log, error: verdict.error }, "A job failed for good; see `mneme jobs`.");
    return { state: "failed", error: verdict.error };
  }
  const runAt = clock.now() + verdict.after;
  await ledger.release(job.id, job.fence, { ...text, runAt });
  if (verdict.counts) logger.warn({ ...log, error: verdict.error, retryInMs: verdict.after }, "A job failed and is tried again.");
  else logger.debug({ ...log, reason: verdict.error, retryInMs: verdict.after }, "A job gave way.");
  return { state: "again", at: runAt };
}

/** The ledger has checked that the payload fits the kind, so the handler of that kind may have it. */
async function callHandler(handlers: JobHandlers, job: ClaimedJob, context: Parameters<JobHandler>[1]): Promise<JobResult> {
  const handler = handlers[job.kind] as JobHandler<JobKind>;
  return handler(job, context);
}

function outdated(job: ClaimedJob): GatewayError {
  return new GatewayError("turn.outdated", `Job ${job.id} was taken over; fence ${job.fence} is outdated.`);
}

interface Hold {
  readonly signal: AbortSignal;
  beat(): Promise<void>;
  /** Why the handler was aborted, if it was. */
  ending(): Ending | undefined;
  /** The handler's result; rejects when it does not end soon after its abort. */
  orLeft(result: Promise<JobResult>): Promise<JobResult>;
  end(): void;
}

function holdLease(deps: JobRunnerDeps, job: ClaimedJob, stop: AbortSignal): Hold {
  const { ledger, clock, logger, leaseMs = 30_000, limitMs = 1_800_000 } = deps;
  const controller = new AbortController();
  let ending: Ending | undefined;
  let cancelNext: () => void = () => undefined;
  let ended = false;

  function abort(why: Ending): void {
    if (ending !== undefined) return;
    ending = why;
    controller.abort(why === "too-long" ? new GatewayError("internal", `The job ran longer than ${limitMs} ms.`) : undefined);
  }

  async function beat(): Promise<void> {
    if (await ledger.heartbeat(job.id, job.fence, leaseMs, clock.now())) return;
    abort("lost");
    throw outdated(job);
  }

  function schedule(): void {
    if (ended) return;
    cancelNext = clock.after(leaseMs / 3, () => {
      beat().then(schedule, (error: unknown) => {
        if (ended || ending === "lost") return;
        // Not known to be lost: the fence decides in the end.
        logger.warn({ job: job.id, error: errorText(error) }, "A job's lease could not be prolonged; tried again.");
        schedule();
      });
    });
  }

  const onStop = (): void => abort("stopping");
  stop.addEventListener("abort", onStop, { once: true });
  if (stop.aborted) onStop();
  const cancelLimit = clock.after(limitMs, () => abort("too-long"));
  schedule();
  return {
    signal: controller.signal,
    beat,
    ending: () => ending,
    orLeft: (result) => orLeft(result, controller.signal, clock),
    end() {
      ended = true;
      cancelNext();
      cancelLimit();
      stop.removeEventListener("abort", onStop);
    },
  };
}

function orLeft(result: Promise<JobResult>, signal: AbortSignal, clock: Clock): Promise<JobResult> {
  return new Promise((resolve, reject) => {
    let cancel: () => void = () => undefined;
    const leave = (): void => {
      cancel = clock.after(windDownMs, () => reject(signal.reason));
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    const settle = (): void => {
      cancel();
      signal.removeEventListener("abort", leave);
    };
    result.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}
