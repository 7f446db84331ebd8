/**
 * Sends the outbox: in order per chat, paced, confirmed, or given up honestly. A row is `sending` on disk before its
 * request leaves, so a crash can never lead to a blind repeat.
 */
import { GatewayError, errorText } from "../domain/errors.js";
import type { ChatKind, OutboundMessage } from "../domain/message.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Access } from "../ports/access.js";
import type { Outbox, OutboxRow } from "../ports/mailbox.js";
import type { Sessions } from "../ports/stores.js";
import type { Channel, Channels } from "./channels.js";
import { decideOutcome, type NextStep } from "./delivery-rules.js";

export interface DeliveryDeps {
  readonly outbox: Outbox;
  readonly access: Access;
  readonly sessions: Sessions;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
  /** After this many milliseconds an undelivered row expires. */
  readonly expireMs: number;
  /** Takes secrets out of what a platform said, before it is stored. */
  readonly redact: (text: string) => string;
  /** Called after each confirmed send; for health and reviews. */
  readonly onSent?: (row: OutboxRow) => void;
}

const batch = 64;
const sendLimitMs = 30_000;
/** Repeats within one attempt: markup refused, reply gone, thread gone, migrated: each may happen once. */
const maxFallbacks = 4;

export class Delivery {
  readonly #deps: DeliveryDeps;
  readonly #busy = new Set<number>();
  /** The calls that are under way, to end them. */
  readonly #calls = new Set<AbortController>();
  #cut = false;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  readonly #running = new Set<Promise<void>>();

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
  }

  /** At start: what was being sent when the last process ended is unknown now. */
  async recover(): Promise<void> {
    for (const row of await this.#deps.outbox.recover()) await this.#lookUp(row);
  }

  /** Something new may be due. Cheap; call it after every commit. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#round !== undefined) {
      this.#again = true;
      return;
    }
    this.#round = this.#dispatch()
      .catch((error: unknown) => {
        this.#deps.logger.error({ error: errorText(error) }, "the outbox could not be read; trying again");
        this.#wakeIn(1_000);
      })
      .finally(() => {
        this.#round = undefined;
        if (this.#again) {
          this.#again = false;
          this.wake();
        }
      });
  }

  /** Takes no more rows and waits for those on their way, at most `ms`. */
  async stop(ms: number): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    const cancel = this.#deps.clock.after(ms, () => {
      this.#cut = true;
      for (const call of this.#calls) call.abort();
    });
    await Promise.allSettled([...this.#running, this.#round]);
    cancel();
  }

  async #dispatch(): Promise<void> {
    const now = this.#deps.clock.now();
    const limit = batch + this.#busy.size;
    const rows = await this.#deps.outbox.heads(now, limit);
    for (const row of rows) {
      if (this.#busy.has(row.id) || this.#stopped) continue;
      const channel = this.#deps.channels.get(row.route.platform);
      if (channel === undefined) continue;
      this.#busy.add(row.id);
      const task = this.#deliver(row, channel)
        .catch((error: unknown) => {
          this.#deps.logger.error({ id: row.id, error: errorText(error) }, "a delivery failed inside");
          this.#wakeIn(1_000);
        })
        .finally(() => {
          this.#busy.delete(row.id);
          this.#running.delete(task);
        });
      this.#running.add(task);
    }
    const next = await this.#deps.outbox.nextDue();
    if (next === undefined) return;
    // A head that is due was taken above or is on its way, and its end wakes us. Not so when there are more than one batch, or
    // rows of a platform that is switched off now: those would hide what becomes due behind them.
    if (next > now) this.#wakeIn(next - now);
    else if (rows.length >= limit) this.#wakeIn(20);
    else if (rows.some((row) => this.#deps.channels.get(row.route.platform) === undefined)) this.#wakeIn(1_000);
  }

  async #deliver(row: OutboxRow, channel: Channel): Promise<void> {
    const { outbox, clock, access } = this.#deps;
    if (clock.now() - row.createdAt > this.#deps.expireMs) {
      await outbox.result(row.id, { state: "expired", error: "not delivered in time" });
      this.wake();
      return;
    }
    const kind = (await access.chat(row.route.platform, row.route.chatId))?.kind ?? "dm";
    const wait = channel.pacing.take(row.route.chatId, kind, "final");
    if (wait > 0) {
      await new Promise<void>((resolve) => clock.after(wait, resolve));
      this.#busy.delete(row.id);
      this.wake();
      return;
    }
    if (!(await outbox.sending(row.id))) return;
    await this.#attempt(row, channel, kind);
    this.wake();
  }

  /** One attempt with the fallbacks that the platform's answer allows. */
  async #attempt(row: OutboxRow, channel: Channel, kind: ChatKind): Promise<void> {
    const { outbox, clock } = this.#deps;
    let step: NextStep = { do: "send", route: row.route, plain: false, takesOver: row.takesOver };
    for (let fallback = 0; fallback <= maxFallbacks; fallback += 1) {
      const current = step;
      try {
        const sent = await this.#call(row, channel, current);
        await outbox.result(row.id, { state: "sent", sent, at: clock.now() });
        this.#deps.onSent?.(row);
        return;
      } catch (error) {
        step = decideOutcome({ row, current, error, now: clock.now(), resend: channel.adapter.capabilities.resend });
        this.#deps.logger.warn({ id: row.id, error: errorText(error), next: step.do }, "a send did not succeed");
        await this.#sideEffects(row, channel, kind, error);
        if (step.do === "end") {
          const { outcome } = step;
          const drops = outcome.state === "waiting" && outcome.dropTakeOver === true;
          if (drops && current.do === "send") await this.#removePreview(row, channel, current.takesOver);
          await outbox.result(row.id, outcome.state === "sent" ? outcome : { ...outcome, error: this.#deps.redact(outcome.error) });
          if (step.outcome.state === "waiting") this.#wakeIn(Math.max(20, step.outcome.nextAt - clock.now()));
          return;
        }
        if (step.do === "look-up") {
          await this.#lookUp(row);
          return;
        }
      }
    }
    await outbox.result(row.id, { state: "refused", error: "the platform refused every form of this message" });
  }

  async #call(row: OutboxRow, channel: Channel, step: NextStep): Promise<NonNullable<OutboxRow["sent"]>> {
    if (step.do !== "send") throw new GatewayError("internal", "delivery called without a step");
    // Not AbortSignal.timeout and .any: both stay in memory for the whole limit, long after the call.
    const call = new AbortController();
    const { signal } = call;
    const cancel = this.#deps.clock.after(sendLimitMs, () => call.abort());
    this.#calls.add(call);
    if (this.#cut) call.abort();
    try {
      const message = outbound(row, step.plain);
      if (step.takesOver === undefined) return await channel.adapter.send(step.route, message, { deliveryId: row.deliveryId, signal });
      await channel.adapter.edit(step.takesOver, message, signal);
      return step.takesOver;
    } finally {
      cancel();
      this.#calls.delete(call);
    }
  }

  /** Takes away a preview that could not become the answer. */
  async #removePreview(row: OutboxRow, channel: Channel, preview: OutboxRow["takesOver"]): Promise<void> {
    if (preview === undefined) return;
    await channel.adapter.remove(preview, AbortSignal.timeout(sendLimitMs)).catch((failure: unknown) => {
      this.#deps.logger.warn({ id: row.id, error: errorText(failure) }, "a preview that could not become the answer is still there");
    });
  }

  /** What an error says about the chat, beyond this row. */
  async #sideEffects(row: OutboxRow, channel: Channel, kind: ChatKind, error: unknown): Promise<void> {
    if (!(error instanceof GatewayError)) return;
    const { platform, chatId } = row.route;
    if (error.code === "delivery.rate-limited") channel.pacing.block(chatId, kind, error.retryAfterMs ?? 5_000);
    if (error.code === "delivery.chat-gone") {
      await this.#deps.access.markChat(platform, chatId, "the platform refuses messages to this chat");
      await this.#deps.outbox.moveChat(platform, chatId, { refuse: "chat is gone" });
    }
    const newChatId = migratedTo(error);
    if (newChatId !== undefined) {
      await this.#deps.sessions.migrateChat(platform, chatId, newChatId);
      await this.#deps.outbox.moveChat(platform, chatId, { newChatId });
    }
  }

  /** An ambiguous send: asks the platform where it can tell; otherwise the row stays unknown and the next message says so. */
  async #lookUp(row: OutboxRow): Promise<void> {
    const { outbox, clock, channels } = this.#deps;
    const channel = channels.get(row.route.platform);
    const found = await this.#find(row, channel);
    if (found === "unknown") await outbox.result(row.id, { state: "unknown", error: "sent, but the platform did not confirm it" });
    else if (found === "absent")
      await outbox.result(row.id, { state: "waiting", nextAt: clock.now(), error: "did not arrive; sending again" });
    else {
      await outbox.result(row.id, { state: "sent", sent: found, at: clock.now() });
      this.#deps.onSent?.(row);
    }
  }

  async #find(row: OutboxRow, channel: Channel | undefined): Promise<NonNullable<OutboxRow["sent"]> | "absent" | "unknown"> {
    if (channel === undefined || channel.adapter.capabilities.resend === "blind") return "unknown";
    // An edit may always be repeated: it cannot double anything.
    if (row.takesOver !== undefined) return "absent";
    try {
      return await channel.adapter.findSent(row.route, row.deliveryId, row.createdAt);
    } catch (error) {
      this.#deps.logger.warn({ id: row.id, error: errorText(error) }, "the platform could not say whether a message arrived");
      return "unknown";
    }
  }

  #wakeIn(ms: number): void {
    if (this.#stopped) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#deps.clock.after(ms, () => this.wake());
  }
}

function outbound(row: OutboxRow, plain: boolean): OutboundMessage {
  if (row.file !== undefined) return { kind: "file", ...row.file, ...(row.part.plain === "" ? {} : { caption: row.part.plain }) };
  const extras = { ...(row.buttons === undefined ? {} : { buttons: row.buttons }), ...(row.silent === true ? { silent: true } : {}) };
  return plain ? { kind: "plain", text: row.part.plain, ...extras } : { kind: "part", part: row.part, ...extras };
}

function migratedTo(error: GatewayError): string | undefined {
  return error.code === "delivery.chat-migrated" && "newChatId" in error && typeof error.newChatId === "string"
    ? error.newChatId
    : undefined;
}
