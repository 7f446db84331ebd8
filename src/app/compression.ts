/**
 * Keeps conversations within the model's window: the hand-over that a job prepared is used at the next turn; a conversation that is
 * nearly too long, or refused as too long, is condensed at once. Where that does not help, a new one begins with the summary alone.
 */
import {
  judgeCompression,
  keptMessages,
  planCompression,
  planFresh,
  planFromPrepared,
  tokensOf,
  type CompressPlan,
} from "../agent/compress.js";
import { excerpts, handoverText, summarise } from "../agent/handover.js";
import { errorText } from "../domain/errors.js";
import type { GatewayConfig } from "../../config/schema.js";
import type { NewIntent } from "../domain/job.js";
import type { ChatModel } from "../ports/chat-model.js";
import type { Handovers } from "../ports/handovers.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import type { Session, StoredEntry, TurnCommit, Turns } from "../ports/stores.js";
import type { FrozenSession, Window, WindowView } from "../gateway/window.js";
import { assumedWindowTokens, handoverIntent, inlineShare, type Asked, type BeforeCompress } from "./handover-job.js";

export interface CompressionDeps {
  readonly handovers: Handovers;
  readonly turns: Turns;
  readonly side: { readonly model: ChatModel; readonly id: string };
  readonly config: Pick<GatewayConfig, "model" | "agent">;
  readonly beforeCompress: BeforeCompress;
  /** Jobs that the end of a session makes necessary (flush, external memory). */
  readonly onEnd: (session: Session) => Promise<readonly NewIntent[]>;
  /** Freezes the child's prompt. */
  readonly reopen: (sessionId: string) => Promise<FrozenSession>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

type Fit = Parameters<Window["fit"]>[1];
type Refused = Parameters<Window["shrink"]>[0];

/** Sessions whose measured size is remembered. */
const remembered = 5_000;
const summaryLimitMs = 120_000;

export class Compression implements Window {
  readonly #deps: CompressionDeps;
  readonly #measured = new Map<string, number>();
  /** What a refusal taught, where the settings do not say. */
  #learned: number | undefined;

  constructor(deps: CompressionDeps) {
    this.#deps = deps;
  }

  history(sessionId: string): Promise<StoredEntry[]> {
    return this.#deps.handovers.history(sessionId);
  }

