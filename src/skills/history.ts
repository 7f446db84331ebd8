/**
 * Compares a skill's folder with what its events say, and turns an event around. Pure. It gives up rather than guess:
 * what was changed since, or is too large to be kept, is not brought back.
 */
import type { KnownFile, SkillAction, SkillEvent, SkillFileChange } from "../ports/skill-log.js";
import type { FileChanges, FolderState } from "./folder-files.js";

/** Why a change cannot be reversed: a file is no longer as it left it; or what was there before was not kept. */
export type UndoHindrance = "changed" | "forgotten";

const reversible: ReadonlySet<SkillAction> = new Set<SkillAction>([
  "create",
  "edit",
  "patch",
  "delete",
  "write_file",
  "remove_file",
  "share",
  "outside",
]);

/** The changes among these that may still be undone, newest first. A skill that somebody put there by hand is not ours to take away. */
export function undoable(events: readonly SkillEvent[]): SkillEvent[] {
  return events
    .filter((event) => reversible.has(event.action) && event.undoneBy === undefined && !isPutThere(event))
    .toSorted((a, b) => b.id - a.id);
}

function isPutThere({ action, files }: SkillEvent): boolean {
  return action === "outside" && files.every((file) => file.beforeHash === undefined);
}

/** True when the folder holds what the events say. */
export function sameState(known: ReadonlyMap<string, KnownFile>, state: FolderState): boolean {
  return known.size === state.files.size && [...known].every(([path, { hash }]) => state.files.get(path)?.hash === hash);
}

/** What differs between the events and the folder, as a change made by hand. */
export function outsideChanges(known: ReadonlyMap<string, KnownFile>, state: FolderState): SkillFileChange[] {
  const paths = new Set([...known.keys(), ...state.files.keys()]);
  return [...paths].flatMap((path) => {
    const before = known.get(path);
    const after = state.files.get(path);
    return before?.hash === after?.hash ? [] : [changeOf(path, before, after)];
  });
}

/** The rows of a change: what each file held, and what it will hold. `hash` of the new bytes is the caller's. */
export function withHashes(state: FolderState, files: FileChanges, hash: (bytes: Buffer) => string): SkillFileChange[] {
  return [...files].map(([path, bytes]) =>
    changeOf(path, state.files.get(path), bytes === undefined ? undefined : { hash: hash(bytes), bytes }),
  );
}

/** The files as they were before an event, or why that cannot be. */
export function restored(state: FolderState, event: SkillEvent): FileChanges | UndoHindrance {
  const files = new Map<string, Buffer | undefined>();
  for (const file of event.files) {
    if (state.files.get(file.path)?.hash !== file.afterHash) return "changed";
    if (file.beforeHash !== undefined && file.before === undefined) return "forgotten";
    files.set(file.path, file.before === undefined ? undefined : Buffer.from(file.before));
  }
  return leavesOrphans(state, files) ? "changed" : files;
}

/** Supporting files without their SKILL.md: something was added since. */
function leavesOrphans(state: FolderState, files: FileChanges): boolean {
  const left = new Set(state.files.keys());
  for (const [path, bytes] of files) {
    if (bytes === undefined) left.delete(path);
    else left.add(path);
  }
  return left.size > 0 && !left.has("SKILL.md");
}

function changeOf(path: string, before: KnownFile | undefined, after: KnownFile | undefined): SkillFileChange {
  return {
    path,
    ...(before === undefined ? {} : { beforeHash: before.hash }),
    ...(before?.bytes === undefined ? {} : { before: before.bytes }),
    ...(after === undefined ? {} : { afterHash: after.hash }),
    ...(after?.bytes === undefined ? {} : { after: after.bytes }),
  };
}
