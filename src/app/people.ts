/**
 * What concerns people and places, wired: time zones, choices per chat, ends of conversations, rights, profiles in groups, usage. The stores of
 * these are built here too.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { isGroup } from "../domain/identity.js";
import type { InboundMessage } from "../domain/message.js";
import type { Act } from "../gateway/acts.js";
import { Budgets } from "../gateway/budgets.js";
import type { Channel } from "../gateway/channels.js";
import { ChatSettings, type ChatPlace } from "../gateway/chat-settings.js";
import { earlierMessages, overheardMs } from "../gateway/earlier.js";
import type { BusyMode } from "../gateway/lanes.js";
import { resetReason, slotOf } from "../gateway/reset.js";
import { TimeZones } from "../gateway/time-zones.js";
import { toolDenial } from "../gateway/tool-rights.js";
import type { HistoryMessage } from "../ports/platform-adapter.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { SessionCare } from "../ports/session-care.js";
import type { Session, TurnRow } from "../ports/stores.js";
import type { UsageStore } from "../ports/usage.js";
import type { ChatChoice } from "../storage/chat-choices.js";
import type { Database } from "../storage/database.js";
import { createSessionCare } from "../storage/session-care.js";
import type { Stores } from "../storage/stores.js";
import { createUsageStore } from "../storage/usage.js";
import type { Features } from "./features.js";

export interface PeopleDeps {
  readonly config: GatewayConfig;
  readonly db: Database;
  readonly stores: Stores;
  readonly features: Features;
  readonly chosen: readonly ChatChoice[];
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface People {
  readonly care: SessionCare;
  readonly usage: UsageStore;
  readonly zones: TimeZones;
  readonly chats: ChatSettings;
  readonly budgets: Budgets;
  readonly timeZoneOf: (act: Act) => Promise<string>;
  readonly busyModeOf: (act: Act) => BusyMode;
  /** Names of the only skills that may be used where a message was written; undefined = all. */
  readonly skillsOf: (message: InboundMessage) => Promise<readonly string[] | undefined>;
  readonly zoneOfSession: (session: Session) => Promise<string>;
  readonly placeOf: (session: Session) => Promise<ChatPlace>;
  readonly resetDue: (session: Session) => Promise<string | undefined>;
  readonly earlier: (
    act: Act,
    session: { readonly id: string; readonly isNew: boolean },
    channel: Channel,
  ) => Promise<readonly HistoryMessage[]>;
  readonly permit: (tool: { readonly name: string }, turn: TurnRow) => string | undefined;
  /** Once an hour: overheard words that are a day old are removed. */
  readonly upkeep: () => Promise<void>;
}

export function buildPeople(deps: PeopleDeps): People {
  const { config, db, stores, clock, logger } = deps;
  const care = createSessionCare({ db });
  const usage = createUsageStore({ db });
  const zones = new TimeZones({ overlay: stores.overlay, standard: config.timezone });
  const { chosen } = deps;
  const chats = new ChatSettings({
    overlay: stores.overlay,
    configured: config.chats,
    model: config.model.id ?? "",
    busyMode: config.sessions.busyMode,
    chosen,
  });
  const zoneOfSession = (session: Session): Promise<string> => zones.of({ chatKind: session.chatKind, personId: session.personId });
  const hasPlaces = Object.keys(config.chats).length > 0;
  return {
    care,
    usage,
    zones,
    chats,
    budgets: new Budgets({ usage, prices: config.prices, budgets: config.budgets, timeZone: config.timezone, clock }),
    timeZoneOf: (act) => {
      const last = act.messages.at(-1);
      const place = { chatKind: last?.chat.kind ?? "dm", personId: act.speaker.personId };
      return zones.of(place, last?.timeZone);
    },
    busyModeOf: (act) => {
      const { platform } = act.speaker;
      const last = act.messages.at(-1);
      if (last === undefined) return config.sessions.busyMode;
      const { chat, threadId } = last;
      return chats.busyModeOf({ platform, chatId: chat.id, threadId, parentId: chat.parentId, containerId: chat.containerId });
    },
    skillsOf: async ({ platform, chat, threadId }) =>
      chats.skillsOf({ platform, chatId: chat.id, threadId, parentId: chat.parentId, containerId: chat.containerId }),
    zoneOfSession,
    placeOf: async ({ platform, chatId, threadId, chatKind }) => {
      const own = { platform, chatId, threadId };
      if (!hasPlaces || !isGroup(chatKind)) return own;
      const chat = await stores.access.chat(platform, chatId);
      return { ...own, parentId: chat?.parentId, containerId: chat?.containerId };
    },
    resetDue: async (session) => {
      const rules = config.sessions.reset;
      if (rules.mode === "none") return undefined;
      const timeZone = await zoneOfSession(session);
      const lastSlot = await stores.overlay.get(`lane:${session.key}`, "daily-slot");
      const reason = resetReason(rules, session, clock.now(), { timeZone, lastSlot });
      if (reason === "daily") await stores.overlay.set(`lane:${session.key}`, "daily-slot", slotOf(clock.now(), rules.dailyHour, timeZone));
      return reason;
    },
    earlier: (act, session, channel) =>
      earlierMessages(
        { care, sessions: stores.sessions, contextMessages: config.groups.contextMessages, clock, logger },
        act,
        session,
        channel,
      ),
    permit: (tool, turn) =>
      toolDenial(config.access.roles, turn.speaker.role, { name: tool.name, isBuiltin: !deps.features.mcp.isMcpTool(tool.name) }),
    upkeep: async () => void (await care.forgetOverheard(clock.now() - overheardMs)),
  };
}
