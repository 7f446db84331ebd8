/**
 * The only caller of a provider. Each call has a deadline that holds even if the provider ignores its signal, and goes through
 * a circuit breaker whose state is in the store, because gateway and workers are different processes. Missing hooks do nothing.
 */
import { GatewayError, errorText } from "../domain/errors.js";
import type {
  MemoryProvider,
  MirrorToRemove,
  MirroredEntry,
  PersonAtProvider,
  PrefetchState,
  ProviderPlace,
  ProviderTool,
  ProviderToolCall,
  Recalled,
  SessionAtProvider,
  SyncContext,
  SyncedTurn,
} from "../ports/memory-provider.js";
import type { BreakerState, ProviderStore } from "../ports/provider-store.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { NewOutbox } from "../ports/mailbox.js";

export interface GuardDeps {
  readonly provider: MemoryProvider;
  readonly store: ProviderStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Outbox rows that tell the operators. */
  readonly notice: (what: "degraded" | "recovered") => Promise<readonly NewOutbox[]>;
  /** After rows were stored. */
  readonly told?: () => void;
  readonly limits: {
    /** On the reply's path, ms. */
    readonly prefetchMs: number;
    /** In jobs and tools, ms. */
    readonly callMs: number;
  };
}

/** Failures in a row that open the breaker, and how long it stays open before one call may try, ms. */
export const breakerLimit = 5;
export const breakerOpenMs = 60_000;
/** Some jobs wait for several model calls at the service: so many times the limit of one call. */
const slowCalls = 4;

type SyncRest = Omit<SyncContext, "signal">;

export class ProviderGuard {
  readonly #deps: GuardDeps;

  constructor(deps: GuardDeps) {
    this.#deps = deps;
  }

  get name(): string {
    return this.#deps.provider.name;
  }

  /** How long no call will be made, ms; 0 when one may be. */
  async closedFor(): Promise<number> {
    return openFor(await this.#deps.store.breaker(this.name), this.#deps.clock.now());
  }

  initialize(): Promise<void> {
    return this.#call("initialize", this.#deps.limits.callMs, (signal) => this.#deps.provider.initialize(signal));
  }

  systemPromptBlock(): string {
    return this.#deps.provider.systemPromptBlock?.() ?? "";
  }

  toolSchemas(): readonly ProviderTool[] {
    return this.#deps.provider.toolSchemas?.() ?? [];
  }

  onTurnStart(place: ProviderPlace): void {
    try {
      this.#deps.provider.onTurnStart?.(place);
    } catch (error) {
      this.#deps.logger.warn({ provider: this.name, error: errorText(error) }, "the external memory failed at the beginning of a turn");
    }
  }

  async prefetch(query: string, place: ProviderPlace): Promise<Recalled | undefined> {
    const { provider, limits } = this.#deps;
    if (provider.prefetch === undefined) return undefined;
    return this.#call("prefetch", limits.prefetchMs, (signal) => provider.prefetch?.(query, place, signal));
  }

  async queuePrefetch(query: string, place: ProviderPlace, state: PrefetchState, stop: AbortSignal): Promise<readonly Recalled[]> {
    const work = (signal: AbortSignal) => this.#deps.provider.queuePrefetch?.(query, place, state, signal);
    return (await this.#call("queuePrefetch", this.#deps.limits.callMs * slowCalls, work, stop)) ?? [];
  }

  async syncTurn(turn: SyncedTurn, rest: SyncRest, stop: AbortSignal): Promise<readonly string[]> {
    const work = (signal: AbortSignal) => this.#deps.provider.syncTurn?.(turn, { ...rest, signal });
    return (await this.#call("syncTurn", this.#deps.limits.callMs, work, stop)) ?? [];
  }

  get canForgetTurns(): boolean {
    return this.#deps.provider.forgetTurn !== undefined;
  }

  async forgetTurn(turnId: string, remoteIds: readonly string[], rest: SyncRest, stop: AbortSignal): Promise<void> {
    await this.#call(
      "forgetTurn",
      this.#deps.limits.callMs,
      (signal) => this.#deps.provider.forgetTurn?.(turnId, remoteIds, { ...rest, signal }),
      stop,
    );
  }

  async forgetSession(place: ProviderPlace, remote: SessionAtProvider, stop: AbortSignal): Promise<void> {
    await this.#call(
      "forgetSession",
      this.#deps.limits.callMs,
      (signal) => this.#deps.provider.forgetSession?.(place, remote, signal),
      stop,
    );
  }

  async handleToolCall(call: ProviderToolCall, stop: AbortSignal): Promise<string> {
    const work = (signal: AbortSignal) => this.#deps.provider.handleToolCall?.(call, signal);
    return (await this.#call(call.name, this.#deps.limits.callMs, work, stop)) ?? "";
  }

  async onSessionEnd(rest: SyncRest, stop: AbortSignal): Promise<void> {
    await this.#call("onSessionEnd", this.#deps.limits.callMs, (signal) => this.#deps.provider.onSessionEnd?.({ ...rest, signal }), stop);
  }

  /** For the compression of long conversations; undefined also when the service fails, since nothing may wait for it. */
  async onPreCompress(conversation: readonly SyncedTurn[], place: ProviderPlace, stop: AbortSignal): Promise<string | undefined> {
    try {
      const work = (signal: AbortSignal) => this.#deps.provider.onPreCompress?.(conversation, place, signal);
      return await this.#call("onPreCompress", this.#deps.limits.callMs, work, stop);
    } catch (error) {
      this.#deps.logger.warn({ provider: this.name, error: errorText(error) }, "the external memory added nothing before a compression");
      return undefined;
    }
  }

  async onMemoryWrite(entry: MirroredEntry, place: ProviderPlace, uncertain: boolean, stop: AbortSignal): Promise<string | undefined> {
    const work = (signal: AbortSignal) => this.#deps.provider.onMemoryWrite?.(entry, place, uncertain, signal);
    return this.#call("onMemoryWrite", this.#deps.limits.callMs, work, stop);
  }

  async onMemoryRemove(entry: MirrorToRemove, place: ProviderPlace, stop: AbortSignal): Promise<void> {
    await this.#call(
      "onMemoryRemove",
      this.#deps.limits.callMs,
      (signal) => this.#deps.provider.onMemoryRemove?.(entry, place, signal),
      stop,
    );
  }

  exportPerson(person: PersonAtProvider): Promise<unknown> {
    return this.#call("exportPerson", this.#deps.limits.callMs * slowCalls, (signal) => this.#deps.provider.exportPerson?.(person, signal));
  }

  async forgetPerson(person: PersonAtProvider, stop?: AbortSignal): Promise<void> {
    await this.#call(
      "forgetPerson",
      this.#deps.limits.callMs * slowCalls,
      (signal) => this.#deps.provider.forgetPerson?.(person, signal),
      stop,
    );
  }

