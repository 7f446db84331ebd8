/**
 * What was said in a group before the bot was addressed: from the platform's history when it is called into a place, else from the messages it
 * overheard. Shown to the model once, quoted; neither searchable nor reviewed.
 */
import { errorText } from "../domain/errors.js";
import { isGroup } from "../domain/identity.js";
import type { HistoryMessage } from "../ports/platform-adapter.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { SessionCare } from "../ports/session-care.js";
import type { Sessions } from "../ports/stores.js";
import type { Act } from "./acts.js";
import type { Channel } from "./channels.js";

export interface EarlierDeps {
  readonly care: Pick<SessionCare, "overheard">;
  readonly sessions: Pick<Sessions, "lastEnded">;
  /** How many messages; 0 = none. */
  readonly contextMessages: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long overheard words are kept. */
export const overheardMs = 86_400_000;
const historyLimitMs = 5_000;

/** Oldest first; empty in direct messages, and when nothing can be read (which is logged: the turn goes on without). */
export async function earlierMessages(
  deps: EarlierDeps,
  act: Act,
  session: { readonly id: string; readonly isNew: boolean },
  channel: Channel,
): Promise<readonly HistoryMessage[]> {
  const [first] = act.messages;
  const { contextMessages: limit, clock, logger } = deps;
  if (first === undefined || !isGroup(first.chat.kind) || limit === 0) return [];
  try {
    const history = session.isNew ? await limited(clock, channel.adapter.history(first.chat, first.threadId, first.messageId, limit)) : [];
    if (history.length > 0) {
      // What a conversation held that was ended here stays ended.
      const ended = (await deps.sessions.lastEnded(act.place.key)) ?? 0;
      return history.filter((message) => message.at > ended);
    }
    const place = {
      platform: first.platform,
      chatId: first.chat.id,
      ...(first.threadId === undefined ? {} : { threadId: first.threadId }),
      sessionId: session.id,
      beforeInboxId: Math.min(...act.inboxIds),
    };
    const heard = await deps.care.overheard(place, clock.now() - overheardMs, limit);
    return heard.map((one) => ({ ...one, attachments: [] }));
  } catch (error) {
    logger.warn({ error: errorText(error) }, "earlier messages could not be read; the turn goes on without them");
    return [];
  }
}

function limited<T>(clock: Clock, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.after(historyLimitMs, () => reject(new Error("history took too long")));
    work.then(resolve, reject).finally(cancel);
  });
}
