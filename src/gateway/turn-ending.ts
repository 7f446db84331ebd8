/**
 * How a turn ends: what is stored, what is said and what happens to its preview. Pure, one place for all endings.
 * Whatever the person is shown is what the transcript holds, so the next request starts from the same facts.
 */
import type { AgentResult, ToolContext } from "../agent/agent.js";
import { noUsage, sealTranscript, type Entry } from "../domain/transcript.js";
import type { ModelFailureClass } from "../ports/chat-model.js";
import type { Session, StoredEntry, TurnCommit, TurnRow } from "../ports/stores.js";
import { holdsFenced } from "../safety/fence.js";
import { text, type Language } from "../words/catalogue.js";
import type { AbortReason } from "./running-turn.js";

export interface Ending {
  readonly outcome: TurnCommit["outcome"];
  /** For the disposition and the log. */
  readonly reason?: string;
  /** What follows the user entry in the transcript, sealed. */
  readonly entries: readonly Entry[];
  /** Markdown for the person; empty when nothing is said. */
  readonly reply: string;
}

export interface EndingInput {
  readonly result: AgentResult | undefined;
  /** Entries already in the journal, for an end without a result. */
  readonly journal: readonly Entry[];
  readonly abort: AbortReason | "exhausted" | undefined;
  /** What a preview has shown; undefined when there is none to take over. */
  readonly shown: string | undefined;
  readonly language: Language;
  /** How `/new` is written on this platform. */
  readonly newCommand: string;
}

export function endingOf(input: EndingInput): Ending {
  const { result, abort, language } = input;
  if (abort === "exhausted") return failed(input, text(language, "turn.gave-up"), "gave up after three attempts");
  if (abort === "timeout") return failed(input, text(language, "turn.timeout"), "deadline");
  if (abort === "stopped" || abort === "interrupted") return cut(input, abort);
  if (result === undefined) return failed(input, text(language, "turn.failed"), "the agent did not end");
  if (result.outcome === "answer") {
    const note = result.cutOff === true ? `\n\n${text(language, "turn.cut")}` : "";
    return { outcome: "answered", entries: result.entries, reply: `${result.text}${note}` };
  }
  if (result.outcome === "aborted") return cut(input, "stopped");
  if (result.atLimit === true) return failed(input, text(language, "turn.iterations", { count: result.iterations }), "step limit");
  return failed(input, failureText(result.failure, language, input.newCommand), result.failure ?? "failed");
}

/** One sentence and a remedy for each class of model failure; never the server's own words. */
export function failureText(failure: ModelFailureClass | undefined, language: Language, newCommand: string): string {
  switch (failure) {
    case "rate-limit":
      return text(language, "turn.model-rate-limited", { seconds: 30 });
    case "server":
    case "network":
    case "protocol":
      return text(language, "turn.model-unreachable");
    case "timeout":
      return text(language, "turn.timeout");
    case "auth":
      return text(language, "turn.model-auth");
    case "bad-request":
      return text(language, "turn.model-refused");
    case "too-long":
      return text(language, "turn.too-long", { new: newCommand });
    case "empty":
      return text(language, "turn.model-empty");
    case "aborted":
    case undefined:
      return text(language, "turn.failed");
    default:
      return failure satisfies never;
  }
}

/** What the tools of a turn may know: who speaks, in which session, and what was said by whom. */
export function toolContext(session: Session, turn: TurnRow, history: readonly StoredEntry[]): Omit<ToolContext, "callId" | "signal"> {
  const mine = history.filter((stored) => stored.entry.role === "user" && stored.accountId === turn.speaker.accountId);
  const foreign = history.map((stored) => stored.entry.content).filter((content) => holdsFenced(content));
  const unsaid = holdsFenced(turn.user.content) ? [turn.user.content.replace(turn.said, " ")] : [];
  return {
    session: { id: session.id, spaceId: session.spaceId, spaceKind: session.spaceKind, isPrivate: session.isPrivate },
    speaker: turn.speaker,
    turn: { id: turn.id, claim: turn.claim },
    origin: "turn",
    said: [...mine.map((stored) => ({ sessionId: session.id, text: stored.text })), { sessionId: session.id, text: turn.said }],
    untrusted: [...foreign, ...unsaid],
  };
}

/** What was shown stays, since the person has read it; the sentence says why it ends there. */
function failed(input: EndingInput, sentence: string, reason: string): Ending {
  const shown = input.shown?.trim() ?? "";
  const reply = shown === "" ? sentence : `${shown}\n\n${sentence}`;
  return { outcome: "failed", reason, entries: closed(input, reply), reply };
}

/** Stopped or interrupted: what was shown stays, marked; an interrupted turn that showed nothing says nothing. */
function cut(input: EndingInput, outcome: "stopped" | "interrupted"): Ending {
  const mark = text(input.language, "turn.interrupted");
  const shown = input.shown?.trim() ?? "";
  const kept = shown === "" ? mark : `${shown}\n\n${mark}`;
  return { outcome, reason: outcome, entries: closed(input, kept), reply: input.shown === undefined ? "" : kept };
}

/** The work done so far, sealed, and a last assistant message that says how it ended. */
function closed(input: EndingInput, last: string): Entry[] {
  const done = input.result?.entries ?? input.journal;
  const work = [...sealTranscript(done)];
  while (work.at(-1)?.role === "assistant" && (work.at(-1) as { toolCalls?: unknown }).toolCalls === undefined) work.pop();
  return [...work, { role: "assistant", content: last }];
}

interface Ended {
  readonly turn: TurnRow;
  readonly session: Session;
  readonly result: AgentResult | undefined;
  readonly inboxIds: readonly number[];
}

/** What the ending stores, but for what is sent and decided. */
export function commitOf(end: Ended, ending: Ending): Omit<TurnCommit, "outbox" | "decide"> {
  const { turn, session, result } = end;
  const reason = ending.reason === undefined ? {} : { reason: ending.reason };
  const answered = ending.outcome === "answered";
  const rest = answered ? "joined" : ending.outcome === "failed" ? "failed" : "stopped";
  return {
    turnId: turn.id,
    claim: turn.claim,
    outcome: ending.outcome,
    ...reason,
    entries: [turn.user, ...ending.entries],
    inbox: end.inboxIds.map((id, index) => ({ id, disposition: answered && index === 0 ? "answered" : rest, ...reason })),
    usage: result?.usage ?? noUsage,
    model: result?.model ?? session.frozen?.model ?? "",
    iterations: result?.iterations ?? 0,
    counts: { memoryTurns: answered ? 1 : 0, skillIterations: result?.toolIterations ?? 0 },
  };
}
