/**
 * Model ↔ tools until there is an answer, the budget is used up or the signal is aborted. Whatever happens, the entries
 * it returns are sealed: a call without a result never leaves this file.
 */
import { addUsage, noUsage, sealTranscript, type AssistantEntry, type Entry, type ToolCall, type Usage } from "../domain/transcript.js";
import type { ChatModel, ModelAnswer, ModelFailure, ModelFailureClass, ModelResult } from "../ports/chat-model.js";
import { checkedInput, cutResult, notRun, runCall, type CallOutcome } from "./call.js";
import { modelEntries } from "./context.js";
import type { AgentRequest, AgentResult } from "./request.js";
import type { Tool } from "./tool.js";
import { holdsFenced } from "../safety/fence.js";

export interface LoopDeps {
  readonly model: ChatModel;
  /** The tools that exist now; what is offered is in the request. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly redact: (text: string) => string;
}

/** Read-only calls that run at the same time. */
const parallelReads = 8;
/** After so many failures of one and the same call the model is told, then the turn is brought to its end. */
const warnAfter = 3;
const endAfter = 5;
/** Iterations in a row in which every call failed. */
const maxFailedIterations = 8;

const concludeNote = "[No more tools will run in this turn. Answer the person now with what you have, and say what could not be finished.]";

interface Prepared {
  readonly call: ToolCall;
  /** Absent when the call is refused; `refusal` is then its result. */
  readonly tool?: Tool;
  readonly input?: unknown;
  readonly refusal?: string;
}

export class Loop {
  readonly #deps: LoopDeps;
  readonly #request: AgentRequest;
  readonly #signal: AbortSignal;
  readonly #entries: Entry[];
  readonly #failures = new Map<string, number>();
  readonly #offered: ReadonlySet<string>;
  #usage: Usage = noUsage;
  #iterations: number;
  #toolIterations: number;
  #resultChars: number;
  #failedIterations = 0;
  #stuck = false;
  #partialText = "";
  #last: { readonly windowTokens: number; readonly model: string } | undefined;

  constructor(deps: LoopDeps, request: AgentRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
    this.#entries = sealTranscript(request.done);
    this.#offered = new Set(request.tools.map((tool) => tool.name));
    const answers = this.#entries.filter((entry) => entry.role === "assistant");
    this.#iterations = answers.length;
    this.#toolIterations = answers.filter((entry) => (entry.toolCalls ?? []).length > 0).length;
    this.#resultChars = this.#entries.reduce((sum, entry) => sum + (entry.role === "tool" ? entry.content.length : 0), 0);
  }

