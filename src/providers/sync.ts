/**
 * The jobs that keep an external memory in step: turns in order per session, recall for the next turn, the end of a session. Each
 * turn is written down as `sending` before its call leaves, so a repeat knows that it may have arrived and looks it up.
 */
import { GatewayError, errorText } from "../domain/errors.js";
import type { ClaimedJob, JobContext, JobHandler, JobResult } from "../ports/job-queue.js";
import type { PrefetchState, SyncedTurn } from "../ports/memory-provider.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Session } from "../ports/stores.js";
import { conversationOf, placeOf, type ConversationDeps, type TurnInSession } from "./conversation.js";
import type { ProviderGuard } from "./guard.js";
import { createMirrorHandlers, type MirrorDeps } from "./mirror.js";

export interface ProviderJobDeps extends ConversationDeps, MirrorDeps {
  readonly memory: ProviderGuard;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The last message that was synced of a session; 0 when none was. */
  readonly watermark: (sessionId: string) => Promise<number>;
}

export interface ProviderHandlers {
  readonly "provider-sync": JobHandler<"provider-sync">;
  readonly "provider-prefetch": JobHandler<"provider-prefetch">;
  readonly "provider-mirror": JobHandler<"provider-mirror">;
  readonly "provider-forget": JobHandler<"provider-forget">;
}

/** Recall that is older is not used any more, ms. */
export const cacheMs = 1_800_000;
const nothing: JobResult = { watermarks: [] };

/** Without deps (no provider is chosen) jobs that an earlier setting left behind end without effect. */
export function createProviderHandlers(deps: ProviderJobDeps | undefined): ProviderHandlers {
  if (deps === undefined) {
    const over = async (): Promise<JobResult> => nothing;
    return { "provider-sync": over, "provider-prefetch": over, "provider-mirror": over, "provider-forget": over };
  }
  const unlessAway =
    <Kind extends keyof ProviderHandlers>(handler: JobHandler<Kind>): JobHandler<Kind> =>
    async (job, context) => {
      const postponeMs = await deps.memory.closedFor();
      return postponeMs > 0 ? { postponeMs, reason: "the external memory does not answer" } : handler(job, context);
    };
  const mirror = createMirrorHandlers(deps);
  return {
    "provider-sync": unlessAway<"provider-sync">((job, context) => sync(deps, job, context)),
    "provider-prefetch": (job, context) => prefetch(deps, job, context),
    "provider-mirror": unlessAway<"provider-mirror">(mirror["provider-mirror"]),
    "provider-forget": unlessAway<"provider-forget">(mirror["provider-forget"]),
  };
}

async function sync(deps: ProviderJobDeps, job: ClaimedJob<"provider-sync">, { signal }: JobContext): Promise<JobResult> {
  const { payload } = job;
  const session = await deps.sessions.byId(job.sessionId);
  if (session === undefined || session.isPrivate) return nothing;
  if (payload.forgetTurns !== undefined) await takeBack(deps, session, payload.forgetTurns, signal);
  if (payload.startOver === true) await startOver(deps, session, job.id, signal);
  const all = await conversationOf(deps, session, payload.upTo);
  const answered = all.filter((turn) => turn.answered);
  const above = await deps.watermark(session.id);
  const due = answered.filter((turn) => turn.lastMessageId > above && turn.turnId !== payload.exceptTurn);
  for (const turn of due) {
    if (signal.aborted) throw signal.reason;
    await syncOne(deps, session, turn, answered, signal);
  }
  const last = answered.at(-1);
  if (payload.end === true && last !== undefined) {
    const rest = { place: await placeOf(deps.store, session, last.personId), conversation: answered, uncertain: true };
    await deps.memory.onSessionEnd(rest, signal);
  }
  const upTo = coveredUpTo(all, payload.exceptTurn);
  return upTo === 0 ? nothing : { watermarks: [{ kind: "provider-sync", sessionId: session.id, upTo }] };
}

/** The message before the turn that is left for later, or the last one. */
function coveredUpTo(turns: readonly TurnInSession[], exceptTurn: string | undefined): number {
  const excepted = turns.find((turn) => turn.turnId === exceptTurn);
  return excepted === undefined ? (turns.at(-1)?.lastMessageId ?? 0) : excepted.firstMessageId - 1;
}

