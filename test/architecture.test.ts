/**
 * The import rules and the typed lint, proven: the project has no violation, and every planted one is reported. A rule without a planted
 * violation proves nothing, because a mistyped path in it makes it silent.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cruise, plant, root, type Cruise, type Planted } from "./support/import-rules.js";

/** [importing file, imported file or package, rule that must fire, "type" for a type-only import] */
type Row = readonly [from: string, to: string, rule: string, only?: "type"];

const violations: readonly Row[] = [
  ["src/domain/p1.ts", "src/ports/x.ts", "domain-reaches-only", "type"],
  ["src/domain/p2.ts", "src/text/x.ts", "domain-reaches-only"],
  ["src/domain/p3.ts", "config/schema.ts", "domain-reaches-only", "type"],
  ["src/text/p1.ts", "src/domain/x.ts", "text-reaches-only"],
  ["src/safety/p1.ts", "src/domain/x.ts", "safety-reaches-only", "type"],
  ["src/words/p1.ts", "src/domain/x.ts", "words-reaches-only"],
  ["src/ports/p1.ts", "src/agent/tool.ts", "ports-reaches-only", "type"],
  ["src/ports/p2.ts", "src/storage/database.ts", "ports-reaches-only", "type"],
  ["src/agent/p1.ts", "src/memory/x.ts", "agent-reaches-only", "type"],
  ["src/agent/p2.ts", "src/gateway/x.ts", "agent-reaches-only"],
  ["src/agent/p3.ts", "src/storage/database.ts", "agent-reaches-only", "type"],
  ["src/agent/p4.ts", "src/words/x.ts", "agent-reaches-only"],
  ["src/gateway/p1.ts", "src/agent/loop.ts", "gateway-reaches-only"],
  ["src/gateway/p2.ts", "src/agent/tool.ts", "gateway-reaches-only", "type"],
  ["src/gateway/p3.ts", "src/memory/x.ts", "gateway-reaches-only"],
  ["src/gateway/p4.ts", "src/jobs/x.ts", "gateway-reaches-only"],
  ["src/gateway/p5.ts", "src/learning/x.ts", "gateway-reaches-only", "type"],
  ["src/gateway/p6.ts", "src/storage/database.ts", "gateway-reaches-only"],
  ["src/gateway/p7.ts", "adapters/telegram/x.ts", "only-registry-of-adapters", "type"],
  ["src/gateway/p8.ts", "adapters/registry.ts", "gateway-reaches-only"],
  ["src/memory/p1.ts", "src/skills/x.ts", "memory-reaches-only"],
  ["src/memory/p2.ts", "src/agent/loop.ts", "memory-reaches-only"],
  ["src/memory/p3.ts", "src/storage/database.ts", "memory-reaches-only"],
  ["src/skills/p1.ts", "src/memory/x.ts", "skills-reaches-only", "type"],
  ["src/recall/p1.ts", "src/memory/x.ts", "recall-reaches-only"],
  ["src/providers/p1.ts", "src/recall/x.ts", "providers-reaches-only"],
  ["src/mcp/p1.ts", "src/skills/x.ts", "mcp-reaches-only"],
  ["src/media/p1.ts", "src/mcp/x.ts", "media-reaches-only"],
  ["src/learning/p1.ts", "src/memory/x.ts", "learning-reaches-only", "type"],
  ["src/learning/p2.ts", "src/agent/tool.ts", "learning-reaches-only", "type"],
  ["src/jobs/p1.ts", "src/learning/x.ts", "jobs-reaches-only"],
  ["src/jobs/p2.ts", "src/storage/other.ts", "jobs-reaches-only"],
  ["src/storage/p1.ts", "src/model/x.ts", "storage-reaches-only"],
  ["src/storage/p2.ts", "src/recall/x.ts", "storage-reaches-only"],
  ["src/model/p1.ts", "src/storage/database.ts", "model-reaches-only"],
  ["src/commands/p1.ts", "src/storage/database.ts", "commands-reaches-only"],
  ["src/commands/p2.ts", "src/app/x.ts", "app-is-for-cli"],
  ["src/app/p1.ts", "src/cli/main.ts", "app-reaches-only"],
  ["src/app/p2.ts", "adapters/discord/x.ts", "only-registry-of-adapters"],
  ["src/cli/p1.ts", "src/gateway/x.ts", "cli-reaches-only"],
  ["src/cli/p2.ts", "adapters/slack/x.ts", "only-registry-of-adapters"],
  ["adapters/telegram/p1.ts", "adapters/discord/x.ts", "platform-reaches-only", "type"],
  ["adapters/slack/p1.ts", "src/gateway/x.ts", "platform-reaches-only", "type"],
  ["adapters/terminal/p1.ts", "src/agent/tool.ts", "platform-reaches-only"],
  ["adapters/discord/p1.ts", "config/load.ts", "platform-reaches-only", "type"],
  ["adapters/telegram/p2.ts", "config/schema.ts", "settings-are-types-in-adapters"],
  ["adapters/p1.ts", "src/gateway/x.ts", "registry-reaches-only"],
  ["config/p1.ts", "src/domain/message.ts", "config-reaches-only"],
  ["config/p2.ts", "adapters/registry.ts", "config-reaches-only"],
  ["src/gateway/p9.ts", "src/ports/x.ts", "ports-are-types"],
  ["src/stray/p1.ts", "src/domain/x.ts", "named-folder"],
  ["src/app/p3.ts", "src/stray/p2.ts", "named-folder-target"],
  ["src/gateway/p10.ts", "test/support/x.ts", "no-tests-in-production"],
  ["src/gateway/p11.ts", "src/gateway/index.ts", "no-barrel"],
  ["src/gateway/p12.ts", "./nowhere.js", "resolvable"],
  ["src/gateway/p13.ts", "not-installed-package", "resolvable"],
  ["src/gateway/p14.ts", "telegraf", "home-of-telegraf", "type"],
  ["adapters/slack/p2.ts", "discord.js", "home-of-discord.js"],
  ["src/gateway/p15.ts", "@slack/bolt", "home-of-@slack/"],
  ["src/memory/p4.ts", "better-sqlite3", "home-of-better-sqlite3", "type"],
  ["src/app/p4.ts", "bullmq", "home-of-bullmq"],
  ["src/app/p5.ts", "ioredis", "home-of-ioredis", "type"],
  ["src/agent/p5.ts", "openai", "home-of-openai", "type"],
  ["src/gateway/p16.ts", "pino", "home-of-pino"],
  ["src/skills/p2.ts", "@modelcontextprotocol/client", "home-of-@modelcontextprotocol/"],
  ["src/memory/p5.ts", "yaml", "home-of-yaml"],
  ["adapters/telegram/p3.ts", "markdown-it", "home-of-markdown-it"],
  ["src/gateway/p19.ts", "prom-client", "home-of-prom-client"],
  ["src/recall/p9.ts", "unpdf", "home-of-unpdf"],
  ["src/memory/p9.ts", "supermemory", "home-of-supermemory"],
  ["src/app/p9.ts", "@honcho-ai/sdk", "home-of-@honcho-ai/"],
  ["src/app/p6.ts", "commander", "home-of-commander"],
  ["src/model/p2.ts", "fast-check", "declared-packages"],
  ["src/model/p3.ts", "fast-check", "package-has-a-home"],
  ["src/gateway/p17.ts", "node:fs", "no-outside-inside"],
  ["src/memory/p6.ts", "node:fs/promises", "no-outside-inside"],
  ["src/agent/p6.ts", "node:child_process", "no-outside-inside"],
  ["src/text/p2.ts", "node:http", "no-outside-inside"],
  ["src/learning/p3.ts", "fs", "no-outside-inside"],
];