  async fit(session: FrozenSession, turn: Fit): Promise<WindowView> {
    const { handovers, logger } = this.#deps;
    const history = await handovers.history(session.id);
    const asIs = { session, history };
    const load = await this.#load(session, history);
    const most = this.#window() * inlineShare;
    const prepared = await handovers.prepared(session.id);
    if (prepared !== undefined) {
      const plan = planFromPrepared(history, prepared);
      const judged = plan === undefined ? undefined : judgeCompression(plan, prepared.text, { load, most });
      if (plan !== undefined && judged?.helps === true) return (await this.#goOn(session, plan, prepared.text)) ?? asIs;
      logger.info({ session: session.id, ...judged }, "a prepared hand-over is of no use any more");
      await handovers.discard(session.id);
    }
    if (load <= most) return asIs;
    logger.info({ session: session.id, load }, "a conversation is condensed before its next answer");
    await turn.tell("compress.inline");
    return (await this.#condense(asIs, load, turn)) ?? asIs;
  }

  async shrink({ view, turn, round, ...rest }: Refused): Promise<WindowView | undefined> {
    const { session, history } = view;
    const load = await this.#load(session, history);
    this.#deps.logger.warn(
      { session: session.id, load, round, window: this.#window() },
      "the model's server says that the request is too long",
    );
    if (this.#deps.config.model.contextTokens === undefined && load > 0) this.#learned = Math.min(this.#window(), load);
    if (round > 0) return this.#fresh(view, rest, turn);
    await rest.tell("compress.inline");
    return this.#condense(view, load, rest, turn);
  }

  measured(sessionId: string, windowTokens: number | undefined): void {
    if (windowTokens === undefined) return;
    this.#measured.delete(sessionId);
    this.#measured.set(sessionId, windowTokens);
    const [oldest] = this.#measured.keys();
    if (this.#measured.size > remembered && oldest !== undefined) this.#measured.delete(oldest);
  }

  /** Adds the job that a turn has earned which filled so much of the window. */
  decide(
    session: Session,
    { windowTokens }: { readonly windowTokens: number | undefined },
    other: TurnCommit["decide"],
  ): TurnCommit["decide"] {
    if (windowTokens === undefined || windowTokens <= this.#window() * this.#deps.config.agent.compressAt) return other;
    return (counters, lastMessageId) => {
      const decided = other(counters, lastMessageId);
      if (lastMessageId === 0) return decided;
      return { ...decided, intents: [...decided.intents, handoverIntent(session, lastMessageId, this.#deps.clock.now())] };
    };
  }

  /** Has a hand-over prepared because the person wants it. False when there is nothing to condense. */
  async ask(session: Session, asked: Pick<Asked, "focus">): Promise<boolean> {
    const { handovers, clock } = this.#deps;
    const history = await handovers.history(session.id);
    const plan = planCompression(history, { windowTokens: this.#window(), keepMessages: keptMessages });
    if (plan === undefined) return false;
    const now = clock.now();
    await handovers.addIntents([handoverIntent(session, history.at(-1)?.id ?? 0, now, { ...asked, asked: true })], now);
    return true;
  }

  #window(): number {
    return this.#deps.config.model.contextTokens ?? this.#learned ?? assumedWindowTokens;
  }

  /** Tokens of the session's last request and answer: as its server counted them, after a restart where one call made the turn, otherwise estimated. */
  async #load(session: FrozenSession, history: readonly StoredEntry[]): Promise<number> {
    const known = this.#measured.get(session.id);
    if (known !== undefined) return known;
    const [last] = await this.#deps.turns.recent(session.id, 1);
    if (last?.iterations === 1 && last.usage.inputTokens > 0) return last.usage.inputTokens + last.usage.outputTokens;
    const frozen = { role: "user" as const, content: `${session.frozen.system}${JSON.stringify(session.frozen.tools)}` };
    return tokensOf([frozen, ...history.map(({ entry }) => entry)]);
  }

  /** A hand-over is made now. Where it cannot be, or does not help, a new conversation begins. */
  async #condense(view: WindowView, load: number, rest: Fit, turn?: Refused["turn"]): Promise<WindowView | undefined> {
    const plan = planCompression(view.history, { windowTokens: this.#window(), keepMessages: keptMessages });
    if (plan === undefined) return this.#fresh(view, rest, turn);
    const written = await this.#write(view.session, plan, rest.signal);
    if (rest.signal.aborted) return undefined;
    const judged = judgeCompression(plan, written, { load, most: this.#window() * inlineShare });
    if (!judged.helps) return this.#fresh(view, rest, turn);
    return this.#goOn(view.session, plan, written, turn);
  }

  /** The way out (field report SE-13): nothing stays but the summary, and the person is told. */
  async #fresh({ session, history }: WindowView, { signal, tell }: Fit, turn?: Refused["turn"]): Promise<WindowView | undefined> {
    const plan = planFresh(history);
    if (plan === undefined) return undefined;
    const written = await this.#write(session, plan, signal);
    if (signal.aborted) return undefined;
    await tell("compress.fresh");
    return this.#goOn(session, plan, written, turn);
  }

  /** By the model; where it fails, from excerpts. */
  async #write(session: FrozenSession, plan: CompressPlan, stop: AbortSignal): Promise<string> {
    const { side, beforeCompress, logger } = this.#deps;
    const signal = AbortSignal.any([stop, AbortSignal.timeout(summaryLimitMs)]);
    const keep = await beforeCompress(session, plan.middle, signal);
    const summary = await summarise({ ...side, windowTokens: this.#window() }, { entries: plan.middle, keep }, signal);
    if (summary.ok) return handoverText(summary.text);
    logger.warn({ session: session.id, failure: summary.failure }, "no hand-over could be written; excerpts stand in for it");
    return handoverText(excerpts(plan.middle));
  }

  async #goOn(session: FrozenSession, plan: CompressPlan, written: string, turn?: Refused["turn"]): Promise<WindowView | undefined> {
    const { handovers, ids, clock, logger, onEnd, reopen } = this.#deps;
    const childId = ids.next();
    const idsOf = (entries: readonly StoredEntry[]): number[] => entries.map(({ id }) => id);
    const continuation = { parentId: session.id, childId, text: written, headIds: idsOf(plan.head), tailIds: idsOf(plan.tail) };
    const moved = turn === undefined ? {} : { turn };
    try {
      const done = await handovers.continueIn({ ...continuation, ...moved, intents: await onEnd(session) }, clock.now());
      if (done !== "continued") return undefined;
    } catch (error) {
      logger.warn({ session: session.id, error: errorText(error) }, "a conversation could not be continued in a new session");
      throw error;
    }
    this.#measured.delete(session.id);
    const history = await handovers.history(childId);
    logger.info({ session: session.id, child: childId, messages: history.length }, "a conversation goes on with a hand-over");
    return { session: await reopen(childId), history };
  }
}
