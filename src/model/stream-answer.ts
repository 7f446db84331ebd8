/**
 * Collects the chunks of one stream into visible text pieces and, at the end, the answer. Every field of a chunk may be
 * missing or null on some server; nothing here throws.
 */
import type { ToolCall, Usage } from "../domain/transcript.js";
import type { ModelAnswer } from "../ports/chat-model.js";
import { CallAssembly, type CallDelta } from "./stream-calls.js";
import { ReasoningSplitter } from "./stream-reasoning.js";
import { TextCallHold } from "./text-calls.js";

export interface ChunkLike {
  readonly choices?: readonly (ChoiceLike | null)[] | null;
  readonly usage?: UsageLike | null;
  readonly model?: unknown;
}

interface ChoiceLike {
  readonly delta?: MessageLike | null;
  /** In a whole completion instead of a stream. */
  readonly message?: MessageLike | null;
  readonly finish_reason?: unknown;
}

interface MessageLike {
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly tool_calls?: readonly (CallDelta | null)[] | null;
}

interface UsageLike {
  readonly prompt_tokens?: unknown;
  readonly completion_tokens?: unknown;
  readonly prompt_tokens_details?: { readonly cached_tokens?: unknown } | null;
  readonly prompt_cache_hit_tokens?: unknown;
}

export interface Collected {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly reasoning: string;
  /** Undefined when the stream ended without saying so. */
  readonly finish: ModelAnswer["finish"] | "error" | undefined;
  /** Visible text not yet given out by `add`. */
  readonly lastPiece: string;
}

/** A character a person can see: no white space, controls, zero-width or other format characters, no blank fillers. */
const visibleCharacter = /[^\s\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** True when a person would see anything of it (field report MC-11). */
export function isVisible(text: string): boolean {
  return visibleCharacter.test(text);
}

export class StreamAnswer {
  readonly #splitter = new ReasoningSplitter();
  readonly #hold: TextCallHold;
  readonly #calls = new CallAssembly();
  #blank = "";
  #text = "";
  #reasoning = "";
  #finish: string | undefined;
  #usage: UsageLike | undefined;
  #model: string | undefined;

  constructor(offeredTools: Iterable<string>) {
    this.#hold = new TextCallHold(new Set(offeredTools));
  }

  /** True once the server said that the answer is over. */
  get finished(): boolean {
    return this.#finish !== undefined;
  }

  get hasUsage(): boolean {
    return this.#usage !== undefined;
  }

  get model(): string | undefined {
    return this.#model;
  }

  /** Visible text so far. */
  get text(): string {
    return this.#text;
  }

  /** True when any text, reasoning or call arrived. */
  get hasContent(): boolean {
    return this.#text !== "" || this.#reasoning !== "" || this.#calls.count > 0;
  }

  /** Takes a chunk and returns the visible text that may be shown now. */
  add(chunk: ChunkLike): string {
    if (typeof chunk !== "object" || chunk === null) return "";
    this.#model ??= filled(chunk.model);
    if (typeof chunk.usage === "object" && chunk.usage !== null) this.#usage = chunk.usage;
    const choice = Array.isArray(chunk.choices) ? (chunk.choices as readonly (ChoiceLike | null)[])[0] : undefined;
    if (typeof choice !== "object" || choice === null) return "";
    this.#finish = filled(choice.finish_reason) ?? this.#finish;
    const message = choice.delta ?? choice.message;
    return typeof message === "object" && message !== null ? this.#message(message) : "";
  }

  /** Call once at the end of the stream. */
  end(used: ReadonlySet<string>, nextId: () => string): Collected {
    const split = this.#splitter.end();
    this.#reasoning += split.reasoning;
    const shown = this.#hold.push(split.visible);
    const { calls: textCalls, text } = this.#hold.end();
    for (const call of textCalls)
      this.#calls.add({
        id: `text-${nextId()}`,
        function: { name: call.name, arguments: call.arguments },
      });
    const lastPiece = this.#show(shown + text);
    const toolCalls = this.#calls.calls(used, nextId);
    return {
      text: this.#text,
      toolCalls,
      reasoning: this.#reasoning,
      finish: this.#finishOf(toolCalls),
      lastPiece,
    };
  }

  /** What the server counted; `estimate` where it said nothing. */
  usage(estimate: () => Usage): Usage {
    const usage = this.#usage;
    const input = count(usage?.prompt_tokens);
    const output = count(usage?.completion_tokens);
    if (usage === undefined || input === undefined) return estimate();
    const cached = count(usage.prompt_tokens_details?.cached_tokens) ?? count(usage.prompt_cache_hit_tokens) ?? 0;
    return {
      inputTokens: input,
      cachedTokens: cached,
      outputTokens: output ?? 0,
      exact: output !== undefined,
    };
  }

  #message(message: MessageLike): string {
    const reasoning = textOf(message.reasoning_content) || textOf(message.reasoning);
    this.#reasoning += reasoning;
    for (const call of Array.isArray(message.tool_calls) ? (message.tool_calls as readonly (CallDelta | null)[]) : []) {
      if (typeof call === "object" && call !== null) this.#calls.add(call);
    }
    const split = this.#splitter.push(textOf(message.content) + textOf(message.refusal));
    this.#reasoning += split.reasoning;
    return this.#show(this.#hold.push(split.visible));
  }

  /** Blank text waits for the first visible character, so that an empty answer shows nothing at all. */
  #show(piece: string): string {
    if (this.#text !== "") {
      this.#text += piece;
      return piece;
    }
    this.#blank += piece;
    if (!isVisible(this.#blank)) return "";
    this.#text = this.#blank.replace(/^\s*\n/, "");
    this.#blank = "";
    return this.#text;
  }

  #finishOf(calls: readonly ToolCall[]): Collected["finish"] {
    const finish = this.#finish;
    // Usage is the last thing a server sends: with it the answer is complete even where the reason is missing.
    if (finish === undefined)
      return this.#usage === undefined || count(this.#usage.completion_tokens) === undefined ? undefined : named(calls);
    if (finish === "length" || finish === "max_tokens") return "length";
    if (finish === "content_filter") return "filter";
    if (finish === "error") return "error";
    return named(calls);
  }
}

function named(calls: readonly ToolCall[]): "tools" | "stop" {
  return calls.length > 0 ? "tools" : "stop";
}

/** Content as text; some servers send an array of parts. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value
    .map((part: unknown) => (typeof part === "object" && part !== null && "text" in part && typeof part.text === "string" ? part.text : ""))
    .join("");
}

function filled(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
