/** Removes the folders of forgotten people and their spaces, whatever lies in them: files, originals, overflow, skills. Doing it again is harmless. */
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MemoryFiles } from "./memory-files.js";

export function removeFolders(files: MemoryFiles, ids: readonly string[]): void {
  for (const id of ids) {
    for (const target of ["user", "memory"] as const) rmSync(dirname(files.path({ target, id })), { recursive: true, force: true });
  }
}

/** Only what the program itself stores images as: nothing else below the data folder can be named by it. */
const image = /^media\/\d{4}-\d{2}-\d{2}\/[A-Za-z0-9_-]+\/[A-Za-z0-9]+\.[a-z0-9]+$/u;

/** Removes images that forgotten people sent. */
export function removeImages(dataDir: string, paths: readonly string[]): void {
  for (const path of paths) if (image.test(path)) rmSync(join(dataDir, path), { force: true });
}
