/** Builds dist/ once before the tests when it is missing or old: tests that start real processes run what users run. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export default function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL("../../scripts/ensure-built.mjs", import.meta.url))], { stdio: "inherit" });
}
