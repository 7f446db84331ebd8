/**
 * Tools: what a feature offers to the model. Running a call never throws: a failure is a result the model can read.
 */
import type { z } from "zod";
import type { Speaker } from "../domain/identity.js";

/** Everything a tool may know about who calls it. Passed explicitly down to the tool; there is no ambient state. */
export interface ToolContext {
  readonly session: {
    readonly id: string;
    readonly spaceId: string;
    readonly spaceKind: "person" | "group";
    /** A private session is not learnt from, searched or synced. */
    readonly isPrivate: boolean;
  };
  readonly speaker: Speaker;
  /** The running turn and its claim; a write with an outdated claim is refused by the store. */
  readonly turn: { readonly id: string; readonly claim: number };
  readonly origin: "turn" | "review";
  /** The job that runs a review. */
  readonly jobId?: string;
  /** The speaker's own words in the stretch this run covers: the only source for facts about the person. */
  readonly said: readonly { readonly sessionId: string; readonly text: string }[];
  /** Text of the same stretch that came from tools, documents, quotes or recall: never a source. */
  readonly untrusted: readonly string[];
  readonly callId: string;
  readonly signal: AbortSignal;
}

export interface Tool<Input = unknown> {
  /** `[a-z0-9_-]{1,64}`. */
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodType<Input>;
  /** JSON Schema of the arguments in a foreign server's own words, sent to the model unchanged; `input` then only checks. Without it the schema is made from `input`. */
  readonly schema?: { readonly [key: string]: unknown };
  /** `read`: may run in parallel and again. `once`: stored in the turn journal before it runs, its result after; never run twice. */
  readonly effect: "read" | "once";
  /** Returns the result text. May throw: the caller turns it into an error result. */
  run(input: Input, context: ToolContext): Promise<string>;
}

/** Keeps the input type between schema and `run`. */
export function defineTool<Input>(tool: Tool<Input>): Tool {
  return tool;
}
