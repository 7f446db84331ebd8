/** The commands about conversations, accounts, choices and usage, wired. */
import type { GatewayConfig } from "../../config/schema.js";
import { stopTurns } from "../commands/conversation.js";
import { sessionCommands } from "../commands/sessions.js";
import { settingsCommands } from "../commands/settings.js";
import { usageCommands } from "../commands/usage.js";
import type { Command } from "../gateway/commands.js";
import type { Lanes } from "../gateway/lanes.js";
import type { SessionBook } from "../gateway/sessions.js";
import type { Clock } from "../ports/runtime.js";
import type { Stores } from "../storage/stores.js";
import type { Learning } from "./learning.js";
import type { People } from "./people.js";

export interface PeopleCommandDeps {
  readonly config: GatewayConfig;
  readonly stores: Stores;
  readonly people: People;
  readonly lanes: Lanes;
  readonly book: SessionBook;
  readonly learning: Learning;
  readonly clock: Clock;
}

export function peopleCommands({ config, stores, people, lanes, book, learning, clock }: PeopleCommandDeps): Command[] {
  const { sessions, inbox } = stores;
  return [
    ...sessionCommands({
      sessions,
      care: people.care,
      book,
      zones: people.zones,
      clock,
      stop: (context) => stopTurns({ lanes, inbox }, context),
      savedBy: (turnId) => people.usage.savedBy(turnId),
      onUndo: async () => [],
      onEnd: (session) => learning.flush(session),
    }),
    ...usageCommands({ usage: people.usage, budgets: people.budgets, prices: config.prices, sessions, clock, timeZone: config.timezone }),
    ...settingsCommands({ chats: people.chats, models: [...new Set([config.model.id ?? "", ...config.model.choices])] }),
  ];
}