  async run(): Promise<AgentResult> {
    const last = this.#entries.at(-1);
    if (last?.role === "assistant" && (last.toolCalls ?? []).length === 0) return this.#result("answer", last.content);
    for (;;) {
      if (this.#signal.aborted) return this.#result("aborted");
      const isFinal = this.#stuck || this.#iterations >= this.#request.limits.maxIterations;
      if (isFinal) this.#conclude();
      const answer = await this.#ask();
      if (!answer.ok) return this.#failed(answer.failure, answer.partialText);
      this.#iterations += 1;
      if (answer.toolCalls.length === 0) return this.#answered(answer);
      if (isFinal) return answer.text.trim() === "" ? { ...this.#failed("empty", ""), atLimit: true } : this.#answered(answer);
      await this.#useTools(answer);
    }
  }

  /** One model answer. An answer nobody could see is asked for once more. */
  async #ask(): Promise<ModelResult> {
    const first = await this.#call();
    return first.ok || first.failure !== "empty" ? first : this.#call();
  }

  async #call(): Promise<ModelResult> {
    const { model, system, tools, history, user, tail, hooks } = this.#request;
    const entries = modelEntries({ history, user, entries: this.#entries, ...(tail === undefined ? {} : { tail }) });
    let result: ModelResult = {
      ok: false,
      failure: "protocol",
      detail: "no result",
      partialText: "",
      usage: noUsage,
    } satisfies ModelFailure;
    this.#partialText = "";
    for await (const event of this.#deps.model.complete({ model, system, tools, entries }, this.#signal)) {
      if (event.type === "result") result = event.result;
      else {
        this.#partialText += event.text;
        hooks.onText(event.text);
      }
    }
    this.#usage = addUsage(this.#usage, result.usage);
    if (result.ok) this.#last = { windowTokens: result.usage.inputTokens + result.usage.outputTokens, model: result.model };
    const isAnswer = result.ok && result.toolCalls.length === 0;
    const asksAgain = !result.ok && result.failure === "empty";
    if (this.#partialText !== "" && !isAnswer && (result.ok || asksAgain)) {
      hooks.onTextReset();
      this.#partialText = "";
    }
    return result;
  }

  async #useTools(answer: ModelAnswer): Promise<void> {
    const { hooks } = this.#request;
    const entry: AssistantEntry = { ...assistantEntry(answer), toolCalls: answer.toolCalls };
    await hooks.beforeTools(entry);
    this.#entries.push(entry);
    this.#toolIterations += 1;
    const failed = await this.#runCalls(await Promise.all(answer.toolCalls.map((call) => this.#prepare(call))));
    this.#failedIterations = failed === answer.toolCalls.length ? this.#failedIterations + 1 : 0;
    if (this.#failedIterations >= maxFailedIterations) this.#stuck = true;
    if (this.#signal.aborted) return;
    const steered = await hooks.steer();
    if (steered !== undefined && steered !== "") this.#entries.push({ role: "user", content: steered });
  }

  /** Everything that refuses a call before it runs: unknown, not offered, not permitted, arguments that do not fit. */
  async #prepare(call: ToolCall): Promise<Prepared> {
    const tool = this.#deps.tools.get(call.name);
    if (tool === undefined || !this.#offered.has(call.name)) {
      const hint = this.#offered.has(call.name) ? "" : " If this was meant as an example for the person, put it into a code block.";
      return { call, refusal: JSON.stringify({ error: `The tool "${call.name}" is not available.${hint}` }) };
    }
    const denial = this.#request.hooks.permit(tool);
    if (denial !== undefined) return { call, refusal: JSON.stringify({ error: denial }) };
    const checked = await checkedInput(tool, call.arguments);
    return checked.ok ? { call, tool, input: checked.input } : { call, refusal: checked.error };
  }

  /** Runs the calls in order; neighbours that only read run together. Returns how many failed. */
  async #runCalls(calls: readonly Prepared[]): Promise<number> {
    let failed = 0;
    for (let at = 0; at < calls.length;) {
      let end = at + 1;
      if (onlyReads(calls[at])) while (end < calls.length && end - at < parallelReads && onlyReads(calls[end])) end += 1;
      failed += await this.#runGroup(calls.slice(at, end));
      at = end;
    }
    return failed;
  }

  /** Results are cut and stored in the order of the calls, whichever ended first. */
  async #runGroup(group: readonly Prepared[]): Promise<number> {
    const settled = await Promise.allSettled(group.map((prepared) => this.#runOne(prepared)));
    let failed = 0;
    for (const [index, { call }] of group.entries()) {
      const one = settled[index];
      if (one === undefined || one.status === "rejected") throw one?.reason ?? new RangeError("a call without an outcome");
      const { outcome, stored } = one.value;
      const content = stored ? outcome.content : this.#cut(this.#counted(call, outcome));
      this.#resultChars += content.length;
      if (outcome.failed) failed += 1;
      this.#entries.push({ role: "tool", callId: call.id, name: call.name, content });
      if (!stored && !outcome.interrupted) await this.#request.hooks.finishCall(call, content);
    }
    return failed;
  }

  async #runOne(prepared: Prepared): Promise<{ readonly outcome: CallOutcome; readonly stored: boolean }> {
    const { call, tool, input, refusal } = prepared;
    if (this.#signal.aborted) return { outcome: notRun, stored: false };
    const begun = await this.#request.hooks.startCall(call, tool?.effect ?? "read");
    if (begun !== "run") return { outcome: { content: begun.result, failed: false, interrupted: false }, stored: true };
    if (tool === undefined) return { outcome: { content: refusal ?? notRun.content, failed: true, interrupted: false }, stored: false };
    const { context: given } = this.#request;
    const context = { ...given, untrusted: [...given.untrusted, ...this.#fencedResults()], callId: call.id, signal: this.#signal };
    return { outcome: await runCall(tool, input, context, this.#deps.redact), stored: false };
  }

  /** What tools of this very turn brought in: no source for anything that is saved later in it. */
  #fencedResults(): string[] {
    return this.#entries.flatMap((entry) => (entry.role === "tool" && holdsFenced(entry.content) ? [entry.content] : []));
  }

  /** Counts equal failures; tells the model, and ends the turn's tool use when it goes on. */
  #counted(call: ToolCall, outcome: CallOutcome): string {
    if (!outcome.failed || outcome.interrupted) return outcome.content;
    const key = `${call.name}\n${call.arguments}`;
    const count = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, count);
    if (count >= endAfter) this.#stuck = true;
    return count < warnAfter ? outcome.content : `${outcome.content}\n[This same call has failed ${count} times. Do not make it again.]`;
  }

  /** One result's limit, and what is left of the turn's; a short result always fits. */
  #cut(content: string): string {
    const { toolResultChars, turnResultChars } = this.#request.limits;
    const left = Math.max(turnResultChars - this.#resultChars, 400);
    return cutResult(content, Math.min(toolResultChars, left));
  }

  /** Asks for an answer without tools. The note goes into the last result, which no request has carried yet; the tool list stays as it is. */
  #conclude(): void {
    const at = this.#entries.findLastIndex((entry) => entry.role === "tool");
    const entry = this.#entries[at];
    if (entry?.role !== "tool" || entry.content.endsWith(concludeNote)) return;
    this.#entries[at] = { ...entry, content: `${entry.content}\n${concludeNote}` };
  }

  #answered(answer: ModelAnswer): AgentResult {
    this.#entries.push(assistantEntry(answer));
    this.#partialText = "";
    return { ...this.#result("answer", answer.text), ...(answer.finish === "length" ? { cutOff: true } : {}) };
  }

  #failed(failure: ModelFailureClass, partialText: string): AgentResult {
    this.#partialText = partialText;
    return failure === "aborted" || this.#signal.aborted ? this.#result("aborted") : { ...this.#result("failed"), failure };
  }

  #result(outcome: AgentResult["outcome"], text = ""): AgentResult {
    return {
      outcome,
      text,
      entries: sealTranscript(this.#entries),
      usage: this.#usage,
      ...this.#last,
      iterations: this.#iterations,
      toolIterations: this.#toolIterations,
      partialText: this.#partialText,
    };
  }
}

function onlyReads(prepared: Prepared | undefined): boolean {
  return prepared !== undefined && (prepared.tool === undefined || prepared.tool.effect === "read");
}

function assistantEntry(answer: ModelAnswer): AssistantEntry {
  return { role: "assistant", content: answer.text, ...(answer.reasoning === undefined ? {} : { reasoning: answer.reasoning }) };
}
