/**
 * What the agent is asked and what it gives back. Everything a turn knows is in the request: the agent keeps nothing
 * between two runs.
 */
import type { AssistantEntry, Entry, ToolCall, Usage, UserEntry } from "../domain/transcript.js";
import type { ModelFailureClass, ToolSchema } from "../ports/chat-model.js";
import type { Tool, ToolContext } from "./tool.js";

export interface AgentRequest {
  readonly model: string;
  /** The session's frozen system prompt. */
  readonly system: string;
  /** As stored with the session, sent as stored. A tool that no longer exists answers "not available". */
  readonly tools: readonly ToolSchema[];
  readonly history: readonly Entry[];
  readonly user: UserEntry;
  /** Recalled memory and the speaker's profile: stands after the user entry in every request of this run, is never stored. */
  readonly tail?: string;
  /** Entries of this turn from an earlier attempt, calls without a result already sealed. */
  readonly done: readonly Entry[];
  readonly context: Omit<ToolContext, "callId" | "signal">;
  readonly limits: {
    /** Model calls that may use tools; one more without follows. */
    readonly maxIterations: number;
    /** UTF-16 units of one tool result. */
    readonly toolResultChars: number;
    /** UTF-16 units of all tool results of the turn. */
    readonly turnResultChars: number;
  };
  readonly hooks: AgentHooks;
}

/** A rejected hook ends the run with that rejection (the store refused: the turn lost its claim). */
export interface AgentHooks {
  /** A piece of visible text of the answer being written. */
  onText(text: string): void;
  /** What was streamed is not the answer: tool calls follow it, or it is asked for again. */
  onTextReset(): void;
  /** Called before any tool of this entry runs. */
  beforeTools(entry: AssistantEntry): Promise<void>;
  /** Called for every call, also for one that will be refused (as `read`). `result`: an earlier attempt already has one. */
  startCall(call: ToolCall, effect: Tool["effect"]): Promise<"run" | { readonly result: string }>;
  /** The result as the model will see it. Not called for a call that was interrupted. */
  finishCall(call: ToolCall, result: string): Promise<void>;
  /** A denial for the model to read, or undefined when the speaker may use the tool. */
  permit(tool: Tool): string | undefined;
  /** Something the person said meanwhile, added after the results of this iteration. */
  steer(): Promise<string | undefined>;
}

export interface AgentResult {
  readonly outcome: "answer" | "aborted" | "failed";
  /** The answer; empty unless `outcome` is `answer`. */
  readonly text: string;
  /** All entries of the turn after the user's, `done` included; always sealed; ends with the answer when there is one. */
  readonly entries: readonly Entry[];
  readonly usage: Usage;
  /** Tokens of the last answered model call, in and out: how full the window is. Absent when none answered in this run. */
  readonly windowTokens?: number;
  /** The model that gave the last answer, as the model port names it. */
  readonly model?: string;
  /** Model answers in this turn, those of `done` included. */
  readonly iterations: number;
  /** Those of them that called tools. */
  readonly toolIterations: number;
  /** The server ended the answer at its output limit. */
  readonly cutOff?: boolean;
  /** The budget of iterations was used up without an answer. */
  readonly atLimit?: boolean;
  readonly failure?: ModelFailureClass;
  /** Text that was streamed before an abort or a failure. */
  readonly partialText: string;
}
