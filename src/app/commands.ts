/** The table of commands, wired: each feature brings its own. */
import type { GatewayConfig } from "../../config/schema.js";
import { accessCommands } from "../commands/access.js";
import { compressCommands } from "../commands/compress.js";
import { conversationCommands, stopTurns } from "../commands/conversation.js";
import { knowledgeCommands, ownersFor } from "../commands/knowledge.js";
import { searchCommands } from "../commands/search.js";
import { sessionCommands } from "../commands/sessions.js";
import { settingsCommands } from "../commands/settings.js";
import { skillCommands } from "../commands/skills.js";
import { usageCommands } from "../commands/usage.js";
import { CommandRunner } from "../gateway/commands.js";
import type { Lanes } from "../gateway/lanes.js";
import type { Pairing } from "../gateway/pairing.js";
import type { Replies } from "../gateway/replies.js";
import type { SessionBook } from "../gateway/sessions.js";
import type { PlatformState } from "../gateway/supervisor.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Stores } from "../storage/stores.js";
import { text } from "../words/catalogue.js";
import type { Accounts } from "./accounts.js";
import type { Compression } from "./compression.js";
import type { Features } from "./features.js";
import type { People } from "./people.js";
import type { ExternalMemory } from "./provider.js";

export interface CommandDeps {
  readonly config: GatewayConfig;
  readonly stores: Stores;
  readonly features: Features;
  readonly external: Pick<ExternalMemory, "people" | "status">;
  readonly people: People;
  readonly accounts: Pick<Accounts, "commands">;
  readonly pairing: Pairing;
  readonly replies: Replies;
  readonly lanes: Lanes;
  readonly book: SessionBook;
  readonly compression: Pick<Compression, "ask">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wake: () => void;
  readonly platforms: () => readonly PlatformState[];
}

export function commandRunner(deps: CommandDeps): CommandRunner {
  const { config, stores, features, people, lanes, book, clock, logger } = deps;
  const { inbox, outbox, sessions, turns } = stores;
  const timeZone = config.timezone;
  const model = config.model.id ?? "";
  const commands: CommandRunner = new CommandRunner({
    logger,
    commands: [
      ...conversationCommands({
        lanes,
        book,
        sessions,
        turns,
        inbox,
        outbox,
        clock,
        wake: deps.wake,
        timeZone,
        model,
        runner: () => commands,
        memoryUsage: async (context) => {
          const usages = ownersFor(context, features.memorySwitches).map((owner) => [owner.target, features.usage(owner)] as const);
          return Object.fromEntries(usages);
        },
        operatorLines: async (context) => {
          const platforms = deps.platforms().map((state) =>
            text(context.language, "status.platform", {
              platform: state.platform,
              state: state.ok ? "ok" : (state.lastError ?? state.health.state),
            }),
          );
          const external = await deps.external.status();
          return external === undefined ? platforms : [...platforms, external];
        },
      }),
      ...sessionCommands({
        sessions,
        care: people.care,
        book,
        zones: people.zones,
        clock,
        stop: (context) => stopTurns({ lanes, inbox }, context),
        savedBy: (turnId) => people.usage.savedBy(turnId),
        undone: async (session, turnId) => (await deps.external.people?.forgetTurn(session, turnId)) === "kept",
      }),
      ...knowledgeCommands({ files: features.memory, sessions, timeZone, enabled: features.memorySwitches, usage: features.usage }),
      ...skillCommands({
        files: features.skills.files,
        sessions,
        clock,
        timeZone,
        enabled: config.skills.enabled,
        only: ({ message }) => people.skillsOf(message),
      }),
      ...searchCommands({ index: features.search, sessions, timeZone }),
      ...compressCommands({ sessions, ask: (session, asked) => deps.compression.ask(session, asked), wake: deps.wake }),
      ...usageCommands({ usage: people.usage, budgets: people.budgets, prices: config.prices, sessions, clock, timeZone }),
      ...settingsCommands({ chats: people.chats, models: [...new Set([model, ...config.model.choices])] }),
      ...accessCommands({ pairing: deps.pairing, replies: deps.replies }),
      ...deps.accounts.commands,
    ],
  });
  return commands;
}
