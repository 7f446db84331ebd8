/**
 * The one place where names and paths that a model or person gives become paths on disk. A path is followed to its real
 * end before it is opened, so that no `..` and no symbolic link leads out of the skill's folder.
 */
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { GatewayError } from "../domain/errors.js";
import type { SkillOwner } from "../ports/skill-log.js";
import { isSkillName, isStorable, supportingFolders } from "./skill.js";

export const skillFile = "SKILL.md";

const safeId = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/u;
const deepest = 6;

/** The folder that holds an owner's skills. Throws `input.invalid` for a space id that is no plain name. */
export function skillsRoot(dataDir: string, owner: SkillOwner): string {
  if (owner.scope === "shared") return join(dataDir, "skills");
  if (!safeId.test(owner.id)) throw new GatewayError("input.invalid", "The owner of a skill folder is not a valid id.");
  return join(dataDir, "spaces", owner.id, "skills");
}

/** What is wrong with a path inside a skill, or undefined. `write`: only SKILL.md is not asked for here, and the four folders are. */
export function pathError(path: string, purpose: "read" | "write"): string | undefined {
  const parts = path.split("/");
  const plain = parts.every((part) => part !== "" && !part.startsWith(".") && !/[\\:\p{Cc}\p{Cf}]/u.test(part) && part.length <= 120);
  if (!plain || isAbsolute(path) || parts.length > deepest || !isStorable(path)) {
    return "A file is named by a path inside the skill's folder, like references/notes.md: no .., no absolute path, no hidden file.";
  }
  if (purpose === "read") return undefined;
  const [folder = ""] = parts;
  if (parts.length >= 2 && (supportingFolders as readonly string[]).includes(folder)) return undefined;
  return `Supporting files live only under ${supportingFolders.map((name) => `${name}/`).join(", ")}.`;
}

/** An existing file or folder inside `folder` at its real path; undefined when it is missing or a link leads out of `folder`. */
export function realInside(folder: string, path: string): string | undefined {
  try {
    const base = realpathSync(folder);
    const real = realpathSync(join(base, path));
    return isInside(base, real) ? real : undefined;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** True when writing `path` below `folder` would follow a symbolic link at any step. */
export function crossesLink(folder: string, path: string): boolean {
  let current = folder;
  for (const part of ["", ...path.split("/")]) {
    current = join(current, part);
    const stats = statOf(current);
    if (stats === undefined) return false;
    if (stats.isSymbolicLink()) return true;
  }
  return false;
}

/** What lies at a path itself (a link is not followed); undefined when there is nothing. */
export function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Throws `input.invalid` when a name is none that a folder may have. */
export function requireName(name: string): void {
  if (!isSkillName(name)) throw new GatewayError("input.invalid", nameRule);
}

export const nameRule = "A skill's name has 1 to 64 of a-z, 0-9, dot, hyphen and underscore, and begins with a letter or digit.";

export function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"].includes(String(error.code));
}

function isInside(base: string, path: string): boolean {
  const way = relative(base, path);
  return way === "" || (!isAbsolute(way) && way !== ".." && !way.startsWith(`..${sep}`));
}
