/**
 * The built program for tests that start it as users do: built when it is missing or old, by one test process at a time. Wrong types
 * are `npm run types`' business; the compiler writes its output all the same, and says so.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHash } from "node:crypto";

const script = fileURLToPath(new URL("../../scripts/ensure-built.mjs", import.meta.url));
const lock = join(tmpdir(), `mneme-build-${createHash("sha256").update(script).digest("hex").slice(0, 12)}`);
/** A build takes seconds; a lock this old was left by a process that died. */
const staleMs = 180_000;
let isBuilt = false;

/** Path of the built command line. */
export async function builtMain(): Promise<string> {
  if (!isBuilt) {
    await locked(() => {
      const built = spawnSync(process.execPath, [script], { stdio: ["ignore", "ignore", "inherit"] });
      if (built.status !== 0) process.stderr.write("The compiler reports errors; tests of the built program may run older code.\n");
    });
    isBuilt = true;
  }
  return fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));
}

async function locked(work: () => void): Promise<void> {
  while (!taken()) await new Promise((resolve) => setTimeout(resolve, 200));
  try {
    work();
  } finally {
    rmdirSync(lock);
  }
}

function taken(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > staleMs) rmdirSync(lock);
    return false;
  }
}
