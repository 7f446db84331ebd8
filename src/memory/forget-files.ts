/** Removes the folders of forgotten people and their spaces, whatever lies in them: files, originals, overflow, skills. Doing it again is harmless. */
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { MemoryFiles } from "./memory-files.js";

export function removeFolders(files: MemoryFiles, ids: readonly string[]): void {
  for (const id of ids) {
    for (const target of ["user", "memory"] as const) rmSync(dirname(files.path({ target, id })), { recursive: true, force: true });
  }
}
