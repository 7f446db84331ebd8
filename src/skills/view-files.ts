/** Reads one file of a skill for the model. A path is resolved to its real end first, so no link shows what lies elsewhere. */
import { readFileSync, statSync } from "node:fs";
import { readFolder } from "./folder-files.js";
import { pathError, realInside, skillFile } from "./safe-path-files.js";
import { supportingFileLimit } from "./skill.js";

export interface SkillView {
  readonly file: string;
  readonly content: string;
  /** UTF-16 unit from which to read on, when the file is longer than one result. */
  readonly next_offset?: number;
  readonly total?: number;
  readonly files: readonly string[];
}

export interface ViewRefusal {
  readonly error: string;
  readonly files?: readonly string[];
}

/** UTF-16 units of one result. */
const pageLength = 36_000;
const listedFiles = 200;

/** `path` empty: SKILL.md. Refuses paths and links out of the folder, and files that are no text. */
export function readSkillFile(folder: string, path: string, offset: number): SkillView | ViewRefusal {
  const wanted = path === "" ? skillFile : path;
  const error = pathError(wanted, "read");
  if (error !== undefined) return { error };
  const files = [...readFolder(folder).files.keys()].sort(skillFirst).slice(0, listedFiles);
  const real = realInside(folder, wanted);
  if (real === undefined || !statSync(real).isFile()) return { error: `There is no file ${wanted} in this skill.`, files };
  if (statSync(real).size > supportingFileLimit) return { error: `${wanted} is too large to be shown.`, files };
  const text = textIn(real);
  if (text === undefined) return { error: `${wanted} is not a text file; it can be used, but not shown.`, files };
  const end = pageEnd(text, offset);
  return {
    file: wanted,
    content: text.slice(offset, end),
    ...(end < text.length ? { next_offset: end, total: text.length } : {}),
    files,
  };
}

function textIn(path: string): string | undefined {
  const bytes = readFileSync(path);
  const text = bytes.toString("utf8");
  return !text.includes("\0") && Buffer.from(text, "utf8").equals(bytes) ? text : undefined;
}

/** A page ends with a line where it can, and never inside a character. */
function pageEnd(text: string, offset: number): number {
  const most = offset + pageLength;
  if (most >= text.length) return text.length;
  const line = text.lastIndexOf("\n", most - 1) + 1;
  if (line > offset + pageLength / 2) return line;
  return /[\ud800-\udbff]/u.test(text.charAt(most - 1)) ? most - 1 : most;
}

function skillFirst(a: string, b: string): number {
  if (a === skillFile || b === skillFile) return a === skillFile ? -1 : 1;
  return a < b ? -1 : 1;
}
