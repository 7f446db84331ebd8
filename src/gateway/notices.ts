/**
 * Lines of the program itself beside a reply: what was saved, that another model answered, that a conversation is being condensed.
 * They are no part of the transcript.
 */
import type { Route } from "../domain/message.js";
import type { NewOutbox } from "../ports/mailbox.js";
import { text, type Language } from "../words/catalogue.js";
import type { Channel } from "./channels.js";
import { withoutReply } from "./routes.js";

const savedLength = 120;

/** A line as outbox rows; none for no line. */
export function noticeRows(channel: Channel, route: Route, line: string | undefined): NewOutbox[] {
  if (line === undefined) return [];
  return channel.adapter.render(line).map((part) => ({ kind: "notice", route: withoutReply(route), part, silent: true }));
}

/** One line for everything that was saved beside a turn. */
export function savedRows(channel: Channel, route: Route, language: Language, saved: readonly string[]): NewOutbox[] {
  if (saved.length === 0) return [];
  return noticeRows(channel, route, text(language, "notice.saved", { what: saved.join(" · ").slice(0, savedLength) }));
}

/** Sessions whose change of model is remembered; the one that was quiet longest is forgotten first. */
const remembered = 1_000;

/** Says once per session that another model than the session's own answers, until its own does again. */
export class StandIns {
  readonly #said = new Map<string, string>();

  /** The word to say, or undefined. `answered`: the model that gave the answer, where there was one. */
  word(sessionId: string, own: string, answered: string | undefined, language: Language): string | undefined {
    if (answered === undefined) return undefined;
    const before = this.#said.get(sessionId);
    this.#said.delete(sessionId);
    if (answered === own) return undefined;
    this.#said.set(sessionId, answered);
    const [oldest] = this.#said.keys();
    if (this.#said.size > remembered && oldest !== undefined) this.#said.delete(oldest);
    return before === answered ? undefined : text(language, "notice.stand-in", { model: answered, own });
  }
}