const allowed: readonly Row[] = [
  ["src/ports/ok.ts", "src/domain/x.ts", "", "type"],
  ["src/ports/ok.ts", "node:http", "", "type"],
  ["src/agent/ok.ts", "src/safety/x.ts", ""],
  ["src/gateway/ok.ts", "src/agent/agent.ts", ""],
  ["src/gateway/ok.ts", "src/words/x.ts", ""],
  ["src/memory/ok-files.ts", "node:fs", ""],
  ["src/memory/ok.ts", "src/agent/tool.ts", ""],
  ["src/memory/ok.ts", "src/memory/other.ts", ""],
  ["src/jobs/ok.ts", "src/storage/database.ts", ""],
  ["src/commands/ok.ts", "src/memory/x.ts", ""],
  ["src/storage/ok.ts", "better-sqlite3", ""],
  ["src/app/ok.ts", "adapters/registry.ts", ""],
  ["src/app/ok.ts", "src/memory/x.ts", ""],
  ["src/cli/ok.ts", "src/app/x.ts", ""],
  ["adapters/telegram/ok.ts", "config/schema.ts", "", "type"],
  ["adapters/telegram/ok.ts", "adapters/telegram/other.ts", ""],
  ["adapters/telegram/ok.ts", "telegraf", ""],
  ["adapters/telegram/ok.ts", "src/text/x.ts", ""],
  ["config/ok.ts", "src/domain/errors.ts", ""],
];

const planted = ([from, to, , only]: Row): Planted => ({ from, to, ...(only === "type" ? { typeOnly: true } : {}) });
const scratch = join(root, ".tmp", `architecture-${process.pid}`);

afterAll(() => {
  rmSync(scratch, { recursive: true, force: true });
});

