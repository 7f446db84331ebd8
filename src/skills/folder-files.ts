/**
 * One skill's folder as a set of files: read whole, changed with a way back. A folder appears and disappears by a rename,
 * a single file by a rename too; only the restoring of several files at once is not one step.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { GatewayError, StoreError } from "../domain/errors.js";
import { writeAtomically } from "../storage/atomic-file.js";
import { crossesLink, isAbsent, statOf } from "./safe-path-files.js";
import { supportingFileLimit } from "./skill.js";

export interface FolderFile {
  readonly hash: string;
  /** Undefined for a file above the limit: it can be told whether it changed, but not what it held. */
  readonly bytes?: Buffer;
}

export interface FolderState {
  readonly files: ReadonlyMap<string, FolderFile>;
  /** Hidden files, links and what goes beyond the bounds: never touched, and never lost by us. */
  readonly untracked: number;
}

/** Path below the folder → its new bytes, or undefined to remove it. */
export type FileChanges = ReadonlyMap<string, Buffer | undefined>;

export interface AppliedChange {
  /** Puts everything back. */
  revert(): void;
  /** Clears away what the way back needed. */
  finish(): void;
}

const mostFiles = 500;
const deepestFolder = 6;
const unwritable: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EIO"]);

export const emptyFolder: FolderState = { files: new Map(), untracked: 0 };

/** SHA-256 of a file's bytes. */
export function hashOfBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** All files of a folder; a missing folder has none. Links are not followed. */
export function readFolder(folder: string): FolderState {
  const files = new Map<string, FolderFile>();
  let untracked = 0;
  const walk = (below: string, depth: number): void => {
    for (const entry of entriesOf(join(folder, below))) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (isOurLeftover(entry.name)) continue;
      if (entry.name.startsWith(".") || entry.isSymbolicLink() || depth > deepestFolder || files.size >= mostFiles) untracked += 1;
      else if (entry.isDirectory()) walk(path, depth + 1);
      else if (entry.isFile()) files.set(path, readFile(join(folder, path)));
      else untracked += 1;
    }
  };
  if (statOf(folder)?.isDirectory() === true) walk("", 1);
  return { files, untracked };
}

/** Makes the folder hold what `changes` says. Throws `store.full` when the disk is full or not writable; then nothing has changed. */
export function applyFiles(folder: string, before: FolderState, changes: FileChanges): AppliedChange {
  if (statOf(folder)?.isSymbolicLink() === true || [...changes.keys()].some((path) => crossesLink(folder, path))) {
    throw new GatewayError("input.invalid", "A symbolic link is in the way; nothing was written.");
  }
  try {
    if (statOf(folder) === undefined) return makeFolder(folder, changes);
    const left = [...before.files.keys()].filter((path) => !changes.has(path));
    const kept = [...changes.values()].some((bytes) => bytes !== undefined);
    if (left.length === 0 && !kept && before.untracked === 0) return removeFolder(folder);
    return changeFiles(folder, before, changes);
  } catch (error) {
    throw storeFailure(error, folder);
  }
}

function makeFolder(folder: string, changes: FileChanges): AppliedChange {
  const temporary = besides(folder);
  try {
    for (const [path, bytes] of changes) if (bytes !== undefined) putFile(join(temporary, path), bytes);
    renameSync(temporary, folder);
    syncFolder(dirname(folder));
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    throw error;
  }
  return { revert: () => discard(folder), finish: () => undefined };
}

function removeFolder(folder: string): AppliedChange {
  const aside = besides(folder);
  renameSync(folder, aside);
  syncFolder(dirname(folder));
  return { revert: () => renameSync(aside, folder), finish: () => rmSync(aside, { recursive: true, force: true }) };
}

function changeFiles(folder: string, before: FolderState, changes: FileChanges): AppliedChange {
  const done: string[] = [];
  const revert = (): void => {
    for (const path of done.splice(0).toReversed()) putOrRemove(folder, path, before.files.get(path)?.bytes);
  };
  try {
    for (const [path, bytes] of changes) {
      done.push(path);
      putOrRemove(folder, path, bytes);
    }
  } catch (error) {
    done.pop();
    revert();
    throw error;
  }
  return { revert, finish: () => undefined };
}

function putOrRemove(folder: string, path: string, bytes: Buffer | undefined): void {
  const target = join(folder, path);
  if (bytes !== undefined) {
    putFile(target, bytes);
    return;
  }
  rmSync(target, { force: true });
  for (let parent = dirname(target); parent !== folder; parent = dirname(parent)) {
    if (!removeEmpty(parent)) break;
  }
}

/** Text goes the common way; other bytes are staged the same way here. */
function putFile(path: string, bytes: Buffer): void {
  const text = bytes.toString("utf8");
  if (Buffer.from(text, "utf8").equals(bytes)) {
    writeAtomically(path, text);
    return;
  }
  const temporary = join(dirname(path), leftoverName(basename(path)));
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const handle = openSync(temporary, "wx", 0o600);
    try {
      writeFileSync(handle, bytes);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(temporary, path);
    syncFolder(dirname(path));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function readFile(path: string): FolderFile {
  const stats = statOf(path);
  if (stats === undefined || stats.size > supportingFileLimit) {
    return { hash: `large:${stats?.size ?? 0}:${stats?.mtimeMs ?? 0}` };
  }
  const bytes = readFileSync(path);
  return { hash: hashOfBytes(bytes), bytes };
}

function entriesOf(folder: string) {
  return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A dot name beside the folder: no look at the skills ever takes it for one. */
function besides(folder: string): string {
  const path = join(dirname(folder), leftoverName(basename(folder)));
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  return path;
}

function leftoverName(name: string): string {
  return `.${name}.${randomBytes(6).toString("hex")}.tmp`;
}

function isOurLeftover(name: string): boolean {
  return /^\..*\.[0-9a-f]{12}\.tmp$/u.test(name);
}

function discard(folder: string): void {
  const aside = besides(folder);
  renameSync(folder, aside);
  rmSync(aside, { recursive: true, force: true });
}

function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (isAbsent(error) || (error instanceof Error && "code" in error && ["ENOTEMPTY", "EEXIST"].includes(String(error.code))))
      return false;
    throw error;
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } catch (error) {
    if (!["EINVAL", "ENOTSUP", "EISDIR"].includes(codeOf(error))) throw error;
  } finally {
    closeSync(handle);
  }
}

function storeFailure(error: unknown, folder: string): unknown {
  if (!unwritable.has(codeOf(error))) return error;
  return new StoreError("store.full", `Cannot write ${folder}: the disk is full or not writable (${codeOf(error)}).`, { cause: error });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
