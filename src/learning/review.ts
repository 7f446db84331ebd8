/**
 * The review job: the agent runs once more over the session's own bytes, with the same tools and a stricter permission,
 * and saves what the turn itself missed. It writes nothing to the person's session.
 */
import type { Agent, AgentResult, ToolContext } from "../agent/agent.js";
import { GatewayError } from "../domain/errors.js";
import { isGroup, type Speaker } from "../domain/identity.js";
import type { JobPayload } from "../domain/job.js";
import type { ClaimedJob, JobContext, JobResult, Watermark } from "../ports/job-queue.js";
import type { LearningStore, ReviewKind, UncoveredTurns } from "../ports/learning.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { NewOutbox, Outbox } from "../ports/mailbox.js";
import type { Frozen, Session, Sessions, StoredEntry, Turns } from "../ports/stores.js";
import { fence, holdsFenced } from "../safety/fence.js";
import { instruction } from "./instructions.js";
import { savedBy, type DescribeSaved } from "./saved.js";

export interface ReviewDeps {
  readonly agent: Agent;
  readonly sessions: Sessions;
  readonly turns: Turns;
  /** All that the model saw of a session, what it continues included. */
  readonly history: (sessionId: string) => Promise<readonly StoredEntry[]>;
  readonly outbox: Outbox;
  readonly store: LearningStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly idleMs: number;
  /** True while the model server has one slot only: a review then gives way to any running turn. */
  readonly givesWay: boolean;
  /** Names of the tools a review may use, by what it may write. */
  readonly tools: { readonly memory: readonly string[]; readonly skills: readonly string[] };
  /** The account as it may act now; undefined when it is gone. */
  readonly speakerOf: (platform: string, accountId: string) => Promise<Speaker | undefined>;
  /** `USER.md (91% — …)` for each store of this session over 80 %. */
  readonly nearlyFull: (session: Session) => readonly string[];
  /** Takes back what an earlier attempt of this job wrote. */
  readonly takeBack: (job: ClaimedJob<"review">) => Promise<void>;
  readonly describe: DescribeSaved;
  /** The notice rows for what was saved; empty when notices are off. */
  readonly notice: (session: Session, saved: readonly string[]) => readonly NewOutbox[];
}

const maxIterations = 8;
const maxTurns = 200;
const lookAgainMs = 2_000;
const resultChars = 50_000;

type Payload = JobPayload<"review">;
type FrozenSession = Session & { readonly frozen: Frozen };

export function createReviewHandler(deps: ReviewDeps): (job: ClaimedJob<"review">, context: JobContext) => Promise<JobResult> {
  return async (job, context) => {
    const { payload } = job;
    const session = await deps.sessions.byId(payload.sessionId);
    if (session?.frozen === undefined || session.isPrivate) return { watermarks: [] };
    const wait = await mustWait(deps, session, payload);
    if (wait !== undefined) return wait;
    const covered = await coverage(deps, session, payload);
    if (covered.userTurns === 0) return { watermarks: covered.watermarks };
    if (job.attempts > 1) await deps.takeBack(job);
    const result = await runReview(deps, { ...session, frozen: session.frozen }, job, covered, context.signal);
    if (result.outcome !== "answer" && result.failure !== "empty") {
      if (context.signal.aborted) return { postponeMs: lookAgainMs, reason: "given way" };
      throw new GatewayError("internal", `the review model failed: ${result.failure ?? result.outcome}`, { retryable: true });
    }
    const saved = savedBy(result.entries, deps.describe);
    deps.logger.info({ job: job.id, session: session.id, saved: saved.length }, "a review is done");
    await deps.store.finishReview(job, covered.watermarks, saved.length === 0 ? [] : deps.notice(session, saved), deps.clock.now());
    return { watermarks: covered.watermarks };
  };
}

/** Not before the reply has left and the session is quiet; a flush only gives way to running turns. */
async function mustWait(deps: ReviewDeps, session: Session, payload: Payload): Promise<JobResult | undefined> {
  const running = await deps.turns.unfinished();
  if (deps.givesWay && running.length > 0) return { postponeMs: lookAgainMs, reason: "a turn is running" };
  if (payload.flush) return undefined;
  if (running.some((turn) => turn.sessionId === session.id)) return { postponeMs: lookAgainMs, reason: "the session is busy" };
  const quiet = deps.clock.now() - session.lastActiveAt;
  if (session.endedAt === undefined && quiet < deps.idleMs)
    return { postponeMs: deps.idleMs - quiet, reason: "the session is not quiet yet" };
  const [last] = await deps.turns.recent(session.id, 1);
  if (last !== undefined && (await deps.outbox.pendingOf(last.id)))
    return { postponeMs: lookAgainMs, reason: "the reply is still on its way" };
  return undefined;
}

