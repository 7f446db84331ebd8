/** What a person hears when a turn cannot be begun, stored or finished. */
import { errorText } from "../domain/errors.js";
import { languageOf, text } from "../words/catalogue.js";
import { isRefusedForNow } from "./insist.js";
import type { RunningTurn } from "./running-turn.js";
import type { TurnRunnerDeps } from "./turn-deps.js";

/**
 * The person is told to try again. A turn that never got its row ends here, with its messages: left open they would be answered unasked
 * after every restart. One that has its row, or that a full store keeps from one, is taken up at the next start.
 */
export async function giveUp(deps: TurnRunnerDeps, running: RunningTurn, error: unknown): Promise<void> {
  if (running.hasRow || isRefusedForNow(error)) return tell(deps, running, "turn.failed");
  const { route, parts } = wordsFor(deps, running, "turn.failed");
  const outbox = route === undefined ? [] : parts.map((part) => ({ kind: "notice" as const, route, part }));
  await deps.inbox.settle(running.act.inboxIds, "failed", { reason: errorText(error), outbox });
  deps.committed();
}

/** Past the outbox, since nothing can be stored: sent once, if it can be sent at all. */
export async function tell(deps: TurnRunnerDeps, running: RunningTurn, key: "turn.failed" | "turn.store-full"): Promise<void> {
  const { route, parts } = wordsFor(deps, running, key);
  const [part] = parts;
  const channel = deps.channels.get(running.speaker.platform);
  if (route === undefined || part === undefined || channel === undefined) return;
  try {
    await channel.adapter.send(route, { kind: "part", part }, { deliveryId: deps.ids.next(), signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    deps.logger.error({ error: errorText(error) }, "the person could not be told how the turn stands");
  }
}

function wordsFor(deps: TurnRunnerDeps, { act, speaker }: RunningTurn, key: "turn.failed" | "turn.store-full") {
  const language = languageOf(
    deps.language,
    act.messages.map((message) => message.text),
  );
  const parts = deps.channels.get(speaker.platform)?.adapter.render(text(language, key)) ?? [];
  return { route: act.messages.at(-1)?.route, parts };
}
