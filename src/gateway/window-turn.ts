/**
 * What a turn hands to the window that its request must fit: its abort, and a word to its chat. From the first word on nothing may join.
 */
import { errorText } from "../domain/errors.js";
import { languageOf, text } from "../words/catalogue.js";
import type { Channel } from "./channels.js";
import { noticeRows } from "./notices.js";
import type { RunningTurn } from "./running-turn.js";
import type { TurnRunnerDeps } from "./turn-deps.js";
import type { WindowTurn } from "./window.js";

/** For a turn: its abort, and a word to its chat. From the first word on nothing may join, since the person was told to wait. */
export function windowTurn(
  { outbox, logger, committed, language: setting }: Pick<TurnRunnerDeps, "outbox" | "logger" | "committed" | "language">,
  running: RunningTurn,
  channel: Channel,
): WindowTurn {
  const { messages } = running.act;
  const route = messages.at(-1)?.route;
  const language = languageOf(
    setting,
    messages.map((message) => message.text),
  );
  const tell: WindowTurn["tell"] = async (key) => {
    running.lock();
    if (route === undefined) return;
    try {
      await outbox.add(noticeRows(channel, route, text(language, key)));
      committed();
    } catch (error) {
      logger.warn({ error: errorText(error) }, "the person could not be told that the conversation is condensed");
    }
  };
  return { signal: running.signal, tell };
}
