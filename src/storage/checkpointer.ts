/**
 * Moves the write-ahead log into the database file in a worker thread, so that no request waits for it. The thread
 * starts with the first due checkpoint: a short command never pays for it.
 */
import { Worker } from "node:worker_threads";
import { errorText } from "../domain/errors.js";
import type { Logger } from "../ports/runtime.js";

export interface CheckpointerOptions {
  readonly file: string;
  /** Resolved path of the driver, because the thread's code is not a file and cannot resolve it itself. */
  readonly driver: string;
  readonly logger: Logger;
  /** Above this size of the log file it is cut to nothing; below, it is only copied. */
  readonly truncateAboveBytes: number;
  /** Called when the thread is lost: somebody else must checkpoint from now on. */
  readonly onLost: () => void;
}

export interface Checkpointer {
  /** To be told after every commit. */
  committed(): void;
  /** Checkpoints now; resolves with the size of the log file afterwards, in bytes. */
  run(): Promise<number>;
  /** Ends the thread after a last checkpoint. */
  stop(): Promise<void>;
}

/** A checkpoint syncs the whole file, which holds up the commits of the same disk: seldom enough, and often enough for a log far below its limit. */
const dueAfterCommits = 500;
const dueAfterMs = 2500;

/**
 * CommonJS, because evaluated code is. A reader that is always there keeps the log from being cut: each new snapshot lies on frames not
 * copied yet. So the cut holds the writers (100 ms, or 300 ms once the log is twice too large, at most three times; they wait
 * asynchronously) until readers have moved to the end.
 */
const threadCode = `
const { parentPort, workerData } = require("node:worker_threads");
const { statSync } = require("node:fs");
const Driver = require(workerData.driver);
const open = (timeout) => new Driver(workerData.file, { timeout, fileMustExist: true });
const db = open(0);
const size = () => statSync(workerData.file + "-wal", { throwIfNoEntry: false })?.size ?? 0;
const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
function copy() {
  const [state] = db.pragma("wal_checkpoint(PASSIVE)");
  return state.log === state.checkpointed;
}
function cut() {
  const holder = open(100);
  try {
    for (let round = 0; round < 3 && size() > workerData.above; round += 1) {
      const until = Date.now() + (size() > 2 * workerData.above ? 300 : 100);
      holder.exec("begin immediate");
      while (!copy() && Date.now() < until) sleep(2);
      holder.exec("commit");
      db.pragma("busy_timeout = 50");
      db.pragma("wal_checkpoint(TRUNCATE)");
      db.pragma("busy_timeout = 0");
    }
  } finally {
    holder.close();
  }
}
parentPort.on("message", (request) => {
  let error;
  try {
    copy();
    if (size() > workerData.above) cut();
  } catch (thrown) {
    if (!String(thrown.code).startsWith("SQLITE_BUSY")) error = String(thrown.code ?? thrown);
  }
  const bytes = size();
  if (request === "stop") { db.close(); parentPort.close(); return; }
  parentPort.postMessage({ bytes, error });
});
`;

export function createCheckpointer(options: CheckpointerOptions): Checkpointer {
  const { file, driver, logger, truncateAboveBytes } = options;
  let thread: Worker | undefined;
  let lost = false;
  let stopping = false;
  let commits = 0;
  let lastAt = Date.now();
  let waiting: ((bytes: number) => void)[] = [];
  let running = false;

  function answer(bytes: number): void {
    running = false;
    const now = waiting;
    waiting = [];
    for (const resolve of now) resolve(bytes);
  }

  function fail(error: unknown): void {
    if (lost || stopping) return;
    lost = true;
    thread = undefined;
    logger.error({ error: errorText(error) }, "The checkpoint thread ended; the main connection checkpoints from now on.");
    options.onLost();
    answer(0);
  }

  function start(): Worker {
    const worker = new Worker(threadCode, { eval: true, workerData: { file, driver, above: truncateAboveBytes } });
    worker.on("message", (result: { bytes: number; error?: string }) => {
      if (result.error !== undefined) logger.warn({ code: result.error }, "A checkpoint failed; it is tried again.");
      answer(result.bytes);
    });
    worker.on("error", fail);
    worker.on("exit", () => fail(new Error("the thread ended")));
    worker.unref();
    return worker;
  }

  function request(): void {
    commits = 0;
    lastAt = Date.now();
    if (running || lost || stopping) return;
    running = true;
    thread ??= start();
    thread.postMessage("run");
  }

  return {
    committed() {
      commits += 1;
      if (commits >= dueAfterCommits || Date.now() - lastAt >= dueAfterMs) request();
    },
    run() {
      if (lost || stopping) return Promise.resolve(0);
      return new Promise<number>((resolve) => {
        waiting.push(resolve);
        request();
        thread?.ref();
      }).then((bytes) => {
        thread?.unref();
        return bytes;
      });
    },
    async stop() {
      stopping = true;
      const worker = thread;
      thread = undefined;
      if (worker !== undefined && !lost) {
        worker.ref();
        await new Promise<void>((resolve) => {
          worker.once("exit", () => resolve());
          worker.postMessage("stop");
        });
      }
      answer(0);
    },
  };
}
