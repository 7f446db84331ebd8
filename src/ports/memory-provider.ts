/**
 * An external memory service. It adds to the built-in memory and never replaces it; only providers/guard.ts calls it, so a
 * provider may hang or throw without harm, and it may keep nothing between calls but its client.
 */
import type { z } from "zod";

/** Where something is said and by whom: all that a provider may use to build its remote ids (with providers/place.ts). */
export interface ProviderPlace {
  readonly sessionId: string;
  /** The person's own space, or a group's: nothing may be read across it. */
  readonly spaceId: string;
  /** Who speaks. */
  readonly personId: string;
  /** True in a direct message: the space is the person's own. */
  readonly isOwnSpace: boolean;
  /** Person ids of accounts that were linked to this person: their data is read too, never written to. */
  readonly aliases: readonly string[];
  /** How often the session was deleted at the service; its remote id changes with it. 0 at first. */
  readonly generation: number;
}

/** One finished turn as it is stored: the speaker's own words and the final reply, nothing recalled, nothing of tools. */
export interface SyncedTurn {
  readonly turnId: string;
  readonly personId: string;
  readonly user: string;
  readonly assistant: string;
  /** Epoch ms. */
  readonly at: number;
}

export interface SyncContext {
  readonly place: ProviderPlace;
  /** All answered turns of the session up to and including the one that is handed over, oldest first. */
  readonly conversation: readonly SyncedTurn[];
  /** An earlier attempt may have arrived: look our id up first, where the service allows it. */
  readonly uncertain: boolean;
  readonly signal: AbortSignal;
}

/** Layers of what is recalled. `context` is what is known; `answer` is a considered answer that costs a model call there. */
export type RecallLayer = "context" | "answer";

export interface Recalled {
  readonly layer: RecallLayer;
  readonly text: string;
}

/** What is known of the session when results are prepared for its next turn. */
export interface PrefetchState {
  /** User turns of the session so far, 1 after the first. */
  readonly turn: number;
  /** For each layer the turn its stored text was made in, where there is one that is still valid. */
  readonly madeAt: { readonly [layer in RecallLayer]?: number };
}

/** A piece of one of our memory files, to be kept at the service as it stands here. */
export interface MirroredEntry {
  readonly target: "user" | "memory";
  readonly content: string;
  /** Letters, digits and "-": the same entry of the same owner has the same key. */
  readonly key: string;
}

/** An entry whose copy is to go. Without `remoteId` nobody knows whether it ever arrived; `isIt` tells it by its text. */
export interface MirrorToRemove {
  readonly target: MirroredEntry["target"];
  readonly key: string;
  readonly remoteId?: string;
  readonly isIt: (content: string) => boolean;
}

export interface ProviderTool {
  /** `[a-z0-9_-]{1,64}`, beginning with the provider's name. */
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType;
  /** `once`: it stores or deletes something. */
  readonly effect: "read" | "once";
}

export interface ProviderToolCall {
  readonly name: string;
  readonly input: unknown;
  readonly place: ProviderPlace;
  /** Unique per call; for idempotency at the service. */
  readonly callId: string;
}

/** Remote ids of what was stored in a session: by its turns, and by tools. */
export interface SessionAtProvider {
  readonly turns: readonly string[];
  readonly facts: readonly string[];
}

/** Everything a service may hold about one person. */
export interface PersonAtProvider {
  readonly personId: string;
  readonly aliases: readonly string[];
  /** Spaces in which the person spoke: their own (same ids as the person and the aliases) and groups'. */
  readonly groupSpaceIds: readonly string[];
  /** Remote sessions of the person's own space: session id and generation. */
  readonly sessions: readonly { readonly sessionId: string; readonly generation: number }[];
}

/**
 * Every method may reject: `provider.unavailable` (try again later), `input.invalid` (the service refuses this for good).
 * Any other rejection counts as unavailable. Signals carry the deadline; a method that ignores its signal is left behind.
 */
export interface MemoryProvider {
  readonly name: string;
  /** Makes sure the service answers and takes our key. Called by the doctor and by the first half-open trial, never before a reply. */
  initialize(signal: AbortSignal): Promise<void>;
  /** Part of the frozen system prompt of each session. No network. */
  systemPromptBlock?(): string;
  /** What is known that helps with these words. On the reply's path: one round trip. Undefined = nothing. */
  prefetch?(query: string, place: ProviderPlace, signal: AbortSignal): Promise<Recalled | undefined>;
  /** Prepares results for the session's next turn. In a job: may be slow and cost model calls. Returns the layers it made anew. */
  queuePrefetch?(query: string, place: ProviderPlace, state: PrefetchState, signal: AbortSignal): Promise<readonly Recalled[]>;
  /** Stores one turn. Returns the remote ids, for deletion. */
  syncTurn?(turn: SyncedTurn, context: SyncContext): Promise<readonly string[]>;
  /** Takes one stored turn back; `conversation` is what remains. Absent: the service cannot. */
  forgetTurn?(turnId: string, remoteIds: readonly string[], context: SyncContext): Promise<void>;
  /** Deletes a session with all that was stored in it. Repeating it is harmless. */
  forgetSession?(place: ProviderPlace, remote: SessionAtProvider, signal: AbortSignal): Promise<void>;
  /** The tools that are offered to the model. Frozen with a session. No network. */
  toolSchemas?(): readonly ProviderTool[];
  /** Runs one of them; the text is fenced by the caller. */
  handleToolCall?(call: ProviderToolCall, signal: AbortSignal): Promise<string>;
  /** A turn begins. Must return at once. */
  onTurnStart?(place: ProviderPlace): void;
  /** All turns of the session are stored and it has ended. */
  onSessionEnd?(context: SyncContext): Promise<void>;
  /** What a long conversation loses when its middle is summarised; returns text that the summary should keep, or undefined. */
  onPreCompress?(conversation: readonly SyncedTurn[], place: ProviderPlace, signal: AbortSignal): Promise<string | undefined>;
  /** Keeps an entry of our memory files there (`uncertain`: an earlier attempt may have arrived). Returns the remote id. */
  onMemoryWrite?(entry: MirroredEntry, place: ProviderPlace, uncertain: boolean, signal: AbortSignal): Promise<string>;
  /** Deletes a kept entry. A missing one is no error. */
  onMemoryRemove?(entry: MirrorToRemove, place: ProviderPlace, signal: AbortSignal): Promise<void>;
  /** All that the service holds about a person, as plain JSON. */
  exportPerson?(person: PersonAtProvider, signal: AbortSignal): Promise<unknown>;
  /** Deletes all of it in the person's own spaces, and what is about the person in groups. Repeating it is harmless. */
  forgetPerson?(person: PersonAtProvider, signal: AbortSignal): Promise<void>;
  /** Two accounts became one person. For services that must be told; reading both is done with `ProviderPlace.aliases`. */
  linkPeople?(personId: string, alias: string, signal: AbortSignal): Promise<void>;
  /** Closes connections. */
  shutdown?(): Promise<void>;
}
