/**
 * The features the settings switch on, as tools and prompt layers for the agent. The agent knows none of them; they
 * know nothing of each other.
 */
import type { GatewayConfig } from "../../config/schema.js";
import type { Layer } from "../agent/agent.js";
import type { Tool } from "../agent/tool.js";
import { accountKey, type Speaker } from "../domain/identity.js";
import { memoryGuidance } from "../memory/guidance.js";
import { MemoryFiles } from "../memory/memory-files.js";
import { savedMemory } from "../memory/notice.js";
import { mergePending } from "../memory/pending.js";
import { renderSnapshot } from "../memory/snapshot.js";
import { parseEntries, usageOf } from "../memory/entries.js";
import { createMemoryTool } from "../memory/tool.js";
import type { DescribeSaved } from "../learning/saved.js";
import type { ClaimedJob } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { MemoryOwner, Session } from "../ports/stores.js";
import type { Stores } from "../storage/stores.js";

export interface Features extends FeatureLife {
  readonly tools: readonly Tool[];
  readonly layers: readonly ((session: Session) => Promise<readonly Layer[]>)[];
  readonly memory: MemoryFiles;
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
  readonly stores: Stores;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function buildFeatures(deps: FeatureDeps): Features {
  const { config, stores, clock } = deps;
  const switches = { user: config.memory.userProfileEnabled, memory: config.memory.enabled };
  const files = new MemoryFiles({
    dataDir: config.data.dir,
    log: stores.memoryLog,
    clock,
    limits: { user: config.memory.userCharLimit, memory: config.memory.memoryCharLimit },
  });
  const memoryTool = createMemoryTool({ files, clock, switches, ownTexts: [] });
  return {
    start: async () => undefined,
    stop: async () => undefined,
    tools: memoryTool === undefined ? [] : [memoryTool],
    layers: [(session) => memoryLayers(files, switches, session, deps.logger)],
    memory: files,
    memorySwitches: switches,
    ownersOf: (session) => ownersOf(switches, session),
    reviewTools: { memory: memoryTool === undefined ? [] : [memoryTool.name], skills: [] },
    describeSaved: (call, result) => savedMemory(call, result),
    takeBack: async (job) => void (await files.takeBack(job.id, { origin: "review", guard: { jobId: job.id, fence: job.fence }, jobId: job.id })),
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
  const sources = ownersOf(switches, session).map((owner) => [owner.target, { text: files.read(owner), limit: files.limit(owner) }] as const);
  const snapshot = renderSnapshot(Object.fromEntries(sources));
  for (const left of snapshot.leftOut) logger.warn(left, "a memory entry is left out of the prompt; it stays in its file");
  return [
    { id: "memory", text: snapshot.text },
    { id: "guidance-memory", text: memoryGuidance(switches) },
  ];
}
