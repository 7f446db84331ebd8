/**
 * How a space changes skills beside the ones that all share. Pure. In a person's space a shared skill is copied before it
 * is changed; a group may not put one of its own in a shared one's place, so there it stays as it is.
 */
import type { Space } from "../domain/identity.js";
import { decideChange, skillText, type ChangeRules, type SkillChange } from "./changes.js";
import type { FileChanges, FolderState } from "./folder-files.js";

export type SkillOutcome =
  | { readonly ok: true; readonly changed: boolean; readonly message: string; readonly copied: boolean }
  | { readonly ok: false; readonly error: string; readonly near?: readonly string[] };

interface SpaceChange {
  /** What the space's own folder shall hold; undefined = nothing is written. */
  readonly files?: FileChanges;
  readonly copied: boolean;
  readonly outcome: SkillOutcome;
}

export function changeInSpace(
  name: string,
  kind: Space["kind"],
  { own, shared }: { readonly own: FolderState; readonly shared: FolderState },
  change: SkillChange,
  rules: ChangeRules,
): SpaceChange {
  const concernsShared = skillText(shared) !== undefined && (kind === "group" || skillText(own) === undefined);
  if (!concernsShared) return fromRules(decideChange(name, own, change, rules));
  if (change.action === "create") {
    const asShared = decideChange(name, shared, change, rules);
    if (asShared.ok && !asShared.changed) return { copied: false, outcome: { ...asShared, copied: false } };
    return kind === "group" ? refused(sharedInGroup(name)) : fromRules(decideChange(name, own, change, rules));
  }
  if (kind === "group") return refused(sharedInGroup(name));
  if (change.action === "delete") return refused(sharedDelete);
  if ([...shared.files.values()].some((file) => file.bytes === undefined)) return refused(tooLarge);
  const decided = decideChange(name, shared, change, rules);
  if (!decided.ok || !decided.changed) return fromRules(decided);
  return { ...fromRules(decided, true), files: new Map([...copyOf(shared), ...decided.files]) };
}

/** All files of a folder whose bytes are known. */
export function copyOf(state: FolderState): [string, Buffer][] {
  return [...state.files].flatMap(([path, { bytes }]) => (bytes === undefined ? [] : [[path, bytes] as [string, Buffer]]));
}

const sharedDelete = "The skill is shared by all: only an operator can remove it. When it is patched, this space gets a copy of its own.";
const tooLarge = "The shared skill holds files that are too large to be copied here.";

function sharedInGroup(name: string): string {
  return `The skill ${name} is shared by all and cannot be changed from a group. Create one with another name, or leave it to an operator.`;
}

function fromRules(decided: ReturnType<typeof decideChange>, copied = false): SpaceChange {
  if (!decided.ok) return { copied: false, outcome: decided };
  const { changed, message } = decided;
  return {
    copied,
    outcome: { ok: true, changed, message, copied: copied && changed },
    ...(decided.changed ? { files: decided.files } : {}),
  };
}

function refused(error: string): SpaceChange {
  return { copied: false, outcome: { ok: false, error } };
}
