/**
 * A script for the model server as plain JSON, for servers in a process of their own (kill tests, the demo).
 * Rules are tried in order before the default; `$1` … `$9` in a reply are the groups of the rule's `user` pattern.
 */
import { messageText, type WireMessage, type WireRequest } from "./scripted-model-rules.js";
import type { Answer } from "./scripted-model.js";
import type { ScriptedReply } from "./scripted-model-reply.js";

export interface ScriptRule {
  /** Regular expression (flags `is`) on the last user message. */
  readonly user?: string;
  /** Regular expression (flags `is`) on the system prompt. */
  readonly system?: string;
  /** How many tool results stand after the last user message. */
  readonly results?: number;
  /** Only where this tool is offered. */
  readonly tool?: string;
  /** Used at most so often. */
  readonly times?: number;
  readonly reply: ScriptedReply | string;
}

export interface Script {
  /** Used first, one after the other. */
  readonly replies?: readonly (ScriptedReply | string)[];
  readonly rules?: readonly ScriptRule[];
  /** Default: "You said: " and the last user message. */
  readonly otherwise?: ScriptedReply | string;
}

/** The answer function of a script. */
export function answerOf(script: Script): Answer {
  const queue = [...(script.replies ?? [])];
  const used = new Map<ScriptRule, number>();
  return (request) => {
    const first = queue.shift();
    if (first !== undefined) return first;
    for (const rule of script.rules ?? []) {
      const groups = match(rule, request);
      const times = used.get(rule) ?? 0;
      if (groups === undefined || times >= (rule.times ?? Infinity)) continue;
      used.set(rule, times + 1);
      return fill(rule.reply, groups);
    }
    return script.otherwise ?? `You said: ${messageText(lastUser(request).message)}`;
  };
}

function match(rule: ScriptRule, request: WireRequest): readonly string[] | undefined {
  const { message, results } = lastUser(request);
  if (rule.results !== undefined && rule.results !== results) return undefined;
  if (rule.tool !== undefined && !(request.tools ?? []).some((tool) => tool.function.name === rule.tool)) return undefined;
  const system = messageText(request.messages.find((one) => one.role === "system"));
  if (rule.system !== undefined && !new RegExp(rule.system, "is").test(system)) return undefined;
  if (rule.user === undefined) return [];
  const found = new RegExp(rule.user, "is").exec(messageText(message));
  return found === null ? undefined : [...found].map((group) => group ?? "");
}

function lastUser(request: WireRequest): {
  readonly message: WireMessage | undefined;
  readonly results: number;
} {
  const at = request.messages.findLastIndex((one) => one.role === "user");
  return {
    message: request.messages[at],
    results: request.messages.slice(at + 1).filter((one) => one.role === "tool").length,
  };
}

function fill<Value>(value: Value, groups: readonly string[]): Value {
  if (typeof value === "string") return value.replace(/\$([1-9])/g, (_, digit: string) => groups[Number(digit)] ?? "") as Value;
  if (Array.isArray(value)) return value.map((one: unknown) => fill(one, groups)) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]: [string, unknown]) => [key, fill(one, groups)])) as Value;
}
