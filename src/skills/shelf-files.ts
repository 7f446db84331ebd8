/**
 * Which skills lie in one root folder, and what their front matter says. A look costs one stat per skill: texts are read
 * again only where size or times have changed, remembered in this process and in a snapshot on disk.
 */
import { lstatSync, readdirSync, readFileSync, type BigIntStats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { errorText } from "../domain/errors.js";
import type { Logger } from "../ports/runtime.js";
import { scan } from "../safety/scan.js";
import { writeAtomically } from "../storage/atomic-file.js";
import { hashOfBytes } from "./folder-files.js";
import { isAbsent, skillFile } from "./safe-path-files.js";
import { isSkillName, readSkill, type SkillMeta } from "./skill.js";

/** A skill as it lies on disk. */
export interface ShelvedSkill {
  /** Below the root; a skill may lie in a folder that is named like its category. */
  readonly folder: string;
  /** Changes whenever SKILL.md does. */
  readonly stamp: string;
  readonly changedAt: number;
  readonly meta: SkillMeta;
  /** The reason id of the scan, for a skill that was put here by hand. */
  readonly warning?: string;
}

interface Listed {
  readonly folder: string;
  readonly file: string;
  readonly stamp: string;
  readonly changedAt: number;
}

const snapshotName = ".index.json";
const snapshotVersion = 1;
const mostRemembered = 100;
const mostSkills = 5_000;

const metaShape = z.object({
  name: z.string(),
  description: z.string(),
  version: z.string().optional(),
  category: z.string().optional(),
  tags: z.array(z.string()),
  platforms: z.array(z.string()),
  commands: z.array(z.string()),
});
const snapshotShape = z.object({
  version: z.literal(snapshotVersion),
  skills: z.array(
    z.object({
      folder: z.string(),
      stamp: z.string(),
      meta: metaShape.optional(),
      error: z.string().optional(),
      warning: z.string().optional(),
    }),
  ),
});
type Known = z.infer<typeof snapshotShape>["skills"][number];

export interface Shelf {
  /** Equal fingerprints: no skill was added, changed or removed. */
  readonly fingerprint: string;
  skills(): readonly ShelvedSkill[];
}

export class Shelves {
  readonly #logger: Logger;
  readonly #known = new Map<string, ReadonlyMap<string, Known>>();
  /** How many SKILL.md were read, for tests and the doctor. */
  reads = 0;

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  /** Looks at a root folder now; a missing one is empty. */
  look(root: string): Shelf {
    const listed = list(root);
    const fingerprint = hashOfBytes(Buffer.from(listed.map(({ folder, stamp }) => `${folder}\n${stamp}`).join("\n\n")));
    return { fingerprint, skills: () => this.#skills(root, listed) };
  }

  #skills(root: string, listed: readonly Listed[]): ShelvedSkill[] {
    const before = this.#known.get(root) ?? this.#readSnapshot(root, listed.length > 0);
    const fresh: Known[] = [];
    const now = new Map<string, Known>();
    for (const one of listed) {
      const known = before.get(one.folder);
      const current = known?.stamp === one.stamp ? known : this.#parse(root, one);
      if (current !== known) fresh.push(current);
      now.set(one.folder, current);
    }
    this.#remember(root, now);
    if (fresh.length > 0 || before.size !== now.size) this.#writeSnapshot(root, now);
    const names = new Set<string>();
    return listed.flatMap((one) => {
      const { meta, warning } = now.get(one.folder) ?? {};
      if (meta === undefined || names.has(meta.name)) return [];
      names.add(meta.name);
      return [{ ...one, meta: plainMeta(meta), ...(warning === undefined ? {} : { warning }) }];
    });
  }

  #parse(root: string, { folder, file, stamp }: Listed): Known {
    this.reads += 1;
    const name = basename(folder);
    const category = dirname(folder) === "." ? undefined : dirname(folder);
    try {
      const text = readFileSync(file, "utf8");
      const parsed = readSkill(text, name, category);
      if (!parsed.ok) {
        this.#logger.warn({ skill: join(root, folder), error: parsed.error }, "a skill cannot be read and is left out");
        return { folder, stamp, error: parsed.error };
      }
      const result = scan(text, "skill");
      if (!result.ok) {
        this.#logger.warn(
          { skill: join(root, folder), reason: result.reason },
          "a skill holds what the security scan warns about; it is used",
        );
      }
      return {
        folder,
        stamp,
        meta: { ...parsed.meta, tags: [...parsed.meta.tags], platforms: [...parsed.meta.platforms], commands: [...parsed.meta.commands] },
        ...(result.ok ? {} : { warning: result.reason }),
      };
    } catch (error) {
      if (!isAbsent(error)) throw error;
      return { folder, stamp, error: "It went away while it was read." };
    }
  }

  #remember(root: string, known: ReadonlyMap<string, Known>): void {
    this.#known.delete(root);
    this.#known.set(root, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostRemembered && oldest !== undefined) this.#known.delete(oldest);
  }

  #readSnapshot(root: string, isNeeded: boolean): ReadonlyMap<string, Known> {
    if (!isNeeded) return new Map();
    try {
      const parsed = snapshotShape.parse(JSON.parse(readFileSync(join(root, snapshotName), "utf8")));
      return new Map(parsed.skills.map((skill) => [skill.folder, skill]));
    } catch (error) {
      // A snapshot saves reading only: a missing or damaged one is made anew from the skills.
      if (!isAbsent(error))
        this.#logger.warn({ root, error: errorText(error) }, "the snapshot of the skills is unreadable and is made anew");
      return new Map();
    }
  }

  #writeSnapshot(root: string, known: ReadonlyMap<string, Known>): void {
    try {
      writeAtomically(join(root, snapshotName), JSON.stringify({ version: snapshotVersion, skills: [...known.values()] }));
    } catch (error) {
      this.#logger.warn(
        { root, error: errorText(error) },
        "the snapshot of the skills could not be written; the skills are read anew next time",
      );
    }
  }
}

/** All skill folders of a root, sorted; one level of category folders is looked into. Symbolic links are not followed. */
function list(root: string): Listed[] {
  const found: Listed[] = [];
  for (const name of foldersIn(root)) {
    const own = listOne(root, name);
    if (own !== undefined) found.push(own);
    else for (const inner of foldersIn(join(root, name))) found.push(...present(listOne(root, `${name}/${inner}`)));
    if (found.length >= mostSkills) break;
  }
  return found.sort((a, b) => a.folder.split("/").length - b.folder.split("/").length || (a.folder < b.folder ? -1 : 1));
}

function listOne(root: string, folder: string): Listed | undefined {
  if (!isSkillName(basename(folder))) return undefined;
  const file = join(root, folder, skillFile);
  const stats = statIfThere(file);
  if (stats === undefined || !stats.isFile()) return undefined;
  const stamp = `${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
  return { folder, file, stamp, changedAt: Number(stats.mtimeMs) };
}

function foldersIn(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => !entry.name.startsWith(".") && entry.isDirectory())
      .map((entry) => entry.name)
      .sort();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function statIfThere(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true });
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function present<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

function plainMeta({ version, category, ...meta }: NonNullable<Known["meta"]>): SkillMeta {
  return { ...meta, ...(version === undefined ? {} : { version }), ...(category === undefined ? {} : { category }) };
}