interface Coverage {
  readonly watermarks: readonly Watermark[];
  /** Uncovered user turns of all sessions together. */
  readonly userTurns: number;
  readonly own: readonly StoredEntry[];
  readonly others: readonly UncoveredTurns[];
}

async function coverage(deps: ReviewDeps, session: Session, payload: Payload): Promise<Coverage> {
  const kinds: ReviewKind[] = [...(payload.memory ? ["memory-review" as const] : []), ...(payload.skills ? ["skill-review" as const] : [])];
  const [kind = "memory-review"] = kinds;
  const all = await deps.store.uncovered(session.spaceId, kind, maxTurns);
  const own = all.find((turns) => turns.sessionId === session.id)?.entries.filter((entry) => entry.id <= payload.upTo) ?? [];
  const others = all.filter((turns) => turns.sessionId !== session.id);
  const watermarks = kinds.flatMap((each): Watermark[] => [
    { kind: each, sessionId: session.id, upTo: payload.upTo },
    ...others.map((turns) => ({ kind: each, sessionId: turns.sessionId, upTo: turns.upTo })),
  ]);
  return { watermarks, own, others, userTurns: own.length + others.reduce((sum, turns) => sum + turns.entries.length, 0) };
}

async function runReview(
  deps: ReviewDeps,
  session: FrozenSession,
  job: ClaimedJob<"review">,
  covered: Coverage,
  signal: AbortSignal,
): Promise<AgentResult> {
  const { payload } = job;
  const history = (await deps.history(session.id)).filter((stored) => stored.id <= payload.upTo);
  const stretch = {
    userTurns: covered.own.length,
    others: quoteOthers(covered.others),
    full: payload.memory ? deps.nearlyFull(session) : [],
    isGroup: isGroup(session.chatKind),
  };
  const allowed = new Set([...(payload.memory ? deps.tools.memory : []), ...(payload.skills ? deps.tools.skills : [])]);
  return deps.agent.run(
    {
      model: session.frozen.model,
      system: session.frozen.system,
      tools: session.frozen.tools,
      history: history.map((stored) => stored.entry),
      user: { role: "user", content: instruction(payload, stretch) },
      done: [],
      context: await contextOf(deps, session, job, covered, history),
      limits: { maxIterations, toolResultChars: resultChars, turnResultChars: resultChars * maxIterations },
      hooks: {
        onText: () => undefined,
        onTextReset: () => undefined,
        beforeTools: async () => undefined,
        startCall: async () => "run",
        finishCall: async () => undefined,
        permit: (tool) => (allowed.has(tool.name) ? undefined : "This tool is not available in a review."),
        steer: async () => undefined,
      },
    },
    signal,
  );
}

async function contextOf(
  deps: ReviewDeps,
  session: FrozenSession,
  job: ClaimedJob<"review">,
  covered: Coverage,
  history: readonly StoredEntry[],
): Promise<Omit<ToolContext, "callId" | "signal">> {
  const words = [...covered.own, ...covered.others.flatMap((turns) => turns.entries)];
  const accountId = covered.own.at(-1)?.accountId ?? history.findLast((stored) => stored.accountId !== undefined)?.accountId;
  const speaker = accountId === undefined ? undefined : await deps.speakerOf(session.platform, accountId);
  return {
    session: { id: session.id, spaceId: session.spaceId, spaceKind: session.spaceKind, isPrivate: session.isPrivate },
    speaker: speaker ?? { platform: session.platform, accountId: "", personId: session.personId ?? "", role: "guest", displayName: "" },
    // The fence stands where a turn has its claim: a review that lost its job can write nothing.
    turn: { id: job.id, claim: job.fence },
    origin: "review",
    jobId: job.id,
    said: words.map((stored) => ({ sessionId: stored.sessionId, text: stored.text })),
    untrusted: history.map((stored) => stored.entry.content).filter((content) => holdsFenced(content)),
  };
}

function quoteOthers(others: readonly UncoveredTurns[]): string {
  const lines = others.flatMap((turns) =>
    turns.entries.map(
      (stored) =>
        `[${turns.sessionId.slice(-6)} · ${new Date(stored.at).toISOString().slice(0, 16)} · ${stored.author ?? "someone"}] ${stored.text}`,
    ),
  );
  return lines.length === 0 ? "" : fence("earlier-messages", lines.join("\n"));
}
