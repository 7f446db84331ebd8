/**
 * Replaces a whole file so that a crash at any point leaves the old or the new content, never a part of it.
 * Synchronous on purpose: it runs as the last step inside a database transaction, which must not await.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StoreError } from "../domain/errors.js";

const unwritable: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EIO"]);

/**
 * Writes `text` as UTF-8 to `path` (mode 0600): temporary file in the same folder, fsync, rename, fsync of the folder.
 * A missing folder is made (mode 0700). Throws `store.full` when the disk is full or not writable; the old file then stands.
 * The temporary name begins with a dot and ends in `.tmp`; one is left behind only by a kill between writing and renaming.
 */
export function writeAtomically(path: string, text: string): void {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeSynced(temporary, text);
    renameSync(temporary, path);
    syncFolder(folder);
  } catch (error) {
    rmSync(temporary, { force: true });
    if (unwritable.has(codeOf(error))) {
      throw new StoreError("store.full", `Cannot write ${path}: the disk is full or not writable (${codeOf(error)}).`, { cause: error });
    }
    throw error;
  }
}

function writeSynced(path: string, text: string): void {
  const handle = openSync(path, "wx", 0o600);
  try {
    writeFileSync(handle, text, "utf8");
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes the rename itself durable. Some file systems cannot sync a folder; there the rename is as durable as they make it. */
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

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
