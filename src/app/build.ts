/**
 * Composition root: settings → wired gateway. Every choice of implementation is an `if` here or in the files beside it;
 * nothing connects before `start`.
 */
import { join } from "node:path";
import type { GatewayConfig } from "../../config/schema.js";
import { accessCommands } from "../commands/access.js";
import { conversationCommands } from "../commands/conversation.js";
import { searchCommands } from "../commands/search.js";
import { skillCommands } from "../commands/skills.js";
import { knowledgeCommands, ownersFor } from "../commands/knowledge.js";
import { ActJoiner } from "../gateway/acts.js";
import { Channels } from "../gateway/channels.js";
import { ChatChanges } from "../gateway/chat-changes.js";
import { CommandRunner } from "../gateway/commands.js";
import { Delivery } from "../gateway/delivery.js";
import { Lanes } from "../gateway/lanes.js";
import { Pairing } from "../gateway/pairing.js";
import { Pipeline } from "../gateway/pipeline.js";
import { Replies } from "../gateway/replies.js";
import { SessionBook } from "../gateway/sessions.js";
import { Supervisor } from "../gateway/supervisor.js";
import { TurnRunner } from "../gateway/turn.js";
import type { PlatformAdapter } from "../ports/platform-adapter.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import { readChatChoices, type ChatChoice } from "../storage/chat-choices.js";
import { openDatabase } from "../storage/database.js";
import { lockDataFolder } from "../storage/data-folder.js";
import { languageOf, text } from "../words/catalogue.js";
import { buildCore } from "./core.js";
import { Gateway } from "./gateway.js";
import { HttpServer } from "./http.js";
import { gatewayJobs } from "./jobs.js";
import { menuState } from "./menu.js";
import { Monitor } from "./monitor.js";
import { buildPeople } from "./people.js";
import { peopleCommands } from "./people-commands.js";
import { freezePrompt, promptVersion } from "./prompt-layers.js";

