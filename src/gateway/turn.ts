/**
 * One turn: claim it, run the agent, then one commit of transcript, reply, counters and job intents. A turn that lost
 * its claim (stopped, taken over) can neither post nor write: every step goes through the claim.
 */
import type { AgentResult } from "../agent/agent.js";
import { GatewayError, errorText, type StoreError } from "../domain/errors.js";
import { noUsage } from "../domain/transcript.js";
import type { Session, StoredEntry, TurnRow } from "../ports/stores.js";
import { commandText, languageOf, text, type Language } from "../words/catalogue.js";
import type { Channel } from "./channels.js";
import { compose, userEntry, type Composed } from "./compose.js";
import { insist } from "./insist.js";
import { noticeRows, savedRows, StandIns } from "./notices.js";
import { Preview } from "./preview.js";
import type { AbortReason, RunningTurn } from "./running-turn.js";
import { replyRows } from "./reply-rows.js";
import { startSignOfLife } from "./sign-of-life.js";
import { concat } from "./acts.js";
import { askAgent } from "./turn-ask.js";
import { giveUp, tell } from "./turn-failure.js";
import type { TurnRunnerDeps } from "./turn-deps.js";
import { windowTurn } from "./window-turn.js";
import type { WindowView } from "./window.js";
import { commitOf, endingOf } from "./turn-ending.js";

interface TurnEnd {
  readonly running: RunningTurn;
  readonly turn: TurnRow;
  readonly session: Session;
  readonly channel: Channel;
  readonly preview: Preview | undefined;
  readonly result: AgentResult | undefined;
  readonly reason: AbortReason | "exhausted" | undefined;
  readonly saved: readonly string[];
}

/** What a turn works on; a joined message or a smaller window changes it. */
interface Work {
  readonly channel: Channel;
  session: WindowView["session"];
  history: WindowView["history"];
  turn: TurnRow;
  saved: readonly string[];
}

const maxAttempts = 3;
/** How often one turn's request is made smaller after the server refused it as too long. */
const maxRefusals = 2;

export class TurnRunner {
  readonly #deps: TurnRunnerDeps;
  readonly #standIns = new StandIns();

  constructor(deps: TurnRunnerDeps) {
    this.#deps = deps;
  }

  /** Runs a turn to its end; what a process that stops cannot end is left to the next start. Never rejects. */
  async run(running: RunningTurn): Promise<void> {
    const cancelDeadline = this.#deps.clock.after(this.#deps.limits.timeoutMs, () => running.abort("timeout"));
    try {
      await this.#run(running);
    } catch (error) {
      const log = { key: running.key, error: errorText(error) };
      if (isOutdated(error)) this.#deps.logger.info(log, "a turn ended because it had lost its claim");
      else {
        this.#deps.logger.error(log, "a turn could not be begun or finished");
        if (!running.leaving.aborted) await giveUp(this.#deps, running, error);
      }
    } finally {
      cancelDeadline();
    }
  }

  async #run(running: RunningTurn): Promise<void> {
    const channel = this.#deps.channels.get(running.speaker.platform);
    if (channel === undefined) throw new GatewayError("internal", "a turn for a platform that is not running");
    const work = await this.#begin(running, channel);
    if (work.turn.attempts > maxAttempts) {
      await this.#end({ ...work, running, preview: undefined, result: undefined, reason: "exhausted", saved: [] });
      return;
    }
    const { clock, logger, limits } = this.#deps;
    const endSign = startSignOfLife({ channel, route: work.turn.route, clock, logger, maxMs: limits.timeoutMs });
    const preview = this.#preview(work.turn, work.session, channel);
    try {
      const result = await this.#answer(running, work, preview);
      if (result === "left") return;
      running.close();
      endSign();
      await this.#end({ ...work, running, preview, result, reason: running.reason });
    } catch (error) {
      if (running.leaving.aborted || isOutdated(error)) throw error;
      // An open turn would keep its session from every later one: it ends here, and the person is told.
      logger.error({ key: running.key, turn: work.turn.id, error: errorText(error) }, "a turn failed inside");
      running.close();
      endSign();
      await this.#end({ ...work, running, preview, result: undefined, reason: undefined });
    } finally {
      endSign();
    }
  }

