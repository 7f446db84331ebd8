/** Clock, ids and log: injected everywhere, so that tests own time. */

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Runs `task` once after `ms`; the returned function cancels it. Never keeps the process alive on its own. */
  after(ms: number, task: () => void): () => void;
}

export interface Ids {
  /** A new unique id of letters and digits that sorts by time of making; safe in file names, job ids and URLs. */
  next(): string;
}

export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}
