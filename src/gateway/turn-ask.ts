/**
 * One run of the agent for a turn: its request, its hooks into journal and preview, and an end within a moment of an
 * abort even if something inside hangs.
 */
import type { AgentHooks, AgentResult, ToolContext } from "../agent/agent.js";
import { sealTranscript, unknownOutcome } from "../domain/transcript.js";
import type { Clock } from "../ports/runtime.js";
import type { Frozen, Session, StoredEntry, TurnRow } from "../ports/stores.js";
import { concat } from "./acts.js";
import { compose } from "./compose.js";
import type { Preview } from "./preview.js";
import type { RunningTurn } from "./running-turn.js";
import type { TurnRunnerDeps } from "./turn-deps.js";
import { FenceScrubber } from "../safety/fence.js";
import { scrubEntry, scrubResult } from "./scrub.js";
import { toolContext } from "./turn-ending.js";

export interface Asking {
  readonly running: RunningTurn;
  readonly turn: TurnRow;
  readonly session: Session & { readonly frozen: Frozen };
  readonly history: readonly StoredEntry[];
  readonly preview: Preview;
}

/** What counts as the speaker's own words; grows by what is steered in. Those of this turn begin at `from`. */
interface Words {
  readonly said: ToolContext["said"][number][];
  readonly from: number;
}

/** How long an aborted agent may take to come back before the turn ends without it. */
const abortGraceMs = 700;

/** Undefined when the turn was aborted and the agent did not come back. */
export async function askAgent(deps: TurnRunnerDeps, asking: Asking): Promise<AgentResult | undefined> {
  const { running, turn, session, history } = asking;
  const { signal } = running;
  const done = sealTranscript(await deps.turns.journal(turn.id));
  const tail = await deps.tail(session, turn);
  const context = withRecall(toolContext(session, turn, history), tail);
  const words: Words = { said: [...context.said], from: context.said.length - 1 };
  const run = deps.agent.run(
    {
      model: session.frozen.model,
      system: session.frozen.system,
      tools: session.frozen.tools,
      history: history.map((stored) => stored.entry),
      user: turn.user,
      ...(tail === undefined ? {} : { tail }),
      done,
      context: { ...context, said: words.said },
      limits: deps.limits,
      hooks: hooksOf(deps, asking, words),
    },
    signal,
  );
  const result = await Promise.race([run, afterAbort(signal, deps.clock)]);
  return result === undefined ? undefined : scrubResult(result);
}

/** What was recalled is no source for anything that this turn saves. */
function withRecall(context: ReturnType<typeof toolContext>, tail: string | undefined): ReturnType<typeof toolContext> {
  return tail === undefined ? context : { ...context, untrusted: [...context.untrusted, tail] };
}

function hooksOf(deps: TurnRunnerDeps, { running, turn, session, preview }: Asking, words: Words): AgentHooks {
  const { turns } = deps;
  let shown = "";
  let scrubber = new FenceScrubber();
  return {
    onText: (piece) => {
      shown += scrubber.push(piece);
      preview.show(shown);
      if (preview.shown) running.lock();
    },
    onTextReset: () => {
      shown = "";
      scrubber = new FenceScrubber();
    },
    beforeTools: async (entry) => {
      running.lock();
      await turns.assistant(turn.id, turn.claim, scrubEntry(entry));
      if (deps.progress === "line") preview.show(`⏳ ${(entry.toolCalls ?? []).map((call) => call.name).join(", ")}`);
    },
    startCall: async (call, effect) => {
      if (effect === "read") return "run";
      const started = await turns.startCall(turn.id, turn.claim, call);
      return started === "started" ? { result: unknownOutcome } : started;
    },
    finishCall: (call, result) => turns.finishCall(turn.id, turn.claim, call.id, result),
    permit: (tool) => deps.permit(tool, turn, session),
    steer: () => steer(deps, running, turn, words),
  };
}

/** What the person said while the turn ran, for the model; journaled, so that a re-run knows it too. */
async function steer(deps: TurnRunnerDeps, running: RunningTurn, turn: TurnRow, words: Words): Promise<string | undefined> {
  const acts = running.takeSteered();
  if (acts.length === 0) return undefined;
  const messages = acts.flatMap((act) => act.messages);
  const more = compose({ messages, previousAt: undefined, now: deps.clock.now(), timeZone: await deps.timeZone(running.act) });
  words.said.push({ sessionId: turn.sessionId, text: more.said });
  const said = words.said.slice(words.from).map((one) => one.text);
  await deps.turns.join(turn.id, turn.claim, { inboxIds: acts.flatMap((act) => act.inboxIds), user: turn.user, said: said.join("\n") });
  await deps.turns.assistant(turn.id, turn.claim, { role: "user", content: more.content });
  running.act = concat([running.act, ...acts]);
  return more.content;
}

/** Resolves to undefined a moment after the abort, so that a hung tool or stream cannot hold the turn. */
function afterAbort(signal: AbortSignal, clock: Clock): Promise<undefined> {
  return new Promise((resolve) => {
    const later = (): void => void clock.after(abortGraceMs, () => resolve(undefined));
    if (signal.aborted) later();
    else signal.addEventListener("abort", later, { once: true });
  });
}
