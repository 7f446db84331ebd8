/** What turns used, summed per model. Same promises as ports/stores.ts. */
export interface ModelUsage {
  readonly model: string;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly turns: number;
}

export type UsageOf =
  | { readonly personId: string }
  | { readonly sessionId: string }
  /** The newest finished turn of a session. */
  | { readonly lastTurnOf: string }
  | { readonly everybody: true };

export interface UsageStore {
  /** Turns that began at or after `since` (epoch ms). */
  sum(of: UsageOf, since: number): Promise<ModelUsage[]>;
  /** One line per entry that a turn changed in memory files, oldest first. */
  savedBy(turnId: string): Promise<string[]>;
}
