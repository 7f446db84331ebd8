/** Why an admitted message does not become a turn now: nobody can write there, too many turns in ten minutes, or the day's budget is used up. */
import type { Speaker } from "../domain/identity.js";
import type { InboundMessage } from "../domain/message.js";
import type { Clock } from "../ports/runtime.js";
import type { Turns } from "../ports/stores.js";
import { text, type Language } from "../words/catalogue.js";
import type { Channels } from "./channels.js";

export interface TurnLimitsDeps {
  readonly turns: Turns;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly perPersonPer10Min: number;
  /** A word to somebody whose budget of the day is used up; undefined when it is not. */
  readonly overBudget: (speaker: Speaker, language: Language) => Promise<string | undefined>;
}

export interface Refusal {
  readonly reason: string;
  /** Absent where nothing can be said. */
  readonly said?: string;
}

const tenMinutesMs = 600_000;

export async function refusalOf(
  deps: TurnLimitsDeps,
  event: InboundMessage,
  speaker: Speaker,
  language: Language,
): Promise<Refusal | undefined> {
  const { turns, channels, clock, perPersonPer10Min, overBudget } = deps;
  const adapter = channels.get(event.platform)?.adapter;
  if (event.chat.kind === "thread" && (await adapter?.writable(event.chat, event.threadId)) === false) {
    return { reason: "nobody can write there now" };
  }
  const count = await turns.countSince({ personId: speaker.personId }, clock.now() - tenMinutesMs);
  if (count >= perPersonPer10Min) return { reason: "too many turns", said: text(language, "turns.too-many", { minutes: 10 }) };
  const spent = await overBudget(speaker, language);
  return spent === undefined ? undefined : { reason: "budget used up", said: spent };
}
