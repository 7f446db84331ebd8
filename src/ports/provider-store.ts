/** What the external memory needs to have stored here. Same promises as the other stores (ports/stores.ts). */
import type { NewIntent } from "../domain/job.js";
import type { RecallLayer } from "./memory-provider.js";
import type { NewOutbox } from "./mailbox.js";

export interface CachedRecall {
  readonly layer: RecallLayer;
  /** User turns of the session when it was made. */
  readonly turn: number;
  readonly text: string;
  readonly at: number;
}

/** Circuit breaker of one provider, shared by all processes. */
export interface BreakerState {
  readonly failures: number;
  /** Since when no call is made, epoch ms. */
  readonly openedAt?: number;
  /** When the newest half-open trial began. */
  readonly trialAt?: number;
  /** The operators were told that it is degraded. */
  readonly told: boolean;
  readonly lastError?: string;
  readonly lastFailureAt?: number;
  readonly lastSuccessAt?: number;
}

/** A thing of ours and what it is called there. `sending`: an attempt began and nobody knows its end. */
export interface RemoteRef {
  readonly localId: string;
  readonly state: "sending" | "stored" | "refused";
  readonly remoteIds: readonly string[];
  /** A session id for turns and facts, `user:ID` or `memory:ID` for entries. */
  readonly scope: string;
}

/** turn: a synced turn (localId = turn id) · entry: a mirrored memory entry (localId = key) · fact: stored by a tool (localId = call id). */
export type RefKind = "turn" | "entry" | "fact";

export interface ProviderStore {
  breaker(name: string): Promise<BreakerState>;
  /** Claims the one half-open trial of this minute; false when another process has it. */
  claimTrial(name: string, notBefore: number, now: number): Promise<boolean>;
  /** Counts a failure, opens the breaker at `limit`; stores `notice` and returns true when the operators are to be told and were not yet. */
  failed(name: string, error: string, limit: number, now: number, notice: () => readonly NewOutbox[]): Promise<boolean>;
  /** Closes the breaker; stores `notice` and returns true when the operators had been told that it is degraded. */
  succeeded(name: string, now: number, notice: () => readonly NewOutbox[]): Promise<boolean>;

  cached(sessionId: string, notBefore: number): Promise<CachedRecall[]>;
  /** False and nothing stored when something of this space, person or session was dropped at or after `startedAt`: it may hold what was to be gone. */
  putCached(
    owner: { readonly sessionId: string; readonly spaceId: string; readonly personId: string },
    rows: readonly CachedRecall[],
    startedAt: number,
  ): Promise<boolean>;
  /** Rows of a space, of a person's words, or of a session. */
  dropCached(
    where: { readonly spaceId: string } | { readonly personId: string } | { readonly sessionId: string },
    now: number,
  ): Promise<void>;
  /** True while a deletion for one of these spaces is not done at the service: nothing may be recalled from them. */
  deleting(spaceIds: readonly string[]): Promise<boolean>;

  ref(provider: string, kind: RefKind, localId: string): Promise<RemoteRef | undefined>;
  /** All of a kind in a scope: a session for turns and facts, an owner (`user:ID`, `memory:ID`) for entries. */
  refs(provider: string, kind: RefKind, scope: string): Promise<RemoteRef[]>;
  /** Stored before the call leaves. */
  beginRef(provider: string, kind: RefKind, localId: string, scope: string, now: number): Promise<void>;
  endRef(
    provider: string,
    kind: RefKind,
    localId: string,
    outcome: { readonly state: "stored" | "refused"; readonly remoteIds: readonly string[] },
  ): Promise<void>;
  dropRef(provider: string, kind: RefKind, localId: string): Promise<void>;

  /** How often a session was deleted at the service. */
  generation(sessionId: string): Promise<number>;
  /** The session was deleted there: its turns and facts are forgotten here, the next sync begins anew under a new remote id. */
  startOver(provider: string, sessionId: string): Promise<void>;

  /** Persons whose data this person also reads. */
  aliases(personId: string): Promise<string[]>;
  addAlias(personId: string, alias: string, now: number): Promise<void>;
  dropAlias(personId: string, alias: string): Promise<void>;

  /** Sessions in a person's own spaces (`personIds`), and group sessions in which one of the accounts spoke. Private ones never. */
  sessionsOf(
    personIds: readonly string[],
    accounts: readonly { readonly platform: string; readonly accountId: string }[],
  ): Promise<{
    readonly own: readonly string[];
    readonly groups: readonly { readonly sessionId: string; readonly spaceId: string }[];
  }>;
  /** Where operators can be told something: their newest direct-message sessions. `listed`: `platform:id` of operators that the settings name. */
  operatorRoutes(listed: readonly string[]): Promise<NewOutbox["route"][]>;
  addIntents(intents: readonly NewIntent[], now: number): Promise<void>;
  /** Open and failed provider jobs, for the status. */
  waiting(): Promise<{ readonly open: number; readonly failed: number }>;
}
