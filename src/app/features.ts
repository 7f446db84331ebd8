/**
 * The features the settings switch on, as tools and prompt layers for the agent. The agent knows none of them; they
 * know nothing of each other.
 */
import type { GatewayConfig } from "../../config/schema.js";
import type { Layer } from "../agent/agent.js";
import type { Tool } from "../agent/tool.js";
import { errorText } from "../domain/errors.js";
import { accountKey, type Speaker } from "../domain/identity.js";
import { memoryGuidance } from "../memory/guidance.js";
import { MemoryFiles } from "../memory/memory-files.js";
import { reviewTexts } from "../learning/instructions.js";
import { createMcpTools, type McpTools } from "../mcp/tools.js";
import { savedMemory } from "../memory/notice.js";
import { mergePending } from "../memory/pending.js";
import { renderSnapshot } from "../memory/snapshot.js";
import { parseEntries, usageOf } from "../memory/entries.js";
import { createMemoryTool } from "../memory/tool.js";
import type { DescribeSaved } from "../learning/saved.js";
import type { ChatModel } from "../ports/chat-model.js";
import type { ClaimedJob } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { SearchIndex } from "../ports/search.js";
import type { MemoryOwner } from "../ports/memory-log.js";
import type { Session, StoredEntry } from "../ports/stores.js";
import { searchGuidance } from "../recall/guidance.js";
import { createSearchTool } from "../recall/tool.js";
import { savedSkill } from "../skills/notice.js";
import type { Database } from "../storage/database.js";
import { createSearchIndex } from "../storage/search-index.js";
import { createSkillLog } from "../storage/skill-log.js";
import type { Stores } from "../storage/stores.js";
import type { ExternalMemory } from "./provider.js";
import { onlySkills, restricted } from "./chat-skills.js";
import { buildSkills, type Skills } from "./skills.js";

export interface Features extends FeatureLife {
  /** Own tools first, then those of MCP servers as they are known now. */
  readonly tools: () => readonly Tool[];
  readonly layers: readonly ((session: Session) => Promise<readonly Layer[]>)[];
  readonly memory: MemoryFiles;
  readonly skills: Skills;
  readonly search: SearchIndex;
  readonly mcp: McpTools;
  readonly memorySwitches: { readonly user: boolean; readonly memory: boolean };
  /** `72% — 990/1,375 chars`. */
  readonly usage: (owner: MemoryOwner) => string;
  /** The memory files a session's prompt may show: a DM's person and notes, a group's notes. */
  readonly ownersOf: (session: Session) => readonly MemoryOwner[];
  /** Tools a review may use, by what it may write. */
  readonly reviewTools: { readonly memory: readonly string[]; readonly skills: readonly string[] };
  readonly describeSaved: DescribeSaved;
  /** Reverses what an earlier attempt of a review wrote. */
  readonly takeBack: (job: ClaimedJob) => Promise<void>;
  /** What groups noted for this person goes into their file now; returns the entries that did. */
  readonly mergePending: (session: Session, speaker: Speaker) => Promise<readonly string[]>;
}

