/** Turns that were running when the last process ended, as handles of this one. Their words and route are in their row. */
import { originOf } from "../domain/identity.js";
import type { InboundMessage } from "../domain/message.js";
import type { Clock } from "../ports/runtime.js";
import type { Session, Sessions, TurnRow, Turns } from "../ports/stores.js";
import type { Channels } from "./channels.js";
import { RunningTurn } from "./running-turn.js";

/** Oldest first; each continues from its journal. */
export async function unfinishedTurns(deps: {
  readonly channels: Channels;
  readonly turns: Turns;
  readonly sessions: Sessions;
  readonly clock: Clock;
}): Promise<RunningTurn[]> {
  const recovered: RunningTurn[] = [];
  for (const turn of await deps.turns.unfinished()) {
    const session = await deps.sessions.byId(turn.sessionId);
    // A platform that is switched off now keeps its turn until it is back.
    if (session === undefined || deps.channels.get(session.platform) === undefined) continue;
    recovered.push(
      new RunningTurn({
        now: deps.clock.now(),
        recovered: turn,
        act: {
          inboxIds: turn.inboxIds,
          messages: [messageOf(turn, session)],
          speaker: turn.speaker,
          place: { key: session.key, spaceId: session.spaceId, spaceKind: session.spaceKind, origin: session.origin },
          receivedAt: turn.startedAt,
        },
      }),
    );
  }
  return recovered;
}

function messageOf(turn: TurnRow, session: Session): InboundMessage {
  const { speaker } = turn;
  const chat = { id: session.chatId, kind: session.chatKind };
  return {
    kind: "message",
    platform: speaker.platform,
    botId: "",
    key: `turn:${turn.id}:${originOf({ platform: speaker.platform, chat, accountId: speaker.accountId })}`,
    account: { id: speaker.accountId, displayName: speaker.displayName, isBot: false },
    chat,
    ...(session.threadId === undefined ? {} : { threadId: session.threadId }),
    at: turn.startedAt,
    messageId: turn.route.replyTo ?? "",
    text: turn.said,
    attachments: [],
    route: turn.route,
  };
}
