/**
 * Keeps a copy of our memory files at the service. The job compares the file as it is with what was stored there, so edits by
 * hand, undo, forget and merges need no case of their own, and a job that ran twice or late does no harm.
 */
import { createHash } from "node:crypto";
import { GatewayError, errorText } from "../domain/errors.js";
import type { JobHandler } from "../ports/job-queue.js";
import type { MirroredEntry, ProviderPlace } from "../ports/memory-provider.js";
import type { ProviderStore } from "../ports/provider-store.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { MemoryOwner } from "../ports/memory-log.js";
import { scan } from "../safety/scan.js";
import type { ProviderGuard } from "./guard.js";

export interface MirrorDeps {
  readonly memory: ProviderGuard;
  readonly store: ProviderStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Entries of a memory file as it is now. */
  readonly entries: (owner: MemoryOwner) => readonly string[];
}

export interface MirrorHandlers {
  readonly "provider-mirror": JobHandler<"provider-mirror">;
  readonly "provider-forget": JobHandler<"provider-forget">;
}

export function createMirrorHandlers(deps: MirrorDeps): MirrorHandlers {
  return {
    "provider-mirror": async ({ payload }, { signal }) => {
      await mirror(deps, { target: payload.target, id: payload.ownerId }, signal);
      return { watermarks: [] };
    },
    "provider-forget": async ({ payload }, { signal }) => {
      await deps.memory.forgetPerson(payload, signal);
      return { watermarks: [] };
    },
  };
}

/** The same entry of the same owner has the same key. */
export function entryKey(owner: MemoryOwner, content: string): string {
  return createHash("sha256").update(`${owner.target}\n${owner.id}\n${content}`, "utf8").digest("hex").slice(0, 40);
}

export function ownerScope(owner: MemoryOwner): string {
  return `${owner.target}:${owner.id}`;
}

async function mirror(deps: MirrorDeps, owner: MemoryOwner, signal: AbortSignal): Promise<void> {
  const { memory, store } = deps;
  // Text that the scan refuses may have been edited in by hand: it stays in its file and goes nowhere.
  const contents = deps.entries(owner).filter((content) => scan(content).ok);
  const wanted = new Map(contents.map((content) => [entryKey(owner, content), content]));
  const place = placeOfOwner(owner);
  const held = await store.refs(memory.name, "entry", ownerScope(owner));
  for (const { localId: key, state, remoteIds } of held) {
    if (wanted.has(key)) continue;
    const [remoteId] = remoteIds;
    const isIt = (content: string): boolean => entryKey(owner, content) === key;
    if (state !== "refused")
      await memory.onMemoryRemove({ target: owner.target, key, isIt, ...(remoteId === undefined ? {} : { remoteId }) }, place, signal);
    await store.dropRef(memory.name, "entry", key);
  }
  const known = new Map(held.map((row) => [row.localId, row.state]));
  for (const [key, content] of wanted) {
    const state = known.get(key);
    if (state === "stored" || state === "refused") continue;
    await keep(deps, owner, { target: owner.target, content, key }, state === "sending", signal);
  }
}

async function keep(deps: MirrorDeps, owner: MemoryOwner, entry: MirroredEntry, uncertain: boolean, signal: AbortSignal): Promise<void> {
  const { memory, store, clock, logger } = deps;
  if (!uncertain) await store.beginRef(memory.name, "entry", entry.key, ownerScope(owner), clock.now());
  try {
    const remoteId = await memory.onMemoryWrite(entry, placeOfOwner(owner), uncertain, signal);
    await store.endRef(memory.name, "entry", entry.key, { state: "stored", remoteIds: remoteId === undefined ? [] : [remoteId] });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== "input.invalid") throw error;
    logger.error({ owner: ownerScope(owner), error: errorText(error) }, "the external memory refuses an entry for good; it is left out");
    await store.endRef(memory.name, "entry", entry.key, { state: "refused", remoteIds: [] });
  }
}

/** USER.md belongs to the person's own space, MEMORY.md to its space. */
function placeOfOwner(owner: MemoryOwner): ProviderPlace {
  return { sessionId: "", spaceId: owner.id, personId: owner.id, isOwnSpace: owner.target === "user", aliases: [], generation: 0 };
}