  /** The session with a prompt and a history that fit, and the turn's row. */
  async #begin(running: RunningTurn, channel: Channel): Promise<Work> {
    const { book, window } = this.#deps;
    const { recovered } = running;
    const opened = await this.#insist(running, () => (recovered === undefined ? book.open(running.act) : book.reopen(recovered.sessionId)));
    const whole: WindowView = { session: opened, history: await window.history(opened.id) };
    const fits = (): Promise<WindowView> => window.fit(opened, windowTurn(this.#deps, running, channel));
    const { session, history } = recovered === undefined ? await this.#insist(running, fits) : whole;
    const turn = await this.#insist(running, () => this.#claim(running, session, history, channel));
    running.hasRow = true;
    // Accounts may have been linked between the two: what the turn writes goes to whom they belong to now.
    const moved = session.personId !== undefined && session.personId !== turn.speaker.personId;
    return { channel, session: moved ? await book.reopen(session.id) : session, history, turn, saved: [] };
  }

  /** Asks until there is an end: again with what joined, or with less when the server says it is too long. `left`: the process stops. */
  async #answer(running: RunningTurn, work: Work, preview: Preview): Promise<AgentResult | undefined | "left"> {
    work.saved = await this.#insist(running, () => this.#deps.prepare(work.session, work.turn.speaker));
    for (let refusals = 0; ;) {
      const result = await askAgent(this.#deps, { running, turn: work.turn, session: work.session, history: work.history, preview });
      if (running.reason === "shutdown") {
        await preview.settle();
        return "left";
      }
      if (await this.#join(running, work, preview)) continue;
      const tooLong = result?.failure === "too-long" && running.reason === undefined && refusals < maxRefusals;
      if (tooLong && (await this.#shrink(running, work, refusals++))) continue;
      this.#deps.window.measured(work.session.id, result?.windowTokens);
      return result;
    }
  }

  /** What joined meanwhile becomes part of the turn's message; true when something did. */
  async #join(running: RunningTurn, work: Work, preview: Preview): Promise<boolean> {
    const joined = running.takeJoined();
    if (joined.length === 0) return false;
    running.act = concat([running.act, ...joined]);
    const more = await this.#compose(running, work.session, work.history, work.channel);
    const user = userEntry(more);
    const { turn } = work;
    await this.#deps.turns.join(turn.id, turn.claim, { inboxIds: joined.flatMap((act) => act.inboxIds), user, said: more.said });
    work.turn = { ...turn, user, said: more.said, inboxIds: [...running.act.inboxIds] };
    preview.reset();
    return true;
  }

  async #shrink(running: RunningTurn, work: Work, round: number): Promise<boolean> {
    const { session, history, turn, channel } = work;
    const refused = { view: { session, history }, turn, round, ...windowTurn(this.#deps, running, channel) };
    const smaller = await this.#insist(running, () => this.#deps.window.shrink(refused));
    if (smaller === undefined) return false;
    work.session = smaller.session;
    work.history = smaller.history;
    work.turn = { ...turn, sessionId: smaller.session.id };
    return true;
  }

  async #claim(running: RunningTurn, session: Session, history: readonly StoredEntry[], channel: Channel): Promise<TurnRow> {
    const { turns, ids, clock } = this.#deps;
    if (running.recovered !== undefined) return turns.takeOver(running.recovered.id, true);
    const composed = await this.#compose(running, session, history, channel);
    const last = running.act.messages.at(-1);
    if (last === undefined) throw new RangeError("a turn without a message");
    return turns.begin(
      {
        id: ids.next(),
        sessionId: session.id,
        inboxIds: running.act.inboxIds,
        speaker: running.speaker,
        route: last.route,
        user: userEntry(composed),
        said: composed.said,
      },
      clock.now(),
    );
  }

  async #compose(running: RunningTurn, session: Session, history: readonly StoredEntry[], channel: Channel): Promise<Composed> {
    const composed = await this.#composed(running, session, history, channel);
    return running.act.said === undefined ? composed : { ...composed, said: running.act.said };
  }

  async #composed(running: RunningTurn, session: Session, history: readonly StoredEntry[], channel: Channel): Promise<Composed> {
    const { clock, timeZone, earlier } = this.#deps;
    const { act } = running;
    return compose({
      messages: act.messages,
      previousAt: history.at(-1)?.at,
      now: clock.now(),
      timeZone: await timeZone(act),
      earlier: await earlier(act, { id: session.id, isNew: history.length === 0 }, channel),
      files: await this.#deps.attachments.read(act.messages, { channel, owner: session.spaceId }, running.signal),
      documentChars: this.#deps.limits.documentChars,
    });
  }

  #preview(turn: TurnRow, session: Session, channel: Channel): Preview {
    return new Preview({
      channel,
      route: turn.route,
      chatKind: session.chatKind,
      deliveryId: `p${turn.id}`.slice(0, 25),
      clock: this.#deps.clock,
      logger: this.#deps.logger,
      record: (record) => this.#deps.turns.preview(turn.id, turn.claim, record),
      ...(turn.preview === undefined ? {} : { existing: turn.preview }),
    });
  }