describe("the import rules", () => {
  it("see the whole project and find nothing wrong in it", async () => {
    const { modules, violations: found } = await cruise(root);

    expect(modules.filter((name) => /^(src|adapters|config)\//.test(name)).length).toBeGreaterThan(50);
    expect(modules).toContain("src/cli/main.ts");
    expect(found).toEqual([]);
  }, 120_000);
});

describe("a planted violation is reported:", () => {
  let found: Cruise;
  beforeAll(async () => {
    const folder = join(scratch, "planted");
    plant(folder, [...violations, ...allowed].map(planted));
    writeFileSync(join(folder, "src/domain/ring-a.ts"), 'import type { B } from "./ring-b.js";\nexport type A = B | 1;\n');
    writeFileSync(join(folder, "src/domain/ring-b.ts"), 'import type { A } from "./ring-a.js";\nexport type B = A | 2;\n');
    writeFileSync(join(folder, "src/domain/dead.ts"), "export const nobody = 1;\n");
    found = await cruise(folder);
  });

  it.each(violations.map(([from, to, rule]) => ({ from, to, rule })))("$from -> $to ($rule)", ({ from, to, rule }) => {
    const target = to.replace(/^(node:|\.\/)/, "");

    expect(found.violations.some((one) => one.from === from && one.to.includes(target) && one.rule === rule)).toBe(true);
  });

  it("a cycle of types, and a file that nobody reaches", () => {
    expect(found.violations).toContainEqual({ from: "src/domain/ring-a.ts", to: "src/domain/ring-b.ts", rule: "no-cycle" });
    expect(found.violations.some((one) => one.to === "src/domain/dead.ts" && one.rule === "reachable")).toBe(true);
  });

  it("nothing of what is allowed", () => {
    const files = new Set(allowed.map(([from]) => from));

    expect(found.violations.filter((one) => files.has(one.from) && one.rule !== "reachable")).toEqual([]);
  });

  it("at least once for each rule", () => {
    const fired = new Set(found.violations.map(({ rule }) => rule));
    const rules = [...readFileSync(join(root, ".dependency-cruiser.mjs"), "utf8").matchAll(/error\(\s*"([a-z-]+)"/g)].map(
      ([, name]) => name ?? "",
    );

    expect(rules.length).toBeGreaterThan(12);
    expect(rules.filter((name) => !fired.has(name))).toEqual([]);
  });
});

describe("the typed lint", () => {
  const fixtures = join(root, "test", "fixtures", "violations");

  it("reports every planted un-awaited send and the other planted faults, line by line", async () => {
    mkdirSync(scratch, { recursive: true });
    const config = JSON.parse(readFileSync(join(root, ".oxlintrc.json"), "utf8")) as { overrides: object[]; ignorePatterns?: string[] };
    delete config.ignorePatterns;
    config.overrides = [{ ...config.overrides[0], files: ["**/src/**"] }];
    writeFileSync(join(scratch, "lint.json"), JSON.stringify(config));

    const reported = await lint(join(scratch, "lint.json"), fixtures);

    const expected = ["unawaited-sends.ts", "src/Wrong_Name.ts"].flatMap((file) =>
      readFileSync(join(fixtures, file), "utf8")
        .split("\n")
        .flatMap((line, index) => {
          const rule = /expect ([a-z-]+)$/.exec(line)?.[1];
          return rule === undefined ? [] : [`${file}:${index + 1} ${rule}`];
        }),
    );
    expect(expected.filter((one) => one.endsWith("no-floating-promises")).length).toBeGreaterThanOrEqual(7);
    expect(reported.toSorted()).toEqual(expected.toSorted());
  });
});

describe("platform names", () => {
  it("stand as words only in adapters, config and the command line's doctor and set-up", () => {
    const names = new Set(["telegram", "discord", "slack"]);
    const found: string[] = [];
    for (const entry of readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (!entry.isFile() || !entry.name.endsWith(".ts") || /src\/cli\/(doctor|init)[a-z-]*\.ts$/.test(file)) continue;
      const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
      const walk = (node: ts.Node): void => {
        if (ts.isStringLiteralLike(node) && names.has(node.text.toLowerCase())) {
          found.push(`${file.slice(root.length + 1)}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} "${node.text}"`);
        }
        ts.forEachChild(node, walk);
      };
      walk(source);
    }

    expect(found).toEqual([]);
  });
});

async function lint(config: string, folder: string): Promise<string[]> {
  const output = await new Promise<string>((resolve, reject) => {
    const args = ["-c", config, "--type-aware", "-f", "json", folder];
    execFile(join(root, "node_modules", ".bin", "oxlint"), args, { cwd: root, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (stdout.includes('"diagnostics"')) resolve(stdout);
      else reject(new Error(`oxlint gave no report: ${stdout}${stderr}`, { cause: error }));
    });
  });
  const { diagnostics } = JSON.parse(output) as { diagnostics: { filename: string; code: string; labels: { span: { line: number } }[] }[] };
  return diagnostics.map(({ filename, code, labels }) => {
    const file = filename.slice(filename.indexOf("violations/") + "violations/".length);
    return `${file}:${labels[0]?.span.line} ${/\(([a-z-]+)\)/.exec(code)?.[1]}`;
  });
}
