/**
 * The core's door: one agent for all sessions. It holds the tools and the model and nothing about any turn; what a run
 * needs is in its request.
 */
import type { ChatModel, ToolSchema } from "../ports/chat-model.js";
import { toolSchemas } from "./call.js";
import { Loop } from "./loop.js";
import type { AgentRequest, AgentResult } from "./request.js";
import type { Tool } from "./tool.js";

export { prompt } from "./prompt.js";
export type { Layer } from "./prompt.js";
export type { ToolContext } from "./tool.js";
export type { AgentHooks, AgentRequest, AgentResult } from "./request.js";

export interface AgentDeps {
  readonly model: ChatModel;
  /** The tools that exist now. Asked at the start of each run, so tools of a server that comes back are found again. */
  readonly tools: () => readonly Tool[];
  /** Takes secrets out of the text of errors before the model sees it. */
  readonly redact: (text: string) => string;
}

export class Agent {
  readonly #deps: AgentDeps;

  constructor(deps: AgentDeps) {
    this.#deps = deps;
  }

  /** The tool list to store with a new session, in the order of the tools. Throws RangeError when two have one name. */
  schemas(): ToolSchema[] {
    return toolSchemas([...byName(this.#deps.tools()).values()]);
  }

  /**
   * Runs one turn to its answer. Failures of model and tools are part of the result; it rejects only when a hook does.
   * After an abort it resolves at once with `aborted`, whatever model and tools do.
   */
  async run(request: AgentRequest, signal: AbortSignal): Promise<AgentResult> {
    const { model, redact, tools } = this.#deps;
    return new Loop({ model, redact, tools: byName(tools()) }, request, signal).run();
  }
}

function byName(tools: readonly Tool[]): Map<string, Tool> {
  const map = new Map<string, Tool>();
  for (const tool of tools) {
    if (map.has(tool.name)) throw new RangeError(`two tools are named ${tool.name}`);
    map.set(tool.name, tool);
  }
  return map;
}
