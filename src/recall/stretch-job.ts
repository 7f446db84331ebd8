/**
 * The job that keeps the stretch index in step with the transcripts: every session whose turns were committed is offered once per turn,
 * and a stretch that has grown is indexed anew.
 */
import { payloadVersion, type NewIntent } from "../domain/job.js";
import type { JobHandler } from "../ports/job-queue.js";
import type { SearchIndex } from "../ports/search.js";

/** Does `stretch` jobs. Idempotent: what is indexed already stays as it is. */
export function createStretchHandler({ index }: { readonly index: SearchIndex }): JobHandler<"stretch"> {
  return async ({ payload }) => {
    await index.indexStretches(payload.sessionId, payload.upTo);
    return { watermarks: [{ kind: "stretch", sessionId: payload.sessionId, upTo: payload.upTo }] };
  };
}

/** A pause in which more turns of the session join the same stretch, ms. */
const settleMs = 30_000;

export interface CommittedTurn {
  readonly sessionId: string;
  readonly spaceId: string;
  readonly isPrivate: boolean;
  readonly lastMessageId: number;
  readonly now: number;
}

/** The intent that a turn's commit stores; none for a private session. */
export function stretchIntents({ sessionId, spaceId, isPrivate, lastMessageId, now }: CommittedTurn): NewIntent[] {
  if (isPrivate || lastMessageId === 0) return [];
  return [
    {
      id: `stretch-${sessionId}-${lastMessageId}`,
      kind: "stretch",
      spaceId,
      sessionId,
      payload: { v: payloadVersion, sessionId, spaceId, upTo: lastMessageId },
      runAt: now + settleMs,
    },
  ];
}
