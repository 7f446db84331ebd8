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
import { mergePending } from "../memory/pending.js";
import { renderSnapshot } from "../memory/snapshot.js";
import { parseEntries, usageOf } from "../memory/entries.js";
import { createMemoryTool } from "../memory/tool.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { MemoryOwner, Session } from "../ports/stores.js";
import type { Stores } from "../storage/stores.js";

export interface Features {
  readonly tools: readonly Tool[];
  readonly layers: readonly ((session: Session) => Promise<readonly Layer[]>)[];
  readonly memory: MemoryFiles;
  readonly memorySwitches: { readonly user: boolean; readonly memory: boolean };
  /** `72% — 990/1,375 chars`. */
  readonly usage: (owner: MemoryOwner) => string;
  /** What groups noted for this person goes into their file now; returns the entries that did. */
  readonly mergePending: (session: Session, speaker: Speaker) => Promise<readonly string[]>;
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
    tools: memoryTool === undefined ? [] : [memoryTool],
    layers: [(session) => memoryLayers(files, switches, session, deps.logger)],
    memory: files,
    memorySwitches: switches,
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
async function memoryLayers(files: MemoryFiles, switches: Features["memorySwitches"], session: Session, logger: Logger): Promise<Layer[]> {
  const notes: MemoryOwner = { target: "memory", id: session.spaceId };
  const person: MemoryOwner | undefined = session.personId === undefined ? undefined : { target: "user", id: session.personId };
  const snapshot = renderSnapshot({
    ...(switches.memory ? { memory: { text: files.read(notes), limit: files.limit(notes) } } : {}),
    ...(switches.user && person !== undefined ? { user: { text: files.read(person), limit: files.limit(person) } } : {}),
  });
  for (const left of snapshot.leftOut) logger.warn(left, "a memory entry is left out of the prompt; it stays in its file");
  return [
    { id: "memory", text: snapshot.text },
    { id: "guidance-memory", text: memoryGuidance(switches) },
  ];
}
