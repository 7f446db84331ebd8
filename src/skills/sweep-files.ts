/** Clears away what a kill in the middle of a change left beside the skills. Younger leftovers may belong to a running process. */
import { lstatSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAbsent } from "./safe-path-files.js";

const staleMs = 3_600_000;

export function sweepLeftovers(root: string, now: number): void {
  try {
    for (const name of readdirSync(root)) {
      if (!/^\..+\.[0-9a-f]{12}\.tmp$/u.test(name)) continue;
      const path = join(root, name);
      if (now - lstatSync(path).ctimeMs > staleMs) rmSync(path, { recursive: true, force: true });
    }
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}
