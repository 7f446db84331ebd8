// Builds dist/ when it is missing or older than a source file, so that `npm start` after a pull never runs old code.
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith(".ts")) latest = Math.max(latest, statSync(join(entry.parentPath, entry.name)).mtimeMs);
  }
  return latest;
}

const built = statSync(join(root, "dist/.tsbuildinfo"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
const entry = statSync(join(root, "dist/src/cli/main.js"), { throwIfNoEntry: false });
if (!entry || Math.max(newest("src"), newest("adapters"), newest("config")) > built) {
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", join(root, "tsconfig.build.json")], {
    stdio: "inherit",
  });
}
