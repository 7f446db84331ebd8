/** What a memory call saved, in a few words for the person; read from the tool's own result, never from the model's claim. */
import { savedMessages } from "./tool.js";

/** `Memory: …` when the call changed a store; undefined when it failed, changed nothing or is no memory call. */
export function savedMemory(call: { readonly name: string; readonly arguments: string }, result: string): string | undefined {
  if (call.name !== "memory") return undefined;
  const outcome = parsed(result);
  const asked = parsed(call.arguments);
  if (outcome?.["success"] !== true || typeof outcome["message"] !== "string" || !savedMessages.has(outcome["message"])) return undefined;
  if (asked?.["action"] === "remove") return `Memory: removed “${textOf(asked["old_text"])}”`;
  return `Memory: ${textOf(asked?.["content"])}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // broken arguments or a cut result: nothing that could be shown
  }
}
