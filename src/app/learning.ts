/**
 * Wires reviews: what a finished turn earns, what the end of a session flushes, and the job that does it. The gateway
 * writes intents; gateway and workers run the same handlers.
 */
import type { GatewayConfig } from "../../config/schema.js";
import type { Agent } from "../agent/agent.js";
import type { Speaker } from "../domain/identity.js";
import type { NewIntent } from "../domain/job.js";
import type { RenderedPart } from "../domain/message.js";
import { isGroup } from "../domain/identity.js";
import type { Entry } from "../domain/transcript.js";
import type { Gate } from "../gateway/gate.js";
import { withoutReply } from "../gateway/routes.js";
import { decideReviews, earnsFlush, flushIntent } from "../learning/due.js";
import { createReviewHandler } from "../learning/review.js";
import { noticeLine } from "../learning/saved.js";
import { titleIntent } from "../learning/title.js";
import { payloadVersion } from "../domain/job.js";
import type { JobHandler, JobLedger } from "../ports/job-queue.js";
import type { Handovers } from "../ports/handovers.js";
import type { LearningStore } from "../ports/learning.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { NewOutbox } from "../ports/mailbox.js";
import type { Session, TurnCommit, TurnRow } from "../ports/stores.js";
import type { Stores } from "../storage/stores.js";
import { languageOf, text } from "../words/catalogue.js";
import type { Features } from "./features.js";

export interface LearningDeps {
  readonly config: GatewayConfig;
  readonly stores: Stores;
  readonly store: LearningStore;
  readonly ledger: JobLedger;
  readonly handovers: Pick<Handovers, "history">;
  readonly agent: Agent;
  readonly features: Features;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly render: (platform: string, markdown: string) => readonly RenderedPart[];
}

export interface Learning {
  /** For a turn's commit. */
  decide(
    session: Session,
    turn: TurnRow,
    ending: { readonly outcome: TurnCommit["outcome"]; readonly entries: readonly Entry[] },
  ): TurnCommit["decide"];
  /** Intents for a session that ends or is rebuilt. */
  flush(session: Session): Promise<readonly NewIntent[]>;
  /** Writes that flush down now: the session goes on with a new prompt. */
  flushNow(session: Session): Promise<void>;
  /** Flushes sessions whose prompt cache is about to go cold. */
  flushIdle(): Promise<void>;
  readonly review: JobHandler<"review">;
}

const almostColdMs = 600_000;
const fullShare = 80;

export function buildLearning(deps: LearningDeps): Learning {
  const { config, store, clock, features } = deps;
  const rules = {
    memoryInterval: features.reviewTools.memory.length > 0 ? config.memory.nudgeInterval : 0,
    skillInterval: features.reviewTools.skills.length > 0 ? config.skills.nudgeInterval : 0,
    idleMs: config.learning.idleSeconds * 1_000,
  };
  const flush = async (session: Session): Promise<readonly NewIntent[]> => {
    if (session.isPrivate || session.frozen === undefined || features.reviewTools.memory.length === 0) return [];
    const { userTurns, lastMessageId } = await store.uncoveredCount(session.id, "memory-review");
    const inThread = session.threadId !== undefined || session.chatKind === "thread";
    return earnsFlush(userTurns, config.memory.flushMinTurns, inThread) ? [flushIntent(session, lastMessageId, clock.now())] : [];
  };
  const flushNow = async (session: Session): Promise<void> => {
    const intents = await flush(session);
    if (intents.length > 0) await store.addIntents(intents, clock.now());
  };
  return {
    flush,
    flushNow,
    decide: (session, turn, ending) => (sums, lastMessageId) => {
      const decided = decideReviews(rules, sums, {
        turnId: turn.id,
        sessionId: session.id,
        spaceId: session.spaceId,
        isPrivate: session.isPrivate,
        answered: ending.outcome === "answered",
        managedSkills: usesTool(ending.entries, "skill_manage"),
        lastMessageId,
        now: clock.now(),
      });
      return { counters: decided.counters, intents: [...decided.intents, ...sideIntents(deps, session, lastMessageId)] };
    },
    flushIdle: async () => {
      const cacheMs = config.agent.promptCacheMinutes * 60_000;
      if (cacheMs <= almostColdMs) return;
      const now = clock.now();
      for (const session of await deps.stores.sessions.idle(now - cacheMs, now - cacheMs + almostColdMs)) {
        await flushNow(session);
      }
    },
    review: createReviewHandler({
      agent: deps.agent,
      sessions: deps.stores.sessions,
      turns: deps.stores.turns,
      history: (sessionId) => deps.handovers.history(sessionId),
      outbox: deps.stores.outbox,
      store,
      clock,
      logger: deps.logger,
      idleMs: rules.idleMs,
      givesWay: config.model.parallel === 1,
      tools: features.reviewTools,
      speakerOf: (platform, accountId) => speakerOf(deps, platform, accountId),
      nearlyFull: (session) => nearlyFull(features, session),
      takeBack: (job) => features.takeBack(job),
      describe: features.describeSaved,
      notice: (session, saved) => noticeRows(deps, session, saved),
    }),
  };
}

