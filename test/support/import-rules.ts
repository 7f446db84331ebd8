/**
 * Runs dependency-cruiser as `npm run deps` does, on the project or on a planted tree, and gives its violations as data.
 */
import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync, copyFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export const root = join(import.meta.dirname, "..", "..");

export interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: string;
}

export interface Cruise {
  readonly modules: readonly string[];
  readonly violations: readonly Violation[];
}

/** Cruises src, adapters and config below `folder` by the project's rules. */
export async function cruise(folder: string): Promise<Cruise> {
  const binary = join(root, "node_modules", "dependency-cruiser", "bin", "dependency-cruise.mjs");
  const args = [binary, "--config", ".dependency-cruiser.mjs", "--output-type", "json", "src", "adapters", "config"];
  const output = await new Promise<string>((resolve, reject) => {
    // A non-zero exit says only that there are violations; what counts is whether the output is a report.
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (stdout.startsWith("{")) resolve(stdout);
      else reject(new Error(`dependency-cruiser gave no report: ${stderr}`, { cause: error }));
    });
  });
  const report = JSON.parse(output) as {
    modules: { source: string }[];
    summary: { violations: { from: string; to: string; rule: { name: string } }[] };
  };
  return {
    modules: report.modules.map(({ source }) => source),
    violations: report.summary.violations.map(({ from, to, rule }) => ({ from, to, rule: rule.name })),
  };
}

/** A file of a planted tree and what it imports: a path of the tree, a package or a core module. */
export interface Planted {
  readonly from: string;
  readonly to: string;
  readonly typeOnly?: boolean;
}

/** Writes a tree below `folder` in which each pair is one import; targets that are paths are made too. Rules and packages are the project's. */
export function plant(folder: string, pairs: readonly Planted[]): void {
  for (const file of ["package.json", "tsconfig.json", ".dependency-cruiser.mjs"]) {
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const contents = new Map<string, string>();
  const add = (file: string, line: string) => contents.set(file, (contents.get(file) ?? "") + line);
  for (const { from, to, typeOnly } of pairs) {
    const isFile = /^(src|adapters|config|test)\//.test(to);
    if (isFile && !contents.has(to)) add(to, "export const value = 1;\n");
    add(
      from,
      `${typeOnly === true ? "import type" : "import"} * as it from "${isFile ? specifier(from, to) : to}";\nexport type It = typeof it;\n`,
    );
    if (typeOnly !== true) add(from, "export const used = it;\n");
  }
  for (const needed of ["src/cli/main.ts", "adapters/registry.ts", "config/schema.ts"]) {
    if (!contents.has(needed)) add(needed, "export const value = 1;\n");
  }
  for (const [file, text] of contents) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}

function specifier(from: string, to: string): string {
  const path = relative(dirname(from), to).replace(/\.ts$/, ".js");
  return path.startsWith(".") ? path : `./${path}`;
}
