/**
 * Reads the database in a thread of its own, so that no search stops the event loop, however much it has to look through. The
 * thread starts with the first search and reads only.
 */
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { GatewayError } from "../domain/errors.js";
import type { SqlParams } from "./sql.js";

export interface ReadStatement {
  readonly sql: string;
  readonly params: SqlParams;
  /** True: the first column of all rows as one array of numbers, which costs little to hand over. */
  readonly isColumn?: boolean;
}

export interface SearchReader {
  /** Runs the statements on one consistent state; a result for each. Rejects when one fails. */
  read(statements: readonly ReadStatement[]): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

/** CommonJS, because evaluated code is. */
const threadCode = `
const { parentPort, workerData } = require("node:worker_threads");
const Driver = require(workerData.driver);
const prepared = new Map();
let db;
function open() {
  const opened = new Driver(workerData.file, { readonly: true, fileMustExist: true, timeout: 5000 });
  opened.pragma("mmap_size = 1073741824");
  return opened;
}
function run({ sql, params, isColumn }) {
  let statement = prepared.get(sql);
  if (statement === undefined) prepared.set(sql, (statement = db.prepare(sql)));
  const values = Array.isArray(params) ? params : [params];
  return isColumn ? Float64Array.from(statement.pluck(true).all(...values)) : statement.all(...values);
}
parentPort.on("message", ({ id, statements }) => {
  let answer;
  try {
    db ??= open();
    db.exec("begin");
    try {
      answer = { id, results: statements.map(run) };
    } finally {
      db.exec("commit");
    }
  } catch (error) {
    answer = { id, code: String(error.code ?? ""), message: String(error.message ?? error) };
  }
  parentPort.postMessage(answer);
});
`;

interface Waiting {
  readonly resolve: (results: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

type Answer =
  | { readonly id: number; readonly results: readonly unknown[] }
  | { readonly id: number; readonly code: string; readonly message: string };

export function createSearchReader(file: string): SearchReader {
  const driver = createRequire(import.meta.url).resolve("better-sqlite3");
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let closed = false;
  let count = 0;

  function lost(worker: Worker, error: unknown): void {
    if (thread !== worker) return;
    thread = undefined;
    for (const { reject } of waiting.values()) reject(new GatewayError("internal", "The thread that searches ended.", { cause: error }));
    waiting.clear();
  }

  function settle(worker: Worker, answer: Answer): void {
    const asked = waiting.get(answer.id);
    waiting.delete(answer.id);
    // Only a search that somebody waits for keeps the process alive.
    if (waiting.size === 0) worker.unref();
    if ("results" in answer) asked?.resolve(answer.results);
    else asked?.reject(failureOf(answer));
  }

  function start(): Worker {
    const worker = new Worker(threadCode, { eval: true, workerData: { file, driver } });
    worker.on("message", (answer: Answer) => settle(worker, answer));
    worker.on("error", (error) => lost(worker, error));
    worker.on("exit", () => lost(worker, undefined));
    return worker;
  }

  return {
    read(statements) {
      if (closed) return Promise.reject(new GatewayError("internal", "The search is closed."));
      return new Promise((resolve, reject) => {
        const worker = (thread ??= start());
        const id = (count += 1);
        waiting.set(id, { resolve, reject });
        worker.ref();
        worker.postMessage({ id, statements });
      });
    },
    async close() {
      closed = true;
      const worker = thread;
      if (worker === undefined) return;
      await worker.terminate();
      lost(worker, undefined);
    },
  };
}

function failureOf({ code, message }: { readonly code: string; readonly message: string }): GatewayError {
  if (code.startsWith("SQLITE_BUSY")) return new GatewayError("store.busy", "The database stayed locked while searching.");
  if (code.startsWith("SQLITE_CORRUPT"))
    return new GatewayError("store.corrupt", "The database or its search index is damaged; see `mneme doctor`.");
  return new GatewayError("internal", `A search failed: ${message}`);
}
