/**
 * Builds dist/ once before the tests when it is missing or old: tests that start real processes run what users run. Wrong types
 * are `npm run types`' business; the compiler writes its output all the same, and says so here.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export default function setup(): void {
  const built = spawnSync(process.execPath, [fileURLToPath(new URL("../../scripts/ensure-built.mjs", import.meta.url))], { stdio: "inherit" });
  if (built.status !== 0) process.stderr.write("The compiler reports errors; tests of the built program may run older code.\n");
}
