/**
 * The job that prepares a hand-over off the path: the session's next turn uses it. Once one waits, further jobs of the session
 * do nothing; a session that has gone on elsewhere needs none.
 */
import { keptMessages, judgeCompression, planCompression } from "../agent/compress.js";
import { handoverText, summarise } from "../agent/handover.js";
import { GatewayError } from "../domain/errors.js";
import { payloadVersion, type NewIntent } from "../domain/job.js";
import type { RenderedPart } from "../domain/message.js";
import { withoutReply } from "../gateway/routes.js";
import type { ChatModel } from "../ports/chat-model.js";
import type { Handovers } from "../ports/handovers.js";
import type { JobHandler } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { NewOutbox } from "../ports/mailbox.js";
import type { Session, Sessions, StoredEntry, Turns } from "../ports/stores.js";
import { languageOf, text, type Language } from "../words/catalogue.js";

/** Where the settings do not say how large the model's window is. */
export const assumedWindowTokens = 128_000;
/** Above this share of the window a conversation is condensed before its next answer. */
export const inlineShare = 0.85;

export interface HandoverJobDeps {
  readonly handovers: Handovers;
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly side: { readonly model: ChatModel; readonly id: string };
  readonly windowTokens: number;
  /** True while the model server has one slot only. */
  readonly givesWay: boolean;
  readonly beforeCompress: BeforeCompress;
  readonly render: (platform: string, markdown: string) => readonly RenderedPart[];
  readonly language: Language | "auto";
  /** After rows were stored. */
  readonly wake: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Asks the external memory what a summary of these entries should keep. Never rejects. */
export type BeforeCompress = (session: Session, entries: readonly StoredEntry[], signal: AbortSignal) => Promise<string | undefined>;

const lookAgainMs = 2_000;
/**
 * Unasked only when the history shrinks to this share of itself: each use costs the prompt's cache, and a window that is half full of
 * instructions and tools would otherwise be condensed at every turn.
 */
const worthShare = 0.7;

export interface Asked {
  readonly asked: boolean;
  readonly focus?: string;
}

export function handoverIntent(
  session: { readonly id: string; readonly spaceId: string },
  lastMessageId: number,
  now: number,
  { asked, focus }: Asked = { asked: false },
): NewIntent {
  const { id: sessionId, spaceId } = session;
  const payload = { v: payloadVersion, sessionId, spaceId, upTo: lastMessageId, asked, ...(focus === undefined ? {} : { focus }) } as const;
  const id = `handover-${asked ? `asked-${now}-` : ""}${sessionId}-${lastMessageId}`;
  return { id, kind: "handover", sessionId, spaceId, payload, runAt: now };
}

export function createHandoverHandler(deps: HandoverJobDeps): JobHandler<"handover"> {
  return async (job, { signal }) => {
    const { asked, focus, upTo } = job.payload;
    const done = { watermarks: [{ kind: "handover" as const, sessionId: job.sessionId, upTo }] };
    const session = await deps.sessions.byId(job.sessionId);
    if (session?.frozen === undefined || session.endedAt !== undefined) return done;
    if (!asked && (await deps.handovers.prepared(session.id)) !== undefined) return done;
    if (deps.givesWay && (await deps.turns.unfinished()).length > 0) return { postponeMs: lookAgainMs, reason: "a turn is running" };
    const history = (await deps.handovers.history(session.id)).filter(({ id }) => id <= upTo);
    const plan = planCompression(history, { windowTokens: deps.windowTokens, keepMessages: keptMessages });
    if (plan === undefined) return done;
    const keep = await deps.beforeCompress(session, plan.middle, signal);
    const summary = await summarise({ ...deps.side, windowTokens: deps.windowTokens }, { entries: plan.middle, keep, focus }, signal);
    if (signal.aborted) return { postponeMs: lookAgainMs, reason: "given way" };
    if (!summary.ok) throw new GatewayError("internal", `no hand-over: ${summary.failure}`, { retryable: true });
    const written = handoverText(summary.text);
    const judged = judgeCompression(plan, written, { load: 0, most: deps.windowTokens * inlineShare });
    if (!asked && judged.after > judged.before * worthShare) return done;
    deps.logger.info({ session: session.id, before: judged.before, after: judged.after }, "a hand-over is prepared");
    const prepared = {
      sessionId: session.id,
      text: written,
      headIds: plan.head.map(({ id }) => id),
      upTo: plan.upTo,
      at: deps.clock.now(),
    };
    await deps.handovers.prepare(prepared, asked ? word(deps, session, history, judged) : []);
    if (asked) deps.wake();
    return done;
  };
}

function word(
  { render, language }: HandoverJobDeps,
  session: Session,
  history: readonly StoredEntry[],
  { before, after }: { readonly before: number; readonly after: number },
): NewOutbox[] {
  const said = history.filter(({ accountId }) => accountId !== undefined).map((stored) => stored.text);
  const line = text(languageOf(language, said.toReversed()), "compress.done", { before: rounded(before), after: rounded(after) });
  return render(session.platform, line).map((part) => ({ kind: "notice", route: withoutReply(session.route), part, silent: true }));
}

/** Estimates are not shown more exactly than they are. */
function rounded(tokens: number): string {
  const step = tokens < 1_000 ? 10 : 100;
  return (Math.round(tokens / step) * step).toLocaleString("en");
}
