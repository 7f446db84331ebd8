/**
 * Counters → which review or flush a finished turn has earned. Pure; called inside the turn's commit, so that a counter
 * is set back in the very transaction that writes the intent.
 */
import { payloadVersion, type NewIntent } from "../domain/job.js";
import type { Counters } from "../ports/stores.js";

export interface DueRules {
  /** User turns between two memory reviews; 0 or no memory tool = never. */
  readonly memoryInterval: number;
  /** Model responses with tool calls between two skill reviews; 0 or no skill tools = never. */
  readonly skillInterval: number;
  /** How long the session must be quiet before the review begins, in milliseconds. */
  readonly idleMs: number;
}

export interface FinishedTurn {
  readonly turnId: string;
  readonly sessionId: string;
  readonly spaceId: string;
  readonly isPrivate: boolean;
  /** Only an answered turn earns a review; an interrupted one leaves a due counter due. */
  readonly answered: boolean;
  /** The turn maintained skills itself: the count towards a skill review starts anew. */
  readonly managedSkills: boolean;
  readonly lastMessageId: number;
  readonly now: number;
}

export function decideReviews(
  rules: DueRules,
  sums: Counters,
  turn: FinishedTurn,
): { readonly counters: Counters; readonly intents: readonly NewIntent[] } {
  const counting: Counters = {
    memoryTurns: rules.memoryInterval > 0 ? sums.memoryTurns : 0,
    skillIterations: rules.skillInterval > 0 && !turn.managedSkills ? sums.skillIterations : 0,
  };
  const memory = rules.memoryInterval > 0 && counting.memoryTurns >= rules.memoryInterval;
  const skills = rules.skillInterval > 0 && counting.skillIterations >= rules.skillInterval;
  if (!turn.answered || turn.isPrivate || (!memory && !skills)) return { counters: counting, intents: [] };
  return {
    counters: { memoryTurns: memory ? 0 : counting.memoryTurns, skillIterations: skills ? 0 : counting.skillIterations },
    intents: [reviewIntent(`review-${turn.turnId}`, turn, { memory, skills, flush: false }, turn.now + rules.idleMs)],
  };
}

/** A flush: the memory review of what nothing has covered, before a session ends, is rebuilt or is compressed. */
export function flushIntent(session: { readonly id: string; readonly spaceId: string }, lastMessageId: number, now: number): NewIntent {
  const place = { sessionId: session.id, spaceId: session.spaceId, lastMessageId };
  return reviewIntent(`flush-${session.id}-${lastMessageId}`, place, { memory: true, skills: false, flush: true }, now);
}

/** Whether so many unreviewed user turns are worth a flush; short threads count sooner. 0 = never. */
export function earnsFlush(userTurns: number, flushMinTurns: number, inThread: boolean): boolean {
  if (flushMinTurns === 0) return false;
  return userTurns >= (inThread ? Math.min(2, flushMinTurns) : flushMinTurns);
}

function reviewIntent(
  id: string,
  place: { readonly sessionId: string; readonly spaceId: string; readonly lastMessageId: number },
  what: { readonly memory: boolean; readonly skills: boolean; readonly flush: boolean },
  runAt: number,
): NewIntent {
  const { sessionId, spaceId, lastMessageId } = place;
  return {
    id,
    kind: "review",
    sessionId,
    spaceId,
    runAt,
    payload: { v: payloadVersion, sessionId, spaceId, upTo: lastMessageId, ...what },
  };
}
