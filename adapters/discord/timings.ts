/**
 * Every wait of the adapter in one place, in milliseconds; tests pass shorter ones. Discord's own numbers are not here.
 */

export interface Timings {
  /** One REST call from the request to the end of its answer. */
  readonly requestMs: number;
  /** From `start` to READY. */
  readonly startMs: number;
  /** From HELLO to READY or RESUMED; longer means that the session is stuck. */
  readonly sessionMs: number;
  /** First pause between reconnects after the first; doubles up to `reconnectMaxMs`. */
  readonly reconnectMs: number;
  readonly reconnectMaxMs: number;
  /** Least time between two logins: Discord takes one in five seconds. */
  readonly loginMs: number;
  /** How long `stop` waits for a socket that is being opened, and for the close handshake. */
  readonly dialMs: number;
  readonly closeMs: number;
  /** How old the last heartbeat acknowledgement may become. Discord's interval is 41 s; a dead socket must show within a minute. */
  readonly aliveWithinMs: number;
  /** How long messages of a chat wait for the chat's catch-up. */
  readonly catchUpMs: number;
}

export const standardTimings: Timings = {
  requestMs: 15_000,
  startMs: 30_000,
  sessionMs: 30_000,
  reconnectMs: 1_000,
  reconnectMaxMs: 60_000,
  loginMs: 5_500,
  dialMs: 2_000,
  closeMs: 2_500,
  aliveWithinMs: 55_000,
  catchUpMs: 20_000,
};
