/**
 * The six changes of a skill as pure rules: what a folder holds, what is wanted → what it shall hold, or why not. A
 * refusal names what to do instead; nothing is written here.
 */
import { scan, scanMessage } from "../safety/scan.js";
import type { FileChanges, FolderState } from "./folder-files.js";
import { patchText } from "./patch.js";
import {
  checkSkill,
  codePoints,
  hasProperHeader,
  isStorable,
  readSkill,
  skillTextLimit,
  supportingFileLimit,
  withCategory,
} from "./skill.js";

export type SkillChange =
  | { readonly action: "create"; readonly content: string; readonly category?: string }
  | { readonly action: "edit"; readonly content: string }
  | {
      readonly action: "patch";
      readonly path: string;
      readonly oldString: string;
      readonly newString: string;
      readonly replaceAll: boolean;
    }
  | { readonly action: "delete" }
  | { readonly action: "write_file"; readonly path: string; readonly content: string }
  | { readonly action: "remove_file"; readonly path: string };

export type Decided =
  | { readonly ok: true; readonly changed: false; readonly message: string }
  | { readonly ok: true; readonly changed: true; readonly files: FileChanges; readonly message: string }
  | { readonly ok: false; readonly error: string; readonly near?: readonly string[] };

export interface ChangeRules {
  /** A review may improve a skill, not replace it. */
  readonly gentle: boolean;
}

const skillMd = "SKILL.md";
/** Share of a text's lines that a gentle change must keep, from this many lines on. */
const keptShare = 0.5;
const fewLines = 10;

/** What a change makes of a skill's files. */
export function decideChange(name: string, state: FolderState, change: SkillChange, rules: ChangeRules): Decided {
  const text = skillText(state);
  switch (change.action) {
    case "create":
      return create(name, state, text, change);
    case "edit":
      return text === undefined ? missing(name) : rewrite(name, text, ending(change.content), rules);
    case "patch":
      return text === undefined ? missing(name) : patch(name, state, change, rules);
    case "delete":
      return text === undefined ? missing(name) : remove(state);
    case "write_file":
      return text === undefined ? missing(name) : writeFile(state, change, rules);
    case "remove_file":
      return text === undefined ? missing(name) : removeFile(state, change.path);
    default:
      return change satisfies never;
  }
}

/** SKILL.md of a folder, or undefined when it is not there or no text. */
export function skillText(state: FolderState): string | undefined {
  return textIn(state, skillMd);
}

function create(name: string, state: FolderState, text: string | undefined, change: Extract<SkillChange, { action: "create" }>): Decided {
  const sorted = change.category === undefined ? { text: change.content } : withCategory(change.content, change.category);
  if ("error" in sorted) return refusal(sorted.error);
  const content = ending(sorted.text);
  if (text !== undefined) {
    if (text.trimEnd() === content.trimEnd()) return unchanged("This very skill exists already: nothing had to change.");
    return refusal(`A skill called ${name} exists already. Patch it (skill_view shows it), or choose another name.`);
  }
  if (state.files.size > 0 || state.untracked > 0) {
    return refusal(`A folder called ${name} without a readable SKILL.md is in the way; choose another name.`);
  }
  const objection = skillError(name, content, undefined);
  return objection === undefined ? written(skillMd, content, "Created.") : refusal(objection);
}

function rewrite(name: string, text: string, content: string, rules: ChangeRules): Decided {
  if (text === content) return unchanged("The text is the same: nothing had to change.");
  const objection = skillError(name, content, text) ?? tooMuch(text, content, rules);
  return objection === undefined ? written(skillMd, content, "Rewritten.") : refusal(objection);
}

function patch(name: string, state: FolderState, change: Extract<SkillChange, { action: "patch" }>, rules: ChangeRules): Decided {
  const before = textIn(state, change.path);
  if (before === undefined) return refusal(`${change.path} is not a text file of this skill. ${listed(state)}`);
  const patched = patchText(before, change.oldString, change.newString, change.replaceAll);
  if (!patched.ok) return { ok: false, error: patched.error, ...(patched.near.length === 0 ? {} : { near: patched.near }) };
  const objection =
    (change.path === skillMd ? skillError(name, patched.text, before) : fileError(patched.text, before)) ??
    tooMuch(before, patched.text, rules);
  if (objection !== undefined) return refusal(objection);
  return written(change.path, patched.text, patched.count === 1 ? "Patched." : `Patched in ${patched.count} places.`);
}