export interface BuildOptions {
  readonly config: GatewayConfig;
  readonly adapters: readonly PlatformAdapter[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** `platform:id` of accounts that are operators beside the configured ones (the terminal's own). */
  readonly operators?: readonly string[];
  /** False: no health and metrics over HTTP (a terminal session beside a gateway would take its port). */
  readonly serve?: boolean;
}

/** One tool result, in characters. */
const toolResultChars = 50_000;
/** Of a window whose size nobody knows, in tokens. */
const assumedContextTokens = 128_000;
const charactersPerToken = 4;

/** Opens the data folder (one gateway per folder) and wires everything. Rejects with StoreError when the folder cannot be used. */
export async function buildGateway(options: BuildOptions): Promise<Gateway> {
  const { config, clock, ids, logger, adapters } = options;
  const lock = lockDataFolder(config.data.dir);
  if (!lock.isPrivate) logger.warn({ dir: config.data.dir }, "other users of this machine may read the data folder; set its mode to 0700");
  try {
    const db = await openDatabase({ file: join(config.data.dir, "mneme.db"), logger, clock });
    const chosen = await readChatChoices(db);
    return wire(options, { db, lock, channels: new Channels({ adapters, now: () => clock.now() }), ids, chosen });
  } catch (error) {
    lock.release();
    throw error;
  }
}

type Opened = Readonly<{
  db: Awaited<ReturnType<typeof openDatabase>>;
  lock: ReturnType<typeof lockDataFolder>;
  channels: Channels;
  ids: Ids;
  chosen: readonly ChatChoice[];
}>;

function wire(options: BuildOptions, { db, lock, channels, ids, chosen }: Opened): Gateway {
  const { config, clock, logger, adapters } = options;
  const core = buildCore({
    config,
    db,
    clock,
    ids,
    logger,
    operators: options.operators ?? [],
    render: (platform, markdown) => channels.get(platform)?.adapter.render(markdown) ?? [],
    wake: () => wake(),
  });
  const { stores, models, agent, features, gate, learning, external } = core;
  const { inbox, outbox, sessions, turns, access } = stores;
  const jobs = gatewayJobs({ config, db, ledger: core.ledger, handlers: core.handlers, clock, ids, logger });
  const people = buildPeople({ config, db, stores, features, chosen, clock, logger });
  const language = config.ui.language;
  const modelId = config.model.id ?? "";

  const delivery = new Delivery({ outbox, access, sessions, channels, clock, logger, expireMs: config.delivery.expireHours * 3_600_000, onSent: (row) => monitor.sent(row) });
  const wake = (): void => {
    delivery.wake();
    jobs.wake();
  };
  const replies = new Replies({ channels, outbox, wake });
  const pairing = new Pairing({ access, clock });
  const book = new SessionBook({
    sessions,
    clock,
    ids,
    logger,
    promptVersion,
    modelOf: async (session) => people.chats.modelOf(await people.placeOf(session)),
    promptCacheMs: config.agent.promptCacheMinutes * 60_000,
    freeze: async (session) => {
      const place = await people.placeOf(session);
      return freezePrompt(
        {
          agent,
          channels,
          clock,
          logger,
          dataDir: config.data.dir,
          timeZone: await people.zoneOfSession(session),
          model: people.chats.modelOf(place),
          instructions: people.chats.instructionsOf(place),
          identity: config.agent,
          features: features.layers,
        },
        session,
      );
    },
    resetDue: (session) => people.resetDue(session),
    onRebuild: (session) => learning.flushNow(session),
    onEnd: async (session) => [...(await learning.flush(session)), ...external.endIntents(session)],
  });
  const runner = new TurnRunner({
    turns,
    sessions,
    outbox,
    book,
    agent,
    channels,
    clock,
    ids,
    logger,
    language,
    timeZone: people.timeZoneOf,
    earlier: people.earlier,
    limits: {
      timeoutMs: config.turns.timeoutMs,
      maxIterations: config.agent.maxIterations,
      toolResultChars,
      turnResultChars: ((config.model.contextTokens ?? assumedContextTokens) * charactersPerToken) / 4,
    },
    progress: config.delivery.progress,
    permit: people.permit,
    decide: (session, turn, ending) => external.decide(session, turn, ending, learning.decide(session, turn, ending)),
    prepare: async (session, speaker) => (await features.mergePending(session, speaker)).map((entry) => `Memory: ${entry}`),
    tail: external.tail,
    committed: wake,
    ended: (turn) => monitor.turn(turn),
  });
  const lanes = new Lanes({
    limits: {
      concurrency: config.turns.concurrency,
      perPerson: config.turns.perPerson,
      queueLimit: config.sessions.queueLimit,
      joinMs: config.turns.joinMs,
    },
    busyMode: (act) => people.busyModeOf(act),
    clock,
    logger,
    runTurn: (turn) => runner.run(turn),
    refuse: (act) => {
      const last = act.messages.at(-1);
      if (last === undefined) return;
      const said = text(languageOf(language, [last.text]), "queue.full", { count: config.sessions.queueLimit });
      inbox
        .settle(act.inboxIds, "refused", { reason: "queue full", outbox: replies.rows(last.route, said) })
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
  const joiner = new ActJoiner({ clock, release: (act) => lanes.submit(act) });
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
        wake,
        timeZone: config.timezone,
        model: modelId,
        runner: () => commands,
        memoryUsage: async (context) => {
          const usages = ownersFor(context, features.memorySwitches).map((owner) => [owner.target, features.usage(owner)] as const);
          return Object.fromEntries(usages);
        },
        operatorLines: async (context) =>
          supervisor.states().map((state) =>
            text(context.language, "status.platform", {
              platform: state.platform,
              state: state.ok ? "ok" : (state.lastError ?? state.health.state),
            }),
          ),
      }),
      ...knowledgeCommands({
        files: features.memory,
        sessions,
        timeZone: config.timezone,
        enabled: features.memorySwitches,
        usage: features.usage,
      }),
      ...skillCommands({ files: features.skills.files, sessions, clock, timeZone: config.timezone, enabled: config.skills.enabled }),
      ...searchCommands({ index: features.search, sessions, timeZone: config.timezone }),
      ...accessCommands({ pairing, replies }),
      ...peopleCommands({ config, stores, people, lanes, book, learning, clock }),
    ],
  });
  const changes = new ChatChanges({ access, sessions, outbox, gate, pairing, replies, channels, clock, logger });
  const pipeline = new Pipeline({
    inbox,
    access,
    sessions,
    gate,
    commands,
    changes,
    joiner,
    lanes,
    channels,
    replies,
    clock,
    logger,
    language,
    groupScope: config.sessions.groupScope,
    limits: {
      turns,
      channels,
      clock,
      perPersonPer10Min: config.turns.perPersonPer10Min,
      overBudget: (speaker, spoken) => people.budgets.overBudget(speaker, spoken),
    },
    keepsOverheard: config.groups.contextMessages > 0,
    onWord: async () => undefined,
    onButton: async () => undefined,
  });
  const http = new HttpServer({ host: config.http.host, port: config.http.port, logger });
  const menu = commands
    .list("user")
    .map((command) => ({ name: command.name, description: text(language === "zh" ? "zh" : "en", command.help) }));
  const supervisor = new Supervisor({
    adapters,
    inbox,
    clock,
    logger,
    menu,
    receive: (events) => pipeline.receive(events),
    mount: (path, handler) => http.mount(path, handler),
    menuState: menuState(stores.overlay, menu),
  });
  const monitor = new Monitor({
    db, http, clock, logger,
    serve: options.serve ?? true,
    platforms: () => supervisor.states(),
    lanes: () => ({ running: lanes.running, oldestAt: lanes.oldestAt, stalled: lanes.stalled() }),
    ledger: core.ledger,
    queue: () => jobs.health(),
    needsWorkers: config.redis.url !== undefined,
    turnTimeoutMs: config.turns.timeoutMs,
    redact: core.redact,
  });
  return new Gateway({
    config,
    db,
    lock,
    stores,
    supervisor,
    channels,
    pipeline,
    lanes,
    joiner,
    delivery,
    http,
    model: models,
    features,
    learning,
    jobs,
    monitor,
    clock,
    logger,
  });
}