  async linkPeople(personId: string, alias: string): Promise<void> {
    if (this.#deps.provider.linkPeople === undefined) return;
    await this.#call("linkPeople", this.#deps.limits.callMs, (signal) => this.#deps.provider.linkPeople?.(personId, alias, signal));
  }

  async shutdown(): Promise<void> {
    try {
      await this.#deps.provider.shutdown?.();
    } catch (error) {
      this.#deps.logger.warn({ provider: this.name, error: errorText(error) }, "the external memory did not close cleanly");
    }
  }

  /** Rejects with `provider.unavailable`, `input.invalid` (the service refuses this for good), or the reason of `stop`. */
  async #call<T>(hook: string, limitMs: number, work: (signal: AbortSignal) => Promise<T> | undefined, stop?: AbortSignal): Promise<T> {
    const { store, clock } = this.#deps;
    const state = await store.breaker(this.name);
    const closedMs = openFor(state, clock.now());
    if (closedMs > 0) throw unavailable(this.name, "it failed several times and is left alone for a while", closedMs);
    if (state.openedAt !== undefined && !(await store.claimTrial(this.name, clock.now() - breakerOpenMs, clock.now()))) {
      throw unavailable(this.name, "another call is trying whether it is back", breakerOpenMs);
    }
    let result: T;
    try {
      result = await this.#limited(hook, limitMs, work, stop);
    } catch (error) {
      if (stop?.aborted === true) throw error;
      if (error instanceof GatewayError && error.code === "input.invalid") {
        await this.#succeeded(state);
        throw error;
      }
      await this.#failed(hook, state, error);
      if (error instanceof GatewayError && error.code === "provider.unavailable") throw error;
      throw unavailable(this.name, errorText(error), undefined, error);
    }
    await this.#succeeded(state);
    return result;
  }

  async #limited<T>(hook: string, limitMs: number, work: (signal: AbortSignal) => Promise<T> | undefined, stop?: AbortSignal): Promise<T> {
    const { clock, logger } = this.#deps;
    const controller = new AbortController();
    const signal = stop === undefined ? controller.signal : AbortSignal.any([controller.signal, stop]);
    const late = new GatewayError("provider.unavailable", `${this.name} did not answer within ${limitMs} ms`);
    const cancel = clock.after(limitMs, () => controller.abort(late));
    let over = false;
    const left = new Promise<never>((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason);
      else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const running = (async () => (await work(signal)) as T)();
    running.catch((error: unknown) => {
      if (over) logger.debug({ provider: this.name, hook, error: errorText(error) }, "a call that was given up ended later");
    });
    try {
      return await Promise.race([running, left]);
    } finally {
      over = true;
      cancel();
    }
  }

  async #failed(hook: string, state: BreakerState, error: unknown): Promise<void> {
    const { store, clock, logger, notice, told } = this.#deps;
    logger.warn({ provider: this.name, hook, error: errorText(error) }, "the external memory failed");
    const rows = state.told ? [] : await notice("degraded");
    if (await store.failed(this.name, errorText(error), breakerLimit, clock.now(), () => rows)) {
      logger.error({ provider: this.name }, "the external memory is degraded: recall pauses, writes are kept for later");
      told?.();
    }
  }

  async #succeeded(state: BreakerState): Promise<void> {
    const { store, clock, logger, notice, told } = this.#deps;
    const rows = state.told || state.failures > 0 ? await notice("recovered") : [];
    if (await store.succeeded(this.name, clock.now(), () => rows)) {
      logger.info({ provider: this.name }, "the external memory is back");
      told?.();
    }
  }
}

function openFor(state: BreakerState, now: number): number {
  return state.openedAt === undefined ? 0 : Math.max(0, state.openedAt + breakerOpenMs - now);
}

function unavailable(name: string, why: string, retryAfterMs?: number, cause?: unknown): GatewayError {
  return new GatewayError("provider.unavailable", `The external memory (${name}) cannot be used: ${why}.`, {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(cause === undefined ? {} : { cause }),
  });
}
