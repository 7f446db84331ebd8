/**
 * The story of a message on one screen: stored, then gated, then a command or a lane. Every stored event ends with a
 * disposition; within one chat events are handled in the order they were stored.
 */
import { errorText } from "../domain/errors.js";
import { accountKey, isGroup, type Account, type GroupScope, type Speaker } from "../domain/identity.js";
import type { ButtonPress, ChatChange, InboundEdit, InboundEvent, InboundMessage } from "../domain/message.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Access } from "../ports/access.js";
import type { Disposition, Inbox, InboxRow, SettleOptions } from "../ports/mailbox.js";
import type { Sessions } from "../ports/stores.js";
import { languageOf, text, type Language } from "../words/catalogue.js";
import type { Act, ActJoiner, Place } from "./acts.js";
import { BotHops } from "./bot-hops.js";
import type { Channels } from "./channels.js";
import type { ChatChanges } from "./chat-changes.js";
import { commandContext, type CommandRunner } from "./commands.js";
import type { Gate } from "./gate.js";
import { insist, isRefusedForNow } from "./insist.js";
import { languageFor } from "./language.js";
import type { Lanes } from "./lanes.js";
import { placeOf } from "./place.js";
import type { Replies } from "./replies.js";
import { refusalOf, type TurnLimitsDeps } from "./turn-limits.js";

export interface PipelineDeps {
  readonly inbox: Inbox;
  readonly access: Access;
  readonly sessions: Sessions;
  /** Required: there is no way past it. */
  readonly gate: Gate;
  readonly commands: CommandRunner;
  readonly changes: ChatChanges;
  readonly joiner: ActJoiner;
  readonly lanes: Lanes;
  readonly channels: Channels;
  readonly replies: Replies;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly language: Language | "auto";
  readonly groupScope: GroupScope;
  readonly limits: TurnLimitsDeps;
  /** Words that were not addressed to the bot are kept for a day in admitted groups, to be shown when it is. */
  readonly keepsOverheard: boolean;
  /** A plain message that answers a question of ours (for example `confirm`); undefined for any other. */
  readonly onWord: (event: InboundMessage, speaker: Speaker, language: Language) => Promise<string | undefined>;
  /** A button of ours was pressed by an admitted speaker; returns a short text for the client. */
  readonly onButton: (press: ButtonPress, speaker: Speaker) => Promise<string | undefined>;
}

/** The events of one chat that are being handled, in order. */
interface Chain {
  tail: Promise<unknown>;
  open: number;
  /** Lanes that wait until everything that came in together has been looked at. */
  readonly paused: Set<string>;
}

const tooOldMs = 86_400_000;
const urgentWaitMs = 250;
const maxRemembered = 10_000;

export class Pipeline {
  readonly #deps: PipelineDeps;
  readonly #chains = new Map<string, Chain>();
  readonly #oldTold = new Set<string>();
  readonly #hops = new BotHops();
  readonly #stopping = new AbortController();

  constructor(deps: PipelineDeps) {
    this.#deps = deps;
  }

