/** The lanes with their two words to people: the queue is full, and the sign that a waiting message was received. */
import type { GatewayConfig } from "../../config/schema.js";
import type { Channels } from "../gateway/channels.js";
import { Lanes, type LanesDeps } from "../gateway/lanes.js";
import type { Replies } from "../gateway/replies.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Inbox } from "../ports/mailbox.js";
import { languageOf, text } from "../words/catalogue.js";
import type { People } from "./people.js";

export interface LaneDeps {
  readonly config: GatewayConfig;
  readonly inbox: Inbox;
  readonly channels: Channels;
  readonly replies: Replies;
  readonly people: Pick<People, "busyModeOf">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wake: () => void;
  readonly runTurn: LanesDeps["runTurn"];
}

/** How often somebody is told that the queue is full, in milliseconds. */
const sayEveryMs = 60_000;

export function buildLanes({ config, inbox, channels, replies, people, clock, logger, wake, runTurn }: LaneDeps): Lanes {
  const { turns, sessions, ui } = config;
  const told = new Map<string, number>();
  return new Lanes({
    limits: { concurrency: turns.concurrency, perPerson: turns.perPerson, queueLimit: sessions.queueLimit, joinMs: turns.joinMs },
    busyMode: (act) => people.busyModeOf(act),
    clock,
    logger,
    runTurn,
    refuse: (act) => {
      const last = act.messages.at(-1);
      if (last === undefined) return;
      const said = text(languageOf(ui.language, [last.text]), "queue.full", { count: sessions.queueLimit });
      const outbox = isSaidAnew(told, `${act.place.key}|${act.speaker.accountId}`, clock.now()) ? replies.rows(last.route, said) : [];
      inbox
        .settle(act.inboxIds, "refused", { reason: "queue full", outbox })
        .then(wake, (error: unknown) => logger.error({ error }, "a refusal could not be stored"));
    },
    queued: (act) => {
      const last = act.messages.at(-1);
      const adapter = channels.get(act.speaker.platform)?.adapter;
      if (last === undefined || adapter?.capabilities.reactions !== true) return;
      adapter
        .react(last.chat.id, last.messageId, "👀", AbortSignal.timeout(10_000))
        .catch((error: unknown) => logger.debug({ error }, "a waiting message could not be marked"));
    },
  });
}

/** Said once a minute: one answer to each message of a burst would fill the chat, and the real answer would come after all of them. */
function isSaidAnew(told: Map<string, number>, who: string, now: number): boolean {
  for (const [other, at] of told) if (now - at >= sayEveryMs) told.delete(other);
  if (told.has(who)) return false;
  told.set(who, now);
  return true;
}
