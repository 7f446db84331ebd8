/**
 * Composition root: settings → wired gateway. Every choice of implementation is an `if` here or in the files beside it;
 * nothing connects before `start`.
 */
import { join } from "node:path";
import type { GatewayConfig } from "../../config/schema.js";
import type { NewIntent } from "../domain/job.js";
import { ActJoiner } from "../gateway/acts.js";
import { Channels } from "../gateway/channels.js";
import { ChatChanges } from "../gateway/chat-changes.js";
import { Delivery } from "../gateway/delivery.js";
import { Pairing } from "../gateway/pairing.js";
import { Pipeline } from "../gateway/pipeline.js";
import { Replies } from "../gateway/replies.js";
import { SessionBook } from "../gateway/sessions.js";
import { Supervisor } from "../gateway/supervisor.js";
import { TurnRunner } from "../gateway/turn.js";
import type { PlatformAdapter } from "../ports/platform-adapter.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import type { Session } from "../ports/stores.js";
import { readChatChoices, type ChatChoice } from "../storage/chat-choices.js";
import { openDatabase } from "../storage/database.js";
import { lockDataFolder } from "../storage/data-folder.js";
import { text } from "../words/catalogue.js";
import { buildAccounts } from "./accounts.js";
import { commandRunner } from "./commands.js";
import { Compression } from "./compression.js";
import { buildCore } from "./core.js";
import { Gateway } from "./gateway.js";
import { HttpServer } from "./http.js";
import { gatewayJobs } from "./jobs.js";
import { buildAttachments, documentChars } from "./media.js";
import { buildLanes } from "./lanes.js";
import { menuState } from "./menu.js";
import { gatewayMonitor } from "./monitor.js";
import { buildPeople } from "./people.js";
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

  const delivery = new Delivery({
    outbox,
    access,
    sessions,
    channels,
    clock,
    logger,
    expireMs: config.delivery.expireHours * 3_600_000,
    redact: core.redact,
    onSent: (row) => monitor.sent(row),
  });
  const wake = (): void => {
    delivery.wake();
    jobs.wake();
  };
  const replies = new Replies({ channels, outbox, wake, language, maxParts: config.delivery.maxParts });
  const pairing = new Pairing({ access, clock });
  const accounts = buildAccounts({
    config,
    db,
    stores,
    features,
    external,
    gate,
    channels,
    replies,
    lanes: () => lanes,
    clock,
    ids,
    logger,
  });
  const onEnd = async (session: Session): Promise<NewIntent[]> => [...(await learning.flush(session)), ...external.endIntents(session)];
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
    onEnd,
  });
  const compression = new Compression({
    config,
    handovers: core.handovers,
    turns,
    side: models.side,
    beforeCompress: external.beforeCompress,
    onEnd,
    reopen: (sessionId) => book.reopen(sessionId),
    clock,
    ids,
    logger,
  });
  const runner = new TurnRunner({
    turns,
    sessions,
    inbox,
    outbox,
    book,
    window: compression,
    agent,
    channels,
    clock,
    ids,
    logger,
    language,
    timeZone: people.timeZoneOf,
    earlier: people.earlier,
    attachments: buildAttachments({ config, files: core.mediaFiles, clock, logger, redact: core.redact }),
    limits: {
      timeoutMs: config.turns.timeoutMs,
      maxIterations: config.agent.maxIterations,
      toolResultChars,
      turnResultChars: ((config.model.contextTokens ?? assumedContextTokens) * charactersPerToken) / 4,
      documentChars: documentChars(config.model.contextTokens ?? assumedContextTokens),
      maxParts: config.delivery.maxParts,
    },
    progress: config.delivery.progress,
    permit: people.permit,
    decide: (session, turn, ending) =>
      compression.decide(session, ending, external.decide(session, turn, ending, learning.decide(session, turn, ending))),
    prepare: async (session, speaker) => (await features.mergePending(session, speaker)).map((entry) => `Memory: ${entry}`),
    tail: async (session, turn) => joined(await Promise.all([accounts.profile(session, turn), external.tail(session, turn)])),
    committed: wake,
    ended: (turn) => monitor.turn(turn),
  });
  const lanes = buildLanes({ config, inbox, channels, replies, people, clock, logger, wake, runTurn: (turn) => runner.run(turn) });
  const joiner = new ActJoiner({ clock, release: (act) => lanes.submit(act) });
  const commands = commandRunner({
    config,
    stores,
    features,
    external,
    people,
    accounts,
    pairing,
    replies,
    lanes,
    book,
    compression,
    clock,
    logger,
    wake,
    platforms: () => supervisor.states(),
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
    onWord: accounts.onWord,
    onButton: accounts.onButton,
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
  const monitor = gatewayMonitor({ config, db, http, supervisor, lanes, jobs, core, clock, logger, serve: options.serve ?? true });
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
    media: core.mediaFiles,
    features,
    people,
    accounts,
    learning,
    jobs,
    monitor,
    clock,
    logger,
  });
}

/** The texts that there are, one below the other. */
function joined(texts: readonly (string | undefined)[]): string | undefined {
  const there = texts.filter((one) => one !== undefined && one !== "");
  return there.length === 0 ? undefined : there.join("\n\n");
}