function remove(state: FolderState): Decided {
  const lost = [...state.files.values()].some((file) => file.bytes === undefined);
  if (state.untracked > 0 || lost) {
    return refusal(
      "The folder holds hidden files, links or very large files, which could not be brought back: only an operator can delete it.",
    );
  }
  return { ok: true, changed: true, files: new Map([...state.files.keys()].map((path) => [path, undefined])), message: "Deleted." };
}

function writeFile(
  state: FolderState,
  { path, content }: { readonly path: string; readonly content: string },
  rules: ChangeRules,
): Decided {
  const before = textIn(state, path);
  if (before === undefined && state.files.has(path)) return refusal(`${path} is no text file; it cannot be overwritten.`);
  if (before === content) return unchanged("The file is the same: nothing had to change.");
  const objection = fileError(content, before) ?? (before === undefined ? undefined : tooMuch(before, content, rules));
  return objection === undefined ? written(path, content, "Written.") : refusal(objection);
}

function removeFile(state: FolderState, path: string): Decided {
  const file = state.files.get(path);
  if (file === undefined) return refusal(`There is no ${path} in this skill. ${listed(state)}`);
  if (file.bytes === undefined) return refusal(`${path} is too large to be brought back: only an operator can remove it.`);
  return { ok: true, changed: true, files: new Map([[path, undefined]]), message: "Removed." };
}

/** What speaks against a SKILL.md. One that was no proper YAML before (written for another agent) may stay so. */
function skillError(name: string, content: string, before: string | undefined): string | undefined {
  const parsed = checkSkill(content, name);
  if (!parsed.ok && !(before !== undefined && isNoWorse(name, content, before))) return parsed.error;
  return scanError(content, before);
}

function isNoWorse(name: string, content: string, before: string): boolean {
  const wasProper = checkSkill(before, name).ok;
  const staysReadable = readSkill(content, name).ok && (hasProperHeader(content) || !hasProperHeader(before));
  return !wasProper && staysReadable && isStorable(content) && codePoints(content) <= Math.max(skillTextLimit, codePoints(before));
}

function fileError(content: string, before: string | undefined): string | undefined {
  if (!isStorable(content)) return "The content holds characters that no text file can hold.";
  const size = Buffer.byteLength(content);
  if (size > supportingFileLimit) return `The file has ${size} bytes, ${supportingFileLimit} are allowed.`;
  return scanError(content, before);
}

/** An operator's skill may hold what the scan refuses; a change must then at least bring nothing new of that kind. */
function scanError(content: string, before: string | undefined): string | undefined {
  const result = scan(content, "skill");
  if (result.ok) return undefined;
  if (before === undefined || scan(before, "skill").ok) return scanMessage(result.reason);
  const old = new Set(before.split("\n"));
  const fresh = content.split("\n").filter((line) => !old.has(line));
  const again = scan(fresh.join("\n"), "skill");
  return again.ok ? undefined : scanMessage(again.reason);
}

function tooMuch(before: string, after: string, { gentle }: ChangeRules): string | undefined {
  const lines = before.split("\n").filter((line) => line.trim() !== "");
  if (!gentle || lines.length < fewLines) return undefined;
  const kept = new Set(after.split("\n"));
  if (lines.filter((line) => kept.has(line)).length >= lines.length * keptShare) return undefined;
  return "A review may not replace more than half of a text: patch only what proved wrong or is missing.";
}

function textIn(state: FolderState, path: string): string | undefined {
  const bytes = state.files.get(path)?.bytes;
  if (bytes === undefined) return undefined;
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : undefined;
}

function listed(state: FolderState): string {
  return `Its files: ${[...state.files.keys()].slice(0, 30).join(", ")}.`;
}

function ending(content: string): string {
  return `${content.trimEnd()}\n`;
}

function written(path: string, content: string, message: string): Decided {
  return { ok: true, changed: true, files: new Map([[path, Buffer.from(content, "utf8")]]), message };
}

function unchanged(message: string): Decided {
  return { ok: true, changed: false, message };
}

function refusal(error: string): Decided {
  return { ok: false, error };
}

function missing(name: string): Decided {
  return refusal(`There is no skill called ${name} here. skills_list shows all of them.`);
}
