/**
 * Backup of a data folder while a gateway uses it: memory files and skills are copied under the database's write lock, the database as of
 * the same moment, so the two never tell different stories. The list of files comes last: a backup without it is not one.
 */
import { createHash } from "node:crypto";
import { createReadStream, copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { GatewayError } from "../domain/errors.js";
import { writeAtomically } from "../storage/atomic-file.js";
import { copyMoment } from "../storage/moment-copy.js";

export interface BackupFile {
  /** Relative to the folder, with forward slashes. */
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** What `backup.json` holds. */
export interface Manifest {
  readonly format: 1;
  readonly madeAt: string;
  readonly schema: number;
  readonly files: readonly BackupFile[];
}

export const manifestName = "backup.json";
export const databaseName = "mneme.db";
/** Folder of what a restore has put aside, below the data folder. */
export const asidePrefix = "before-restore-";
export const stagingName = ".restoring";

/** Folders whose files are written inside database transactions. */
const inTransactions: ReadonlySet<string> = new Set(["people", "spaces", "skills"]);

/**
 * Writes a backup of `dataDir` into `target`, which must be empty or missing. Rejects with `input.invalid` for a target that cannot be used
 * and when there is no database; with StoreError when reading or writing fails.
 */
export async function backUp(deps: { readonly dataDir: string; readonly target: string; readonly now: number }): Promise<Manifest> {
  const dataDir = resolve(deps.dataDir);
  const target = resolve(deps.target);
  const database = join(dataDir, databaseName);
  if (!existsSync(database)) throw new GatewayError("input.invalid", `There is no database in ${dataDir}: nothing to back up.`);
  if (target === dataDir || target.startsWith(dataDir + sep)) {
    throw new GatewayError("input.invalid", `${target} lies in the data folder; give a folder outside of it.`);
  }
  mkdirSync(target, { recursive: true, mode: 0o700 });
  if (readdirSync(target).length > 0) throw new GatewayError("input.invalid", `${target} is not empty; give a new folder.`);
  const copy = (path: string): void => {
    mkdirSync(dirname(join(target, path)), { recursive: true, mode: 0o700 });
    copyFileSync(join(dataDir, path), join(target, path));
  };
  const paths: string[] = [];
  const schema = await copyMoment({
    file: database,
    target: join(target, databaseName),
    atThatMoment() {
      for (const top of readdirSync(dataDir)) if (inTransactions.has(top) || isPage(dataDir, top)) paths.push(...filesBelow(dataDir, top));
      for (const path of paths) copy(path);
    },
  });
  const taken = new Set(paths);
  const rest = readdirSync(dataDir)
    .filter((top) => !isOurs(top))
    .flatMap((top) => filesBelow(dataDir, top))
    .filter((path) => !taken.has(path));
  for (const path of rest) {
    if (copyIfThere(copy, path)) paths.push(path);
  }
  const manifest: Manifest = {
    format: 1,
    madeAt: new Date(deps.now).toISOString(),
    schema,
    files: await Promise.all([databaseName, ...paths].sort().map((path) => describe(target, path))),
  };
  writeAtomically(join(target, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/** Size and hash of one file. */
export async function describe(folder: string, path: string): Promise<BackupFile> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(join(folder, path)), hash);
  return { path, size: statSync(join(folder, path)).size, sha256: hash.digest("hex") };
}

/** Lock, database with its side files and old copies, and what a restore has put aside: made anew or kept by other means. */
function isOurs(top: string): boolean {
  return (
    top.startsWith(databaseName) ||
    top.startsWith("gateway.lock") ||
    top.startsWith(asidePrefix) ||
    top === stagingName ||
    top === "chat.log"
  );
}

/** Texts that belong to every prompt (SOUL.md, AGENTS.md). */
function isPage(dataDir: string, top: string): boolean {
  return top.endsWith(".md") && lstatSync(join(dataDir, top)).isFile();
}

/** Files at or below a path, unfinished writes and links left out (a link may lead out of the folder). */
function filesBelow(dataDir: string, path: string): string[] {
  const full = join(dataDir, path);
  const stat = lstatSync(full, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return readdirSync(full).flatMap((name) => filesBelow(dataDir, join(path, name)));
  if (stat?.isFile() !== true || path.endsWith(".tmp")) return [];
  return [relative(dataDir, full).split(sep).join("/")];
}

/** A file that was deleted since it was listed (an old attachment) is no error. */
function copyIfThere(copy: (path: string) => void, path: string): boolean {
  try {
    copy(path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}
