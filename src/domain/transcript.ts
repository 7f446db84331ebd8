/**
 * The conversation as the model sees it. The invariant: every tool call has exactly one result, directly after the
 * message that made it; `sealTranscript` restores it for whatever a crash left behind.
 */

export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: string; /** Path below the data folder. */ readonly file: string };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The argument text exactly as the model wrote it (so that the request stays byte-equal); may be empty or broken. */
  readonly arguments: string;
}

export interface UserEntry {
  readonly role: "user";
  readonly content: string;
  readonly images?: readonly Extract<ContentPart, { type: "image" }>[];
}

export interface AssistantEntry {
  readonly role: "assistant";
  readonly content: string;
  readonly toolCalls?: readonly ToolCall[];
  /** The server's own reasoning, kept apart from content; sent back only where the server wants it. */
  readonly reasoning?: string;
}

export interface ToolEntry {
  readonly role: "tool";
  readonly callId: string;
  readonly name: string;
  readonly content: string;
}

export type Entry = UserEntry | AssistantEntry | ToolEntry;

/** The result a call gets when nobody knows how it ended. */
export const unknownOutcome = JSON.stringify({ error: "interrupted, outcome unknown: check before doing it again" });

/**
 * Returns the entries with every call answered exactly once and directly after its message: missing results are added
 * as "interrupted, outcome unknown", results without a call and second results are dropped. Pure; equal input gives
 * equal output, and a valid transcript is returned unchanged.
 */
export function sealTranscript(entries: readonly Entry[]): Entry[] {
  const sealed: Entry[] = [];
  for (let index = 0; index < entries.length; index += 1) {
    const entry = entries[index];
    if (entry === undefined || entry.role === "tool") continue;
    sealed.push(entry);
    if (entry.role !== "assistant" || entry.toolCalls === undefined) continue;
    const results = new Map<string, ToolEntry>();
    for (let next = index + 1; next < entries.length; next += 1) {
      const candidate = entries[next];
      if (candidate?.role !== "tool") break;
      if (!results.has(candidate.callId)) results.set(candidate.callId, candidate);
    }
    for (const call of entry.toolCalls) {
      sealed.push(results.get(call.id) ?? { role: "tool", callId: call.id, name: call.name, content: unknownOutcome });
    }
  }
  return sealed;
}

export interface Usage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  /** False when the server sent no usage for at least one call and the numbers are estimates. */
  readonly exact: boolean;
}

export const noUsage: Usage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, exact: true };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    exact: a.exact && b.exact,
  };
}
