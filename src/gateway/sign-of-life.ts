/**
 * "typing…" as a lease with an end: it begins when a turn takes longer than a moment, is renewed while the turn runs,
 * and stops with it, whatever a send does meanwhile.
 */
import { errorText } from "../domain/errors.js";
import type { Route } from "../domain/message.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Channel } from "./channels.js";

export interface SignOfLifeDeps {
  readonly channel: Channel;
  readonly route: Route;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The lease ends after this time at the latest, in milliseconds. */
  readonly maxMs: number;
}

const beginAfterMs = 300;
const callLimitMs = 5_000;

/** Starts the lease; the returned function ends it. */
export function startSignOfLife(deps: SignOfLifeDeps): () => void {
  const { channel, route, clock, logger } = deps;
  const lasts = channel.adapter.capabilities.signOfLifeMs;
  const endsAt = clock.now() + deps.maxMs;
  let ended = false;
  let shown = false;
  let cancel: (() => void) | undefined;

  const pulse = (): void => {
    if (ended || clock.now() >= endsAt) return;
    shown = true;
    channel.adapter.signOfLife(route, AbortSignal.timeout(callLimitMs)).catch((error: unknown) => {
      logger.debug({ error: errorText(error) }, "sign of life failed");
    });
    if (lasts > 0) cancel = clock.after(lasts * 0.8, pulse);
  };
  cancel = clock.after(beginAfterMs, pulse);

  return () => {
    if (ended) return;
    ended = true;
    cancel?.();
    if (shown && lasts === 0 && route.replyTo !== undefined) {
      channel.adapter.react(route.chatId, route.replyTo, undefined, AbortSignal.timeout(callLimitMs)).catch((error: unknown) => {
        logger.debug({ error: errorText(error) }, "the sign of life could not be taken away");
      });
    }
  };
}
