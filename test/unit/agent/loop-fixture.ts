/** The agent over a real client and the scripted server, with tools that record their runs. */
import { z } from "zod";
import { Agent, type AgentHooks, type AgentRequest, type AgentResult } from "../../../src/agent/agent.js";
import { defineTool, type Tool, type ToolContext } from "../../../src/agent/tool.js";
import type { AssistantEntry, ToolCall } from "../../../src/domain/transcript.js";
import { OpenAiModel } from "../../../src/model/openai-model.js";
import { collectingLogger, countedIds, systemClock } from "../../support/runtime.js";
import { startScriptedModel, type ScriptedModel } from "../../support/scripted-model.js";

export interface Ran {
  readonly name: string;
  readonly input: unknown;
  readonly context: ToolContext;
}

export interface Bench {
  readonly server: ScriptedModel;
  readonly agent: Agent;
  readonly ran: Ran[];
  /** Everything the hooks were told, in order. */
  readonly events: string[];
  run(more?: Partial<AgentRequest>, signal?: AbortSignal): Promise<AgentResult>;
}

export const baseContext: AgentRequest["context"] = {
  session: { id: "s1", spaceId: "p1", spaceKind: "person", isPrivate: false },
  speaker: { platform: "test", accountId: "a1", personId: "p1", role: "user", displayName: "Ada" },
  turn: { id: "t1", claim: 1 },
  origin: "turn",
  said: [],
  untrusted: [],
};

export async function openBench(extraTools: (ran: Ran[]) => readonly Tool[] = () => []): Promise<Bench> {
  const server = await startScriptedModel();
  const ran: Ran[] = [];
  const events: string[] = [];
  const record = <Input>(name: string, effect: Tool["effect"], input: z.ZodType<Input>, answer: (input: Input) => string): Tool =>
    defineTool<Input>({
      name,
      description: `The ${name} tool.`,
      input,
      effect,
      run: (value, context) => {
        ran.push({ name, input: value, context });
        return Promise.resolve(answer(value));
      },
    });
  const tools: Tool[] = [
    record("look", "read", z.object({ what: z.string().optional() }), (input) => `looked at ${input.what ?? "everything"}`),
    record("write", "once", z.object({ text: z.string().min(1) }), (input) => `wrote ${input.text}`),
    record("ping", "read", z.object({}), () => "pong"),
    ...extraTools(ran),
  ];
  const model = new OpenAiModel(
    { baseUrl: server.url, model: "scripted", idleTimeoutMs: 2000, requestTimeoutMs: 10_000, parallel: 0 },
    { clock: systemClock, ids: countedIds(), logger: collectingLogger(), redact: (text) => text, random: () => 0 },
  );
  const agent = new Agent({ model, tools: () => tools, redact: (text) => text.replaceAll("hunter2", "[secret]") });
  const hooks: AgentHooks = {
    onText: (text) => void events.push(`text ${text}`),
    onTextReset: () => void events.push("reset"),
    beforeTools: (entry: AssistantEntry) => (
      events.push(`before ${(entry.toolCalls ?? []).map((call) => call.name).join()}`),
      Promise.resolve()
    ),
    startCall: (call: ToolCall, effect) => (events.push(`start ${call.name} ${effect}`), Promise.resolve("run")),
    finishCall: (call: ToolCall, result: string) => (events.push(`finish ${call.name} ${result}`), Promise.resolve()),
    permit: () => undefined,
    steer: () => Promise.resolve(undefined),
  };
  return {
    server,
    agent,
    ran,
    events,
    run: (more = {}, signal = new AbortController().signal) =>
      agent.run(
        {
          model: "scripted",
          system: "You are a test.",
          tools: agent.schemas(),
          history: [],
          user: { role: "user", content: "hello" },
          done: [],
          context: baseContext,
          limits: { maxIterations: 60, toolResultChars: 50_000, turnResultChars: 200_000 },
          ...more,
          hooks: { ...hooks, ...more.hooks },
        },
        signal,
      ),
  };
}