async function syncOne(
  deps: ProviderJobDeps,
  session: Session,
  turn: TurnInSession,
  answered: readonly TurnInSession[],
  signal: AbortSignal,
): Promise<void> {
  const { memory, store, clock, logger } = deps;
  if (turn.user === "" && turn.assistant === "") return;
  const known = await store.ref(memory.name, "turn", turn.turnId);
  if (known !== undefined && known.state !== "sending") return;
  if (known === undefined) await store.beginRef(memory.name, "turn", turn.turnId, session.id, clock.now());
  const conversation: SyncedTurn[] = answered.slice(0, answered.indexOf(turn) + 1);
  const rest = { place: await placeOf(store, session, turn.personId), conversation, uncertain: known !== undefined };
  try {
    const remoteIds = await memory.syncTurn(turn, rest, signal);
    await store.endRef(memory.name, "turn", turn.turnId, { state: "stored", remoteIds });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== "input.invalid") throw error;
    logger.error(
      { session: session.id, turn: turn.turnId, error: errorText(error) },
      "the external memory refuses a turn for good; it is left out",
    );
    await store.endRef(memory.name, "turn", turn.turnId, { state: "refused", remoteIds: [] });
  }
}

async function takeBack(deps: ProviderJobDeps, session: Session, turnIds: readonly string[], signal: AbortSignal): Promise<void> {
  const { memory, store } = deps;
  if (!memory.canForgetTurns) return;
  const taken = new Set(turnIds);
  const conversation = (await conversationOf(deps, session, Number.MAX_SAFE_INTEGER)).filter(
    (turn) => turn.answered && !taken.has(turn.turnId),
  );
  for (const turnId of turnIds) {
    const ref = await store.ref(memory.name, "turn", turnId);
    if (ref === undefined) continue;
    const place = await placeOf(store, session, conversation.at(-1)?.personId ?? session.personId ?? session.spaceId);
    const synced = new Set((await store.refs(memory.name, "turn", session.id)).map((row) => row.localId));
    const rest = { place, conversation: conversation.filter((turn) => synced.has(turn.turnId)), uncertain: ref.state === "sending" };
    await memory.forgetTurn(turnId, ref.remoteIds, rest, signal);
    await store.dropRef(memory.name, "turn", turnId);
  }
}

/** Once per job: a repeat goes on with the sync where the last attempt ended. */
async function startOver(deps: ProviderJobDeps, session: Session, jobId: string, signal: AbortSignal): Promise<void> {
  const { memory, store, clock } = deps;
  if ((await store.ref(memory.name, "fact", jobId)) !== undefined) return;
  const place = await placeOf(store, session, session.personId ?? session.spaceId);
  const idsOf = async (kind: "turn" | "fact"): Promise<string[]> =>
    (await store.refs(memory.name, kind, session.id)).flatMap((row) => row.remoteIds);
  await memory.forgetSession(place, { turns: await idsOf("turn"), facts: await idsOf("fact") }, signal);
  await store.startOver(memory.name, session.id);
  await store.beginRef(memory.name, "fact", jobId, `over:${session.id}`, clock.now());
}

/** Best effort: recall that could not be prepared is asked for before the next model call instead. */
async function prefetch(deps: ProviderJobDeps, job: ClaimedJob<"provider-prefetch">, { signal }: JobContext): Promise<JobResult> {
  const { memory, store, clock, logger } = deps;
  const session = await deps.sessions.byId(job.sessionId);
  if (session === undefined || session.isPrivate || (await memory.closedFor()) > 0) return nothing;
  const turns = await conversationOf(deps, session, Number.MAX_SAFE_INTEGER);
  const last = turns.at(-1);
  // A newer turn has a job of its own.
  if (last === undefined || last.user === "" || last.lastMessageId > job.payload.upTo) return nothing;
  const place = await placeOf(store, session, last.personId);
  const startedAt = clock.now();
  try {
    const layers = await memory.queuePrefetch(last.user, place, await stateOf(deps, session.id, turns.length), signal);
    const rows = layers
      .filter(({ text }) => text.trim() !== "")
      .map(({ layer, text }) => ({ layer, text, turn: turns.length, at: clock.now() }));
    if (rows.length > 0)
      await store.putCached({ sessionId: session.id, spaceId: session.spaceId, personId: last.personId }, rows, startedAt);
  } catch (error) {
    if (signal.aborted) throw error;
    logger.warn({ session: session.id, error: errorText(error) }, "recall for the next turn could not be prepared");
  }
  return nothing;
}

async function stateOf({ store, clock }: ProviderJobDeps, sessionId: string, turn: number): Promise<PrefetchState> {
  const cached = await store.cached(sessionId, clock.now() - cacheMs);
  return { turn, madeAt: Object.fromEntries(cached.map((row) => [row.layer, row.turn])) };
}
