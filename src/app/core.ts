/**
 * What the gateway and a worker have in common: stores, model, agent, features, reviews and the job handlers. Only the
 * gateway process adds platforms to it.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { secretsOf } from "../../config/secrets.js";
import { Agent } from "../agent/agent.js";
import type { RenderedPart } from "../domain/message.js";
import { Gate } from "../gateway/gate.js";
import { createTitleHandler } from "../learning/title.js";
import { MediaFiles } from "../media/media-files.js";
import { createStretchHandler } from "../recall/stretch-job.js";
import type { Handovers } from "../ports/handovers.js";
import type { JobHandlers, JobLedger } from "../ports/job-queue.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import { createRedactor } from "../safety/redact.js";
import type { Database } from "../storage/database.js";
import { createHandovers } from "../storage/handovers.js";
import { createJobLedger } from "../storage/job-ledger.js";
import { createLearningStore } from "../storage/learning.js";
import { createStores, type Stores } from "../storage/stores.js";
import { buildFeatures, type Features } from "./features.js";
import { assumedWindowTokens, createHandoverHandler } from "./handover-job.js";
import { buildLearning, type Learning } from "./learning.js";
import { buildModels, type Models } from "./models.js";
import { buildProvider, type ExternalMemory } from "./provider.js";

export interface CoreDeps {
  readonly config: GatewayConfig;
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** `platform:id` of accounts that are operators beside the configured ones (the terminal's own). */
  readonly operators: readonly string[];
  /** Markdown to parts of a platform, for rows in the outbox; empty for a platform that is not configured. */
  readonly render: (platform: string, markdown: string) => readonly RenderedPart[];
  /** After rows or intents were stored outside of a turn's commit. */
  readonly wake?: () => void;
}

export interface Core {
  readonly stores: Stores;
  readonly mediaFiles: MediaFiles;
  readonly handovers: Handovers;
  readonly models: Models;
  readonly agent: Agent;
  readonly features: Features;
  readonly gate: Gate;
  readonly ledger: JobLedger;
  readonly learning: Learning;
  readonly external: ExternalMemory;
  readonly handlers: JobHandlers;
  /** Takes secrets out of a text that is shown. */
  readonly redact: (text: string) => string;
}

export function buildCore(deps: CoreDeps): Core {
  const { config, db, clock, ids, logger } = deps;
  const redactor = createRedactor({ secrets: secretsOf(config) });
  const redact = (value: string): string => redactor.text(value);
  const stores = createStores({ db, clock, ids });
  const ledger = withoutSecrets(createJobLedger({ db }), redact);
  const handovers = createHandovers({ db, ids });
  const mediaFiles = new MediaFiles({ dataDir: config.data.dir, clock, ids });
  const modelDeps = { clock, ids, logger, redact, imageUrl: mediaFiles.dataUrl.bind(mediaFiles) };
  const models = buildModels(config, modelDeps);
  const external: ExternalMemory = buildProvider({
    ...deps,
    stores,
    ledger,
    entries: (owner) => features.memory.entries(owner),
    wake: () => deps.wake?.(),
  });
  const features: Features = buildFeatures({
    config,
    db,
    stores,
    clock,
    logger,
    external,
    history: (sessionId) => handovers.history(sessionId),
    aux: models.aux,
  });
  const agent = new Agent({ model: models.main, tools: features.tools, redact });
  const gate = new Gate({
    rules: {
      mode: config.access.mode,
      operators: new Set([...config.access.operators, ...deps.operators]),
      users: new Set(config.access.users),
      groups: new Set(config.access.groups),
      bots: new Set(config.access.bots),
    },
  });
  const learning = buildLearning({
    config,
    stores,
    ledger,
    handovers,
    agent,
    features,
    gate,
    clock,
    logger,
    store: createLearningStore({ db, ids }),
    render: deps.render,
  });
  const handlers: JobHandlers = {
    review: learning.review,
    stretch: createStretchHandler({ index: features.search }),
    ...external.handlers,
    handover: createHandoverHandler({
      handovers,
      sessions: stores.sessions,
      turns: stores.turns,
      side: models.side,
      windowTokens: config.model.contextTokens ?? assumedWindowTokens,
      givesWay: config.model.parallel === 1,
      beforeCompress: external.beforeCompress,
      render: deps.render,
      language: config.ui.language,
      wake: () => deps.wake?.(),
      clock,
      logger,
    }),
    title: createTitleHandler({ sessions: stores.sessions, aux: models.side.model, model: models.side.id }),
  };
  return { stores, handovers, mediaFiles, models, agent, features, gate, ledger, learning, external, handlers, redact };
}

/** What a job failed of is shown by `mneme jobs` and kept for months. */
function withoutSecrets(ledger: JobLedger, redact: (text: string) => string): JobLedger {
  return { ...ledger, release: (id, fence, outcome) => ledger.release(id, fence, { ...outcome, error: redact(outcome.error) }) };
}
