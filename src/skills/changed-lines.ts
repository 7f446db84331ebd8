/** What a change took out and put in, line by line, for the log that people read. Pure; not a patch format. */
import type { SkillFileChange } from "../ports/skill-log.js";
import { cut } from "./skill.js";

export interface ChangedLines {
  readonly path: string;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

const lineLength = 160;

/** At most `limit` lines per side of each file. Files without their text have no lines. */
export function changedLines(files: readonly SkillFileChange[], limit: number): ChangedLines[] {
  return files.map(({ path, before, after }) => {
    const old = linesOf(before);
    const fresh = linesOf(after);
    return { path, removed: only(old, fresh, limit), added: only(fresh, old, limit) };
  });
}

function linesOf(bytes: Uint8Array | undefined): string[] {
  return bytes === undefined ? [] : Buffer.from(bytes).toString("utf8").split(/\r?\n/u);
}

function only(lines: readonly string[], other: readonly string[], limit: number): string[] {
  const known = new Set(other);
  const found = lines.filter((line) => line.trim() !== "" && !known.has(line)).map((line) => cut(line.trim(), lineLength));
  return found.length <= limit ? found : [...found.slice(0, limit - 1), `… ${found.length - limit + 1}`];
}