/** Set once at the composition root: the features that hold processes or connections. */
export interface FeatureLife {
  /** Begins to connect what is outside; never waits long and never fails the start. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface FeatureDeps {
  readonly config: GatewayConfig;
  readonly db: Database;
  readonly stores: Stores;
  /** All that the model sees of a session, also of one that continues another. */
  readonly history: (sessionId: string) => Promise<readonly StoredEntry[]>;
  /** The auxiliary model, where one is named. */
  readonly aux: ChatModel | undefined;
  readonly external: Pick<ExternalMemory, "tools" | "layers" | "written" | "close">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function buildFeatures(deps: FeatureDeps): Features {
  const { config, stores, clock, logger } = deps;
  const switches = { user: config.memory.userProfileEnabled, memory: config.memory.enabled };
  const files = new MemoryFiles({
    dataDir: config.data.dir,
    log: stores.memoryLog,
    clock,
    limits: { user: config.memory.userCharLimit, memory: config.memory.memoryCharLimit },
    written: (written) => deps.external.written(written),
  });
  const memoryTool = createMemoryTool({ files, clock, switches, ownTexts: reviewTexts });
  const memoryTools = memoryTool === undefined ? [] : [memoryTool];
  const skills = buildSkills({ dataDir: config.data.dir, log: createSkillLog({ db: deps.db }), history: deps.history, clock, logger });
  const only = onlySkills(config, stores);
  const offered = only === undefined ? skills.tools : restricted(skills.tools, only, stores.sessions);
  const skillTools = config.skills.enabled ? offered : [];
  const search = createSearchIndex({ db: deps.db });
  const recap = config.recall.recap === "on" && deps.aux !== undefined ? { aux: deps.aux } : {};
  const searchTool = createSearchTool({ index: search, logger, timeZone: config.timezone, ...recap });
  const own = [...memoryTools, ...skillTools, searchTool, ...deps.external.tools];
  const mcp = createMcpTools({ servers: config.mcp.servers, clock, logger, reserved: own.map((tool) => tool.name) });
  return {
    start: () => mcp.start(),
    stop: async () => {
      await mcp.stop();
      await search.close();
      await deps.external.close();
    },
    tools: () => [...own, ...mcp.tools()],
    layers: [
      (session) => memoryLayers(files, switches, session, logger),
      deps.external.layers,
      async (session) => (config.skills.enabled ? skills.layers(session, await only?.(session)) : []),
      async () => [{ id: "guidance-search", text: searchGuidance() }],
    ],
    memory: files,
    memorySwitches: switches,
    skills,
    search,
    mcp,
    ownersOf: (session) => ownersOf(switches, session),
    reviewTools: { memory: memoryTools.map((tool) => tool.name), skills: skillTools.map((tool) => tool.name) },
    describeSaved: (call, result) => savedMemory(call, result) ?? savedSkill(call, result),
    takeBack: async (job) => {
      const author = { origin: "review", guard: { jobId: job.id, fence: job.fence }, jobId: job.id } as const;
      await files.takeBack(job.id, author);
      await skills.files.takeBack(job.id, author);
    },
    usage: (owner) => usageOf(parseEntries(files.read(owner)), files.limit(owner)),
    mergePending: async (session, speaker) => {
      if (session.spaceKind !== "person" || !switches.user) return [];
      const { merged } = await mergePending(files, speaker.personId, {
        origin: "turn",
        guard: { none: true },
        accountKey: accountKey(speaker.platform, speaker.accountId),
        personId: speaker.personId,
        sessionId: session.id,
      });
      return merged;
    },
  };
}

/** A DM sees the person's profile and notes, a group its own notes only. */
function ownersOf(switches: Features["memorySwitches"], session: Session): MemoryOwner[] {
  const notes: MemoryOwner = { target: "memory", id: session.spaceId };
  const person: MemoryOwner[] = session.personId === undefined || !switches.user ? [] : [{ target: "user", id: session.personId }];
  return [...(switches.memory ? [notes] : []), ...person];
}

async function memoryLayers(files: MemoryFiles, switches: Features["memorySwitches"], session: Session, logger: Logger): Promise<Layer[]> {
  const sources = ownersOf(switches, session).map(
    (owner) => [owner.target, { text: readOrNothing(files, owner, logger), limit: files.limit(owner) }] as const,
  );
  const snapshot = renderSnapshot(Object.fromEntries(sources));
  for (const left of snapshot.leftOut) logger.warn(left, "a memory entry is left out of the prompt; it stays in its file");
  return [
    { id: "memory", text: snapshot.text },
    { id: "guidance-memory", text: memoryGuidance(switches) },
  ];
}

/** A file that cannot be read (damaged by an edit, say) costs its own text, not the conversation. */
function readOrNothing(files: MemoryFiles, owner: MemoryOwner, logger: Logger): string {
  try {
    return files.read(owner);
  } catch (error) {
    const { target, id } = owner;
    logger.error({ target, id, error: errorText(error) }, "a memory file cannot be read; the prompt goes without it");
    return "";
  }
}
