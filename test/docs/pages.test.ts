/** The pages are true: commands exist, paths exist, links lead somewhere, tables equal the code. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { leafPaths } from "../../config/schema-tree.js";
import { configSchema } from "../../config/schema.js";
import { variables } from "../../config/env.js";
import { errorPage } from "../../scripts/error-reference.js";
import { textsOf } from "../../src/words/catalogue.js";

const root = join(import.meta.dirname, "..", "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "AGENTS.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** What stands between backticks outside of code blocks. */
function codeSpans(page: string): string[] {
  return [...page.replaceAll(/```[\s\S]*?```/g, "").matchAll(/`([^`]+)`/g)].map(([, span]) => span ?? "");
}

/** Spans that can only be paths of this repository: below a top folder, or a file at the top. */
function paths(page: string): string[] {
  const top =
    /^(src|adapters|config|test|docs|scripts|deploy|\.ci)(\/[\w.-]+)*$|^(\.?[\w-]+\.(md|yml|yaml|mjs|ts)|\.env\.example|LICENSE)$/;
  return codeSpans(page).filter(
    (span) =>
      top.test(span) &&
      ![
        "mneme.yaml",
        "mneme.yml",
        "USER.md",
        "MEMORY.md",
        "SOUL.md",
        "SKILL.md",
        "adapter.ts",
        "inbound.ts",
        "render.ts",
        "-files.ts",
        "-thread.ts",
      ].includes(span),
  );
}

describe("the pages", () => {
  it.each(pages)("%s names only paths that exist", (page) => {
    const named = paths(read(page));

    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it("name enough paths that this means something", () => {
    expect(new Set(["ARCHITECTURE.md", "AGENTS.md"].flatMap((page) => paths(read(page)))).size).toBeGreaterThan(30);
  });

  it.each(pages)("%s has only links that lead somewhere", (page) => {
    const targets = [...read(page).matchAll(/\]\(([^)]+)\)/g)]
      .map(([, target]) => target ?? "")
      .filter((target) => !target.startsWith("https://"));

    expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([]);
  });

  it.each(pages)("%s names only npm scripts that exist", (page) => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...read(page).matchAll(/npm (?:run ([\w:-]+)|(start|test)\b)/g)].map(([, run, short]) => run ?? short ?? "");

    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it.each(pages)("%s names only commands of mneme that exist", (page) => {
    const sources = readdirSync(join(root, "src/cli"))
      .map((file) => read(`src/cli/${file}`))
      .join("\n");
    const known = new Set([...sources.matchAll(/(?:\.command\(\s*|new Command\(\s*)["'`]([a-z-]+)/g)].map(([, name]) => name));
    const named = [...read(page).matchAll(/(?:npx mneme|`mneme) ([a-z]+)/g)].map(([, name]) => name ?? "");

    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it("README names only settings and variables that exist", () => {
    const settings = new Set(leafPaths(configSchema));
    const dotted = codeSpans(read("README.md")).flatMap((span) => /^([a-z]+(?:\.[a-zA-Z]+)+)(: \w+)?$/.exec(span)?.[1] ?? []);
    const known = [...Object.keys(variables)];
    const upper = [...read("README.md").matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g)].map(([name]) => name);

    expect(dotted.length).toBeGreaterThan(5);
    expect(
      dotted.filter((key) => !/\.(ts|md|yml|yaml|json|dev|com)$/.test(key) && !settings.has(key) && key !== "applications.commands"),
    ).toEqual([]);
    expect(upper.filter((name) => !known.includes(name))).toEqual([]);
  });

  it("README shows the commands that the help texts describe", () => {
    const shown = codeSpans(read("README.md")).flatMap((span) => /^\/(\w+)/.exec(span)?.[1] ?? []);
    const described = Object.keys(textsOf("en")).flatMap((key) => /^help\.(\w+)$/.exec(key)?.[1] ?? []);

    expect(
      [...new Set(shown)].filter((name) => !["mneme", "healthz", "livez", "metrics"].includes(name) && !described.includes(name)),
    ).toEqual([]);
  });

  it("stay within their size: README 150 lines, AGENTS.md 100", () => {
    expect(read("README.md").split("\n").length).toBeLessThanOrEqual(150);
    expect(read("AGENTS.md").split("\n").length).toBeLessThanOrEqual(100);
  });

  it("list each error code as the code does (else: npm run generate)", () => {
    expect(read("docs/errors.md")).toBe(errorPage());
  });
});