/** The turns of a session within this time share one job that feeds its search stretches. */
const stretchEveryMs = 30_000;

/**
 * Work that stored turns make necessary: the search stretches, and a title for a new session. Words are found at once through the
 * messages' own index; the stretches only rank questions, in other sessions, so they need not be fed turn by turn.
 */
function sideIntents({ config, clock }: LearningDeps, session: Session, lastMessageId: number): NewIntent[] {
  if (session.isPrivate || lastMessageId === 0) return [];
  const now = clock.now();
  const slot = Math.floor(now / stretchEveryMs);
  const stretch: NewIntent = {
    id: `stretch-${session.id}-${slot}`,
    kind: "stretch",
    sessionId: session.id,
    spaceId: session.spaceId,
    payload: { v: payloadVersion, sessionId: session.id, spaceId: session.spaceId, upTo: lastMessageId },
    // After the slot's last commit.
    runAt: (slot + 1) * stretchEveryMs + 1_000,
  };
  return [stretch, ...(session.title === undefined && config.model.aux.id !== undefined ? [titleIntent(session, lastMessageId, now)] : [])];
}

function usesTool(entries: readonly Entry[], name: string): boolean {
  return entries.some((entry) => entry.role === "assistant" && (entry.toolCalls ?? []).some((call) => call.name === name));
}

async function speakerOf({ stores, gate }: LearningDeps, platform: string, accountId: string): Promise<Speaker | undefined> {
  const account = await stores.access.account(platform, accountId);
  if (account === undefined) return undefined;
  const { personId, displayName } = account;
  return { platform, accountId, personId, displayName, role: gate.roleOf(account) ?? "guest" };
}

function nearlyFull(features: Features, session: Session): string[] {
  const owners = features.ownersOf(session);
  return owners.flatMap((owner) => {
    const usage = features.usage(owner);
    return Number.parseInt(usage, 10) > fullShare ? [`${owner.target === "user" ? "USER.md" : "MEMORY.md"} (${usage})`] : [];
  });
}

/** In a direct message what was saved, in a group only that something was. */
function noticeRows({ config, render }: LearningDeps, session: Session, saved: readonly string[]): NewOutbox[] {
  if (config.learning.notices === "off") return [];
  const language = languageOf(config.ui.language, saved);
  const line = isGroup(session.chatKind)
    ? text(language, "notice.saved-group")
    : text(language, "notice.saved", { what: noticeLine(saved) });
  return render(session.platform, line).map((part) => ({
    kind: "notice",
    route: withoutReply(session.route),
    part,
    sessionId: session.id,
    silent: true,
  }));
}
