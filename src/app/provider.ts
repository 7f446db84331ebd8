/**
 * The external memory as the settings choose it. A new provider is a file in src/providers, a branch of the settings and one
 * line in `chooseProvider`; whoever uses the result need not know whether there is one.
 */
import type { GatewayConfig } from "../../config/schema.js";
import type { Layer } from "../agent/agent.js";
import type { Tool } from "../agent/tool.js";
import type { NewIntent } from "../domain/job.js";
import type { RenderedPart } from "../domain/message.js";
import type { JobLedger } from "../ports/job-queue.js";
import type { MemoryProvider } from "../ports/memory-provider.js";
import type { Finding } from "../ports/platform-adapter.js";
import type { ProviderStore } from "../ports/provider-store.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import type { NewOutbox } from "../ports/mailbox.js";
import type { MemoryOwner } from "../ports/memory-log.js";
import type { Session, TurnCommit, TurnRow } from "../ports/stores.js";
import { errorText } from "../domain/errors.js";
import { conversationOf, placeOf } from "../providers/conversation.js";
import { breakerOpenMs, ProviderGuard } from "../providers/guard.js";
import { HonchoProvider } from "../providers/honcho.js";
import { endIntent, mirrorIntent, turnIntents } from "../providers/intents.js";
import { ProviderPeople } from "../providers/people.js";
import { Recall } from "../providers/recall.js";
import { SupermemoryProvider } from "../providers/supermemory.js";
import { createProviderHandlers, type ProviderHandlers } from "../providers/sync.js";
import { providerTools } from "../providers/tools.js";
import type { Database } from "../storage/database.js";
import { createProviderStore } from "../storage/provider-store.js";
import type { Stores } from "../storage/stores.js";
import { text } from "../words/catalogue.js";

export interface ProviderDeps {
  readonly config: GatewayConfig;
  readonly db: Database;
  readonly stores: Stores;
  readonly ledger: JobLedger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Markdown to parts of a platform; empty for one that is not configured. */
  readonly render: (platform: string, markdown: string) => readonly RenderedPart[];
  /** `platform:id` of operators that the settings name. */
  readonly operators: readonly string[];
  /** Entries of a memory file as it is now. */
  readonly entries: (owner: MemoryOwner) => readonly string[];
  /** After rows or intents were stored outside of a turn's commit. */
  readonly wake: () => void;
}

type Ending = { readonly outcome: TurnCommit["outcome"] };

export interface ExternalMemory {
  /** Undefined when there is none. */
  readonly name: string | undefined;
  readonly tools: readonly Tool[];
  /** Part of the memory layer of each session's prompt that is not private. */
  readonly layers: (session: Session) => Promise<readonly Layer[]>;
  /** What is recalled for a turn, fenced; for the end of its last user message. Never rejects, never later than the deadline. */
  readonly tail: (session: Session, turn: TurnRow) => Promise<string | undefined>;
  /** Adds the jobs of a finished turn to what else it earned. */
  readonly decide: (session: Session, turn: TurnRow, ending: Ending, other: TurnCommit["decide"]) => TurnCommit["decide"];
  readonly endIntents: (session: Session) => readonly NewIntent[];
  /** What a summary of a long conversation should keep. Never rejects. */
  readonly beforeCompress: (session: Session, entries: readonly unknown[], signal: AbortSignal) => Promise<string | undefined>;
  /** For `MemoryFiles`: after each change of a memory file. */
  readonly written: (written: { readonly owner: MemoryOwner; readonly after?: string; readonly before?: string }) => Promise<void>;
  readonly handlers: ProviderHandlers;
  /** Export, forget, link, take back; undefined when there is none. */
  readonly people: ProviderPeople | undefined;
  /** For `/status` and `mneme status`; undefined when there is none. */
  readonly status: () => Promise<string | undefined>;
  readonly close: () => Promise<void>;
}