  /** Stores events; resolves when they are on disk. What follows runs on its own. */
  async receive(events: readonly InboundEvent[]): Promise<void> {
    for (const row of await this.#deps.inbox.accept(events)) this.#enqueue(row);
  }

  /** Takes up what the last process left, then lets the lanes start. Adapters may already deliver. */
  async recover(): Promise<void> {
    for (const row of await this.#deps.inbox.open()) {
      // A platform that is switched off now keeps its messages until it is back.
      if (this.#deps.channels.get(row.event.platform) !== undefined) this.#enqueue(row);
    }
    await this.idle();
    this.#deps.lanes.release();
  }

  /** Waits no longer for a store that refuses: what is stored and not handled is left to the next start. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Resolves when nothing is between inbox and lanes. */
  async idle(): Promise<void> {
    while (this.#chains.size > 0) await Promise.all([...this.#chains.values()].map((chain) => chain.tail));
  }

  #enqueue(row: InboxRow): void {
    const { event } = row;
    const key = chainKey(event);
    const chain = this.#chains.get(key) ?? { tail: Promise.resolve(), open: 0, paused: new Set<string>() };
    this.#chains.set(key, chain);
    chain.open += 1;
    const before = chain.tail;
    const urgent = event.kind === "message" && event.command !== undefined && this.#deps.commands.isUrgent(event.command.name);
    const turnCame = urgent
      ? Promise.race([before, new Promise<void>((resolve) => this.#deps.clock.after(urgentWaitMs, resolve))])
      : before;
    const own = turnCame
      .then(() => this.#handle(row))
      .finally(() => {
        chain.open -= 1;
        if (chain.open > 0) return;
        this.#chains.delete(key);
        for (const lane of chain.paused) this.#deps.lanes.unpause(lane);
      });
    chain.tail = Promise.all([before, own]);
  }

  async #handle(row: InboxRow): Promise<void> {
    const { event } = row;
    try {
      await this.#insist(async () => {
        if (event.kind === "edit") await this.#edit(row, event);
        else if (event.kind === "chat") await this.#change(row, event);
        else if (event.kind === "button") await this.#button(row, event);
        else await this.#message(row, event);
      });
    } catch (error) {
      this.#deps.logger.error({ id: row.id, error: errorText(error) }, "an event could not be handled");
      // A store that refuses until the program ends leaves the row to the next start; anything else ends it visibly.
      if (isRefusedForNow(error)) return;
      await this.#settle(row, "failed", { reason: errorText(error) }).catch((failure: unknown) => {
        this.#deps.logger.error({ id: row.id, error: errorText(failure) }, "and its disposition could not be stored");
      });
    }
  }

  async #message(row: InboxRow, event: InboundMessage): Promise<void> {
    const { access, gate } = this.#deps;
    if (event.ignore === "own" || event.ignore === "unreadable")
      return this.#settle(row, event.ignore, { dropText: event.ignore === "own" });
    if (event.account.isBot && !gate.knowsBot(accountKey(event.platform, event.account.id)))
      return this.#settle(row, "bot", { dropText: true });
    const [account, chat] = await this.#known(event);
    const place = placeOf(event, account.personId, chat, this.#deps.groupScope);
    if (!(await this.#addressed(event, place)))
      return this.#settle(row, "not-addressed", { dropText: !this.#deps.keepsOverheard || !gate.chatAdmitted(event, chat) });
    const language = await languageFor(this.#deps.inbox, this.#deps.language, event);
    const verdict = gate.decide(event, account, chat);
    if (!verdict.admit) {
      const outbox = await this.#deps.changes.offer(event, verdict.offer, language);
      return this.#settle(row, "not-admitted", { reason: verdict.reason, dropText: true, outbox });
    }
    if (chat.unreachable !== undefined) await access.markChat(event.platform, event.chat.id, undefined);
    return this.#admitted(row, event, verdict.speaker, place, language);
  }

  async #admitted(row: InboxRow, event: InboundMessage, speaker: Speaker, place: Place, language: Language): Promise<void> {
    const { lanes, joiner } = this.#deps;
    if (!this.#hops.allows(event)) return this.#settle(row, "bot", { reason: "too many turns in a row between bots" });
    if (event.command !== undefined) return this.#command(row, event, speaker, place, language);
    const answered = await this.#deps.onWord(event, speaker, language);
    if (answered !== undefined)
      return this.#settle(row, "command", { reason: "answer", outbox: this.#deps.replies.rows(event.route, answered) });
    if (this.#deps.clock.now() - event.at > tooOldMs) return this.#tooOld(row, event, language);
    const refusal = await refusalOf(this.#deps.limits, event, speaker, language);
    if (refusal !== undefined) {
      const outbox = refusal.said === undefined ? [] : this.#deps.replies.rows(event.route, refusal.said);
      return this.#settle(row, "refused", { reason: refusal.reason, outbox });
    }
    this.#waits(row);
    const act: Act = { inboxIds: [row.id], messages: [event], speaker, place, receivedAt: row.receivedAt };
    const chain = this.#chains.get(chainKey(event));
    if (chain !== undefined && chain.open > 1) {
      // More of this chat came in together: what waited is answered in one turn.
      chain.paused.add(place.key);
      lanes.pause(place.key);
    }
    joiner.add(act);
  }

  async #command(row: InboxRow, event: InboundMessage, speaker: Speaker, place: Place, language: Language): Promise<void> {
    const form = (command: string): string => this.#deps.channels.commandText(event.platform, command);
    const context = commandContext(event, speaker, place, language, form);
    if (context === undefined) return;
    const reply = await this.#deps.commands.run(context);
    if (reply.turnText !== undefined) {
      const { command: _command, ...rest } = event;
      this.#waits(row);
      this.#deps.lanes.submit({
        inboxIds: [row.id],
        messages: [{ ...rest, ...contentOf(reply.turnFrom), text: reply.turnText }],
        ...(reply.said === undefined ? {} : { said: reply.said }),
        speaker,
        place,
        receivedAt: row.receivedAt,
      });
      return;
    }
    await this.#settle(row, "command", {
      reason: context.name,
      outbox: this.#deps.replies.rows(event.route, reply.markdown, "command", reply.buttons),
    });
  }

  /** The rows of the event's account and chat. Asked for together: what is new of them is stored in one commit. */
  #known(event: InboundMessage | ButtonPress): Promise<[Account, Awaited<ReturnType<Access["noteChat"]>>]> {
    const { access, clock } = this.#deps;
    return Promise.all([
      access.ensureAccount(event.platform, event.account, clock.now()),
      access.noteChat(event.platform, event.chat, clock.now()),
    ]);
  }

