/**
 * Checks the arguments of a tool call and runs it, so that every failure becomes a result the model can read. A tool that
 * ignores the abort is left behind: the run never waits for it.
 */
import { z } from "zod";
import { errorText } from "../domain/errors.js";
import { unknownOutcome } from "../domain/transcript.js";
import type { ToolSchema } from "../ports/chat-model.js";
import type { Tool, ToolContext } from "./tool.js";

export interface CallOutcome {
  readonly content: string;
  readonly failed: boolean;
  /** Ended by the abort: nobody knows whether it had an effect, so nothing may be stored as its result. */
  readonly interrupted: boolean;
}

/** What the model is told of the tools, in the order given. Deterministic: the same tools give the same bytes. */
export function toolSchemas(tools: readonly Tool[]): ToolSchema[] {
  return tools.map((tool) => ({ name: tool.name, description: tool.description, parameters: parametersOf(tool) }));
}

function parametersOf(tool: Tool): { readonly [key: string]: unknown } {
  const full = tool.schema ?? (z.toJSONSchema(tool.input, { io: "input", unrepresentable: "any" }) as Record<string, unknown>);
  const { $schema: _dialect, ...schema } = full;
  return schema["type"] === "object" ? schema : { type: "object", properties: {}, ...schema };
}

/** The checked input, or what the model must be told instead. Empty arguments mean `{}` (several servers send them for tools without parameters). */
export async function checkedInput(
  tool: Tool,
  text: string,
): Promise<{ readonly ok: true; readonly input: unknown } | { readonly ok: false; readonly error: string }> {
  const value = text.trim() === "" ? {} : parsed(text);
  if (value === undefined) return refused(tool, "The arguments are not valid JSON; the call was not run.");
  const result = await tool.input.safeParseAsync(value ?? {});
  if (result.success) return { ok: true, input: result.data };
  return refused(tool, `The arguments do not fit; the call was not run. ${z.prettifyError(result.error)}`);
}

function refused(tool: Tool, error: string): { readonly ok: false; readonly error: string } {
  return { ok: false, error: JSON.stringify({ error, schema: parametersOf(tool) }) };
}

/** Runs the tool once. Never rejects; resolves at the abort at the latest. */
export async function runCall(tool: Tool, input: unknown, context: ToolContext, redact: (text: string) => string): Promise<CallOutcome> {
  const { signal } = context;
  if (signal.aborted) return notRun;
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<CallOutcome>((resolve) => {
    onAbort = () => resolve(interrupted(tool));
    signal.addEventListener("abort", onAbort, { once: true });
  });
  const finished = attempt(tool, input, context, redact);
  try {
    return await Promise.race([finished, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

async function attempt(tool: Tool, input: unknown, context: ToolContext, redact: (text: string) => string): Promise<CallOutcome> {
  try {
    const content = await tool.run(input, context);
    return { content, failed: saysError(content), interrupted: false };
  } catch (error) {
    if (context.signal.aborted) return interrupted(tool);
    return { content: JSON.stringify({ error: redact(errorText(error)) }), failed: true, interrupted: false };
  }
}

/** The result of a call that the abort came before. */
export const notRun: CallOutcome = {
  content: JSON.stringify({ error: "not run: the turn was stopped" }),
  failed: true,
  interrupted: true,
};

function interrupted(tool: Tool): CallOutcome {
  return { content: tool.effect === "once" ? unknownOutcome : notRun.content, failed: true, interrupted: true };
}

function saysError(content: string): boolean {
  return content.startsWith('{"error":');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * The text within `limit` UTF-16 units, the middle replaced by a note. The end is kept too, so that a fence the tool put
 * around untrusted text stays closed. A limit below the note's own length gives the note alone.
 */
export function cutResult(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const note = `\n[… ${text.length - Math.max(0, limit)} or more characters left out: the result is too long. Ask for less at once. …]\n`;
  const room = limit - note.length;
  if (room <= 0) return note.trim();
  const tail = Math.min(1000, Math.floor(room / 4));
  return `${withoutHalf(text.slice(0, room - tail))}${note}${text.slice(text.length - tail).replace(/^[\udc00-\udfff]/, "")}`;
}

function withoutHalf(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, "");
}