  async #end(end: TurnEnd): Promise<void> {
    const { turns, clock } = this.#deps;
    const { turn, channel, preview, result } = end;
    const language = languageOf(this.#deps.language, [turn.said]);
    const leftBehind = turn.preview?.state === "shown" ? turn.preview.ref : undefined;
    const takesOver = preview === undefined ? leftBehind : await preview.settle();
    const ending = endingOf({
      result,
      journal: result === undefined ? await turns.journal(turn.id) : [],
      abort: end.reason,
      shown: takesOver === undefined ? undefined : (preview?.text ?? ""),
      language,
      newCommand: commandText(channel.adapter.capabilities.commandForm, "new"),
    });
    const reply = await this.#withMissed(turn, channel, ending.reply, language);
    const standIn = this.#standIns.word(end.session.id, end.session.frozen?.model ?? "", result?.model, language);
    const outbox = [
      ...replyRows({
        channel,
        route: turn.route,
        turnId: turn.id,
        sessionId: end.session.id,
        markdown: reply.text,
        takesOver,
        maxParts: this.#deps.limits.maxParts,
        language,
      }),
      ...this.#deps.attachments.lines(end.running.act.messages, language).flatMap((line) => noticeRows(channel, turn.route, line)),
      ...savedRows(channel, turn.route, language, end.saved),
      ...noticeRows(channel, turn.route, standIn),
    ];
    const commit = {
      ...commitOf({ ...end, inboxIds: end.running.act.inboxIds }, ending),
      outbox,
      decide: this.#deps.decide(end.session, turn, { ...ending, windowTokens: result?.windowTokens }),
      notesUnknown: reply.notes,
    };
    await this.#insist(end.running, () => turns.commit(commit, clock.now()));
    this.#deps.committed();
    const ms = clock.now() - turn.startedAt;
    this.#deps.ended?.({ platform: turn.route.platform, outcome: ending.outcome, ms, usage: result?.usage ?? noUsage });
  }

  /** An earlier part that may not have arrived is named at the beginning of the next thing that is sent. */
  async #withMissed(
    turn: TurnRow,
    channel: Channel,
    reply: string,
    language: Language,
  ): Promise<{ readonly text: string; readonly notes: boolean }> {
    const { platform, chatId, threadId } = turn.route;
    if (reply === "" || !(await this.#deps.outbox.hasUnknown(platform, chatId, threadId))) return { text: reply, notes: false };
    const again = commandText(channel.adapter.capabilities.commandForm, "again");
    return { text: `${text(language, "delivery.maybe-lost", { again })}\n\n${reply}`, notes: true };
  }

  /** Waits for a store that refuses (disk full); the person is told why nothing comes. */
  #insist<T>(running: RunningTurn, work: () => Promise<T>): Promise<T> {
    const { clock, logger } = this.#deps;
    const onRefused = async (error: StoreError): Promise<void> => {
      logger.error({ key: running.key, error: errorText(error) }, "a turn waits for the store");
      if (error.code === "store.full") await tell(this.#deps, running, "turn.store-full");
    };
    return insist(work, { clock, signal: running.leaving, onRefused });
  }
}

function isOutdated(error: unknown): boolean {
  return error instanceof GatewayError && error.code === "turn.outdated";
}