export function buildProvider(deps: ProviderDeps): ExternalMemory {
  const { config, stores, clock, logger, ids } = deps;
  const provider = chooseProvider(config);
  if (provider === undefined) return noProvider;
  const store = createProviderStore({ db: deps.db, ids });
  const memory = new ProviderGuard({
    provider,
    store,
    clock,
    logger,
    notice: (what) => operatorNotice(deps, store, provider.name, what),
    told: deps.wake,
    limits: { prefetchMs: config.providers.prefetchTimeoutMs, callMs: config.providers.callTimeoutMs },
  });
  const recall = new Recall({ memory, store, clock, logger });
  const { sessions, turns, access } = stores;
  const personOf = async (platform: string, accountId: string): Promise<string | undefined> =>
    (await access.account(platform, accountId))?.personId;
  return {
    name: provider.name,
    tools: providerTools({ memory, store, clock, logger }),
    layers: async (session) => (session.isPrivate ? [] : [{ id: "memory", text: memory.systemPromptBlock() }]),
    tail: (session, turn) => recall.forTurn(session, turn),
    decide: (session, turn, ending, other) => (counters, lastMessageId) => {
      const decided = other(counters, lastMessageId);
      if (session.isPrivate || ending.outcome !== "answered" || lastMessageId === 0) return decided;
      return {
        ...decided,
        intents: [...decided.intents, ...turnIntents(session, turn.id, lastMessageId, clock.now(), config.providers.syncAfterMs)],
      };
    },
    endIntents: (session) => (session.isPrivate ? [] : [endIntent(session, clock.now())]),
    beforeCompress: async (session, _entries, signal) => {
      if (session.isPrivate) return undefined;
      try {
        const turnsSoFar = await conversationOf({ sessions, turns, store, personOf }, session, Number.MAX_SAFE_INTEGER);
        const last = turnsSoFar.at(-1);
        if (last === undefined) return undefined;
        return await memory.onPreCompress(
          turnsSoFar.filter(({ answered }) => answered),
          await placeOf(store, session, last.personId),
          signal,
        );
      } catch (error) {
        logger.warn({ session: session.id, error: errorText(error) }, "the external memory could not be asked before a compression");
        return undefined;
      }
    },
    written: async ({ owner, before }) => {
      const now = clock.now();
      const removes = before !== undefined;
      if (removes) await store.dropCached(owner.target === "user" ? { personId: owner.id } : { spaceId: owner.id }, now);
      await store.addIntents([mirrorIntent(owner, removes, ids.next(), now)], now);
      deps.wake();
    },
    handlers: createProviderHandlers({
      memory,
      store,
      sessions,
      turns,
      clock,
      logger,
      entries: deps.entries,
      watermark: (sessionId) => deps.ledger.watermark("provider-sync", sessionId),
      personOf,
    }),
    people: new ProviderPeople({ memory, store, sessions, access, clock, ids, wake: deps.wake }),
    status: () => providerStatus(store, provider.name, clock.now()),
    close: () => memory.shutdown(),
  };
}

function chooseProvider({ memory, honcho, supermemory }: GatewayConfig): MemoryProvider | undefined {
  if (memory.provider === "honcho") return new HonchoProvider(honcho);
  if (memory.provider === "supermemory") return new SupermemoryProvider({ apiKey: supermemory.apiKey ?? "", baseUrl: supermemory.baseUrl });
  return undefined;
}

const noProvider: ExternalMemory = {
  name: undefined,
  tools: [],
  layers: async () => [],
  tail: async () => undefined,
  decide: (_session, _turn, _ending, other) => other,
  endIntents: () => [],
  beforeCompress: async () => undefined,
  written: async () => undefined,
  handlers: createProviderHandlers(undefined),
  people: undefined,
  status: async () => undefined,
  close: async () => undefined,
};

async function operatorNotice(
  deps: ProviderDeps,
  store: ProviderStore,
  name: string,
  what: "degraded" | "recovered",
): Promise<NewOutbox[]> {
  const language = deps.config.ui.language === "zh" ? "zh" : "en";
  const said = text(language, what === "degraded" ? "provider.degraded" : "provider.recovered", { name });
  const routes = await store.operatorRoutes([...deps.config.access.operators, ...deps.operators]);
  return routes.flatMap((route) => deps.render(route.platform, said).map((part) => ({ kind: "notice" as const, route, part })));
}

/** One line: how it is, since when, and what waits for it. */
export async function providerStatus(store: ProviderStore, name: string, now: number): Promise<string> {
  const [state, { open, failed }] = await Promise.all([store.breaker(name), store.waiting()]);
  const waiting = `${open} writes waiting${failed === 0 ? "" : `, ${failed} failed`}`;
  if (state.openedAt === undefined) return `${name}: ${state.failures === 0 ? "ok" : `${state.failures} failures in a row`}, ${waiting}`;
  const seconds = Math.max(0, Math.round((state.openedAt + breakerOpenMs - now) / 1000));
  return `${name}: degraded (${state.lastError ?? "no reason known"}), next try in ${seconds} s, ${waiting}`;
}

const probeMs = 10_000;

/** Whether the chosen service answers and takes our key; for the doctor. Empty when none is chosen. */
export async function probeProvider(config: GatewayConfig): Promise<Finding[]> {
  const provider = chooseProvider(config);
  if (provider === undefined) return [];
  const subject = "external memory";
  try {
    const late = AbortSignal.timeout(probeMs);
    const limit = new Promise<never>((_resolve, reject) =>
      late.addEventListener("abort", () => reject(new Error("no answer within 10 s"))),
    );
    await Promise.race([provider.initialize(late), limit]);
    return [{ level: "ok", subject, message: `${provider.name} answers.` }];
  } catch (error) {
    const remedy = `Check ${provider.name}.apiKey and ${provider.name}.baseUrl, and that the service runs; or set memory.provider to none. Until then recall is missing and writes are kept.`;
    return [{ level: "error", subject, message: `${provider.name} cannot be used: ${errorText(error)}`, remedy }];
  } finally {
    await provider.shutdown?.();
  }
}
