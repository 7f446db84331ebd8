/** All waiting times of the adapter in one place, so that tests can shorten them; milliseconds. */

export interface Timing {
  /** Limit of one Web API call. */
  readonly callMs: number;
  /** How long an event waits for names before it is stored without them. Slack repeats after 3 s. */
  readonly namesMs: number;
  /** Limit for opening a socket up to Slack's hello. */
  readonly helloMs: number;
  /** A socket whose pings stay unanswered this long is closed by the library. */
  readonly pongMs: number;
  /** How old the last sign of life of the socket may become before the adapter gives it up itself. */
  readonly aliveMs: number;
  /** Pauses between attempts to connect again: the first and the longest. */
  readonly reconnectMs: { readonly first: number; readonly longest: number };
  /** How long a socket may take to close in good order. */
  readonly closeMs: number;
  /** Limit without a byte on a download. */
  readonly downloadIdleMs: number;
}

export const usualTiming: Timing = {
  callMs: 15_000,
  namesMs: 700,
  helloMs: 20_000,
  pongMs: 15_000,
  aliveMs: 60_000,
  reconnectMs: { first: 500, longest: 30_000 },
  closeMs: 500,
  downloadIdleMs: 30_000,
};
