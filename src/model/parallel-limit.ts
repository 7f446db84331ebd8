/**
 * Lets at most `limit` calls run at once, in order of arrival; 0 means no limit. Waiting ends with the signal, so a
 * stopped turn never keeps a place in the queue.
 */
export class ParallelLimit {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves with the function that gives the place back (call it once), or with undefined when the signal was aborted first. */
  async enter(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#limit <= 0 || this.#running < this.#limit) this.#running += 1;
    else if (!(await this.#wait(signal))) return undefined;
    return () => this.#leave();
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const go = (): void => {
        signal.removeEventListener("abort", stop);
        resolve(true);
      };
      const stop = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1);
        resolve(false);
      };
      signal.addEventListener("abort", stop, { once: true });
      this.#waiting.push(go);
    });
  }

  /** Hands the place to the next in line; nobody can slip in between. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
