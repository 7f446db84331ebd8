/** The jobs of the external memory as intents: written in the commit that makes them necessary, so that no crash and no outage loses one. */
import { payloadVersion, type JobPayload, type NewIntent } from "../domain/job.js";
import type { MemoryOwner } from "../ports/memory-log.js";
import type { Session } from "../ports/stores.js";

type Place = Pick<Session, "id" | "spaceId">;
type Sync = JobPayload<"provider-sync">;

/** Covers everything that is there when the job runs. */
export const everything = Number.MAX_SAFE_INTEGER;

/**
 * After an answered turn: the recall of the next one and the sync of the turns before at once, the turn itself after
 * `syncAfterMs` at the latest, so that taking it back mostly reaches an unsynced turn.
 */
export function turnIntents(session: Place, turnId: string, upTo: number, now: number, syncAfterMs: number): NewIntent[] {
  const payload = { v: payloadVersion, sessionId: session.id, spaceId: session.spaceId, upTo } as const;
  const scope = { sessionId: session.id, spaceId: session.spaceId };
  return [
    { id: `pre-${turnId}`, kind: "provider-prefetch", ...scope, payload, runAt: now },
    { id: `syb-${turnId}`, kind: "provider-sync", ...scope, payload: { ...payload, removes: false, exceptTurn: turnId }, runAt: now },
    { id: `syn-${turnId}`, kind: "provider-sync", ...scope, payload: { ...payload, removes: false }, runAt: now + syncAfterMs },
  ];
}

/** At the end of a session: what is not synced yet, then the service is told. */
export function endIntent(session: Place, now: number): NewIntent {
  return sync(`sye-${session.id}`, session, { upTo: everything, removes: false, end: true }, now);
}

/** Takes turns back that were synced. */
export function forgetTurnsIntent(session: Place, turnIds: readonly string[], now: number): NewIntent {
  return sync(`syf-${turnIds.join("-").slice(0, 100)}`, session, { upTo: 0, removes: true, forgetTurns: [...turnIds] }, now);
}

/** Deletes the remote session and stores it anew from what is here now, under whoever its speakers are now. */
export function startOverIntent(session: Place, key: string, now: number): NewIntent {
  return sync(`sys-${key}-${session.id}`, session, { upTo: everything, removes: true, startOver: true }, now);
}

/** Brings the copy of a memory file in line. `key` makes the intent unique: one per change. */
export function mirrorIntent(owner: MemoryOwner, removes: boolean, key: string, now: number): NewIntent {
  const sessionId = `${owner.target}-${owner.id}`;
  const payload = { v: payloadVersion, sessionId, spaceId: owner.id, upTo: 0, removes, target: owner.target, ownerId: owner.id } as const;
  return { id: `mir-${key}`, kind: "provider-mirror", sessionId, spaceId: owner.id, payload, runAt: now };
}

function sync(id: string, session: Place, rest: Omit<Sync, "v" | "sessionId" | "spaceId">, now: number): NewIntent {
  const payload = { v: payloadVersion, sessionId: session.id, spaceId: session.spaceId, ...rest } as const;
  return { id, kind: "provider-sync", sessionId: session.id, spaceId: session.spaceId, payload, runAt: now };
}