  /** Nothing depends on it (a start takes up rows in either state): not waited for, it shares the commit of the turn's beginning. */
  #waits(row: InboxRow): void {
    this.#deps.inbox.wait([row.id]).catch((error: unknown) => {
      this.#deps.logger.warn({ id: row.id, error: errorText(error) }, "a row could not be marked as waiting");
    });
  }

  async #edit(row: InboxRow, event: InboundEdit): Promise<void> {
    const replaced = await this.#deps.inbox.replaceText(event.originalKey, event.text);
    if (replaced) {
      this.#deps.joiner.replaceText(event.originalKey, event.text);
      this.#deps.lanes.replaceText(event.originalKey, event.text);
    }
    await this.#settle(row, "edit", { reason: replaced ? "replaced a waiting message" : "too late", dropText: true });
  }

  async #change(row: InboxRow, event: ChatChange): Promise<void> {
    const outbox = await this.#deps.changes.apply(event, languageOf(this.#deps.language, []));
    await this.#settle(row, "chat", { reason: event.change.type, outbox });
  }

  async #button(row: InboxRow, event: ButtonPress): Promise<void> {
    const { gate, channels } = this.#deps;
    const [account, chat] = await this.#known(event);
    const verdict = gate.decide(event, account, chat);
    const answer = verdict.admit
      ? await this.#deps.onButton(event, verdict.speaker)
      : text(languageOf(this.#deps.language, []), "access.operators-only");
    await this.#settle(row, verdict.admit ? "button" : "not-admitted", verdict.admit ? {} : { reason: verdict.reason });
    await channels.get(event.platform)?.adapter.acknowledge(event, answer);
  }

  async #tooOld(row: InboxRow, event: InboundMessage, language: Language): Promise<void> {
    const place = `${event.platform}|${event.chat.id}`;
    const told = this.#oldTold.has(place);
    remember(this.#oldTold, place);
    const outbox = told ? [] : this.#deps.replies.rows(event.route, text(language, "turn.old-skipped"), "notice");
    await this.#settle(row, "expired", { reason: "older than 24 hours", outbox });
  }

  /** By the platform's rules, or because the bot takes part in this thread. */
  async #addressed(event: InboundMessage, place: Place): Promise<boolean> {
    if (!isGroup(event.chat.kind) || event.addressed !== undefined) return true;
    // Clients leave the bot's name out of a command where it is the only bot in the group.
    if (event.command !== undefined && this.#deps.commands.knows(event.command.name)) return true;
    const inThread = event.chat.kind === "thread" || event.threadId !== undefined;
    const follows = this.#deps.channels.get(event.platform)?.adapter.capabilities.followsThreads ?? false;
    if (!inThread || !follows || event.account.isBot) return false;
    return (await this.#deps.sessions.active(place.key)) !== undefined;
  }

  #insist<T>(work: () => Promise<T>): Promise<T> {
    const { clock, logger } = this.#deps;
    const onRefused = (error: Error): void =>
      logger.error({ error: errorText(error) }, "the store refuses; messages wait until it works again");
    return insist(work, { clock, signal: this.#stopping.signal, onRefused });
  }

  async #settle(row: InboxRow, disposition: Disposition, options: SettleOptions = {}): Promise<void> {
    // By itself, so that what led here (a command, say) is not done again with it.
    await this.#insist(() => this.#deps.inbox.settle([row.id], disposition, options));
    if ((options.outbox?.length ?? 0) > 0) this.#deps.replies.wake();
  }
}

/** What a repeated message carried besides its words. */
function contentOf(message: InboundMessage | undefined): Partial<InboundMessage> {
  if (message === undefined) return {};
  const { attachments, replyTo, forwardedFrom } = message;
  return { attachments, ...(replyTo === undefined ? {} : { replyTo }), ...(forwardedFrom === undefined ? {} : { forwardedFrom }) };
}

function chainKey(event: InboundEvent): string {
  return `${event.platform}|${event.chat.id}|${event.threadId ?? ""}`;
}

function remember(set: Set<string>, value: string): void {
  if (set.size >= maxRemembered) set.clear();
  set.add(value);
}
