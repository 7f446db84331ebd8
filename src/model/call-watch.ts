/**
 * Ends one model call when its signal is aborted, when it is silent for too long or when it takes too long as a whole.
 * The client library's own time limit ends with the headers and its loop ends silently on an abort, so both are decided here.
 */
import type { Clock } from "../ports/runtime.js";

export type Stopped = "aborted" | "idle" | "too-slow";

export class CallWatch {
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  readonly #stop: Promise<"stopped">;
  readonly #onAbort: () => void;
  readonly #cancelTotal: () => void;
  #idleMs: number;
  #cancelIdle: () => void = () => undefined;
  #stopped: Stopped | undefined;

  constructor(options: { readonly clock: Clock; readonly signal: AbortSignal; readonly idleMs: number; readonly totalMs: number }) {
    this.#clock = options.clock;
    this.#outer = options.signal;
    this.#idleMs = options.idleMs;
    this.#stop = new Promise((resolve) => this.signal.addEventListener("abort", () => resolve("stopped"), { once: true }));
    this.#onAbort = () => this.#end("aborted");
    this.#outer.addEventListener("abort", this.#onAbort, { once: true });
    this.#cancelTotal = this.#clock.after(options.totalMs, () => this.#end("too-slow"));
    if (this.#outer.aborted) this.#end("aborted");
    else this.alive();
  }

  /** Pass this to the request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the call was ended from here, if it was. */
  get stopped(): Stopped | undefined {
    return this.#stopped;
  }

  /** Something arrived: the idle time starts anew. */
  alive(idleMs: number = this.#idleMs): void {
    this.#idleMs = idleMs;
    this.#cancelIdle();
    if (this.#stopped === undefined) this.#cancelIdle = this.#clock.after(idleMs, () => this.#end("idle"));
  }

  /** The promise's value, or "stopped" at once when the call was ended; never waits for a library that ignores the abort. */
  race<Value>(promise: Promise<Value>): Promise<Value | "stopped"> {
    return Promise.race([promise, this.#stop]);
  }

  /** Removes timers and listeners and closes the connection, unless the caller has read it to its end (`isRead`). */
  close(isRead = false): void {
    this.#cancelIdle();
    this.#cancelTotal();
    this.#outer.removeEventListener("abort", this.#onAbort);
    // An abort is dear (an error with its stack, listeners in every layer below) and does nothing for what has ended.
    if (!isRead) this.#controller.abort();
  }

  #end(reason: Stopped): void {
    this.#stopped ??= reason;
    this.#controller.abort();
  }
}
