// The import rules of ARCHITECTURE.md as allow-lists: a folder reaches itself and what its row names, nothing else.
// A new folder, package or edge is an error until somebody decides here. test/architecture.test.ts plants violations of every rule.

const ours = "^(src|adapters|config|test|scripts)/";
const folder = (...names) => names.map((name) => `^src/${name}/`);
const domain = "^src/domain/";
const ports = "^src/ports/";
const safety = "^src/safety/";
const words = "^src/words/";
const feature = [domain, ports, safety, "^src/agent/tool[.]ts$", "^src/storage/atomic-file[.]ts$"];

/** Folder of src -> what of ours it may import besides itself. */
const reaches = {
  domain: [],
  text: [],
  safety: [],
  words: [],
  ports: [domain],
  agent: [domain, ports, safety],
  gateway: [domain, ports, safety, words, "^src/agent/agent[.]ts$"],
  memory: feature,
  skills: feature,
  recall: feature,
  providers: feature,
  mcp: feature,
  media: feature,
  learning: [domain, ports, safety, "^src/agent/agent[.]ts$"],
  jobs: [domain, ports, "^src/storage/database[.]ts$"],
  storage: [domain, ports],
  model: [domain, ports],
  commands: [domain, ports, safety, words, ...folder("text", "gateway", "memory", "skills", "recall", "learning")],
  app: [...folder("(?!cli/)[^/]+"), "^config/", "^adapters/registry[.]ts$"],
  cli: [domain, ports, safety, words, ...folder("app"), "^config/", "^adapters/registry[.]ts$"],
};

/** Package -> the only files that may import it, as types too. A package that is not here may be imported nowhere. */
const homes = {
  telegraf: "^adapters/telegram/",
  "discord.js": "^adapters/discord/",
  "@slack/": "^adapters/slack/",
  "better-sqlite3": "^src/storage/",
  bullmq: "^src/jobs/",
  ioredis: "^src/jobs/",
  openai: "^src/model/",
  tokenx: "^src/(model|agent)/",
  "@honcho-ai/": "^src/providers/",
  supermemory: "^src/providers/",
  unpdf: "^src/media/",
  "prom-client": "^src/app/",
  pino: "^src/app/logger[.]ts$",
  "@modelcontextprotocol/": "^src/mcp/",
  "markdown-it": "^src/text/",
  "markdown-it-cjk-friendly": "^src/text/",
  yaml: "^(config/load[.]ts$|src/skills/|src/cli/)",
  commander: "^src/cli/",
  "@clack/": "^src/cli/",
  zod: "^(config|src|adapters)/",
};

const packagePath = (name) => `(^|/)node_modules/(@types/)?${name.replace(/[.]/g, "[.]")}${name.endsWith("/") ? "" : "(/|$)"}`;
const error = (name, comment, from, to) => ({ name, comment, severity: "error", from, to });
const inside = "^src/(domain|ports|text|safety|words|agent|gateway|memory|skills|recall|learning|commands)/";

export default {
  forbidden: [
    ...Object.entries(reaches).map(([name, allowed]) =>
      error(
        `${name}-reaches-only`,
        `src/${name} may import only what its row names.`,
        { path: `^src/${name}/` },
        { path: ours, pathNot: [`^src/${name}/`, ...allowed] },
      ),
    ),
    error(
      "platform-reaches-only",
      "An adapter knows its port, the text blocks and its own settings; never another platform.",
      { path: "^adapters/([^/]+)/" },
      { path: ours, pathNot: ["^adapters/$1/", domain, ports, "^src/text/", "^config/schema[.]ts$"] },
    ),
    error(
      "settings-are-types-in-adapters",
      "An adapter is handed its settings.",
      { path: "^adapters/" },
      { path: "^config/", dependencyTypesNot: ["type-only"] },
    ),
    error(
      "registry-reaches-only",
      "The registry names platforms and nothing else.",
      { path: "^adapters/[^/]+[.]ts$" },
      { path: ours, pathNot: ["^adapters/", domain, ports, "^config/schema[.]ts$"] },
    ),
    error(
      "config-reaches-only",
      "Settings know nothing of ours but the error type.",
      { path: "^config/" },
      { path: ours, pathNot: ["^config/", "^src/domain/errors[.]ts$"] },
    ),
    error(
      "only-registry-of-adapters",
      "Outside adapters/ only the registry may be named.",
      { path: "^(src|config)/" },
      { path: "^adapters/", pathNot: "^adapters/registry[.]ts$" },
    ),
    error("ports-are-types", "Ports are imported as types only.", {}, { path: ports, dependencyTypesNot: ["type-only"] }),
    error(
      "app-is-for-cli",
      "Only the command line imports the wiring.",
      { path: ours, pathNot: "^(src/(app|cli)|test|scripts)/" },
      { path: "^src/app/" },
    ),
    error(
      "named-folder",
      "Every file of src is in a folder that has a row above.",
      { path: "^src/", pathNot: folder(`(${Object.keys(reaches).join("|")})`) },
      {},
    ),
    error(
      "named-folder-target",
      "Every file of src is in a folder that has a row above.",
      {},
      { path: "^src/", pathNot: folder(`(${Object.keys(reaches).join("|")})`) },
    ),
    error(
      "no-tests-in-production",
      "Production code imports no test and no script.",
      { path: "^(src|adapters|config)/" },
      { path: "^(test|scripts)/" },
    ),
    error("no-cycle", "No cycles, types included.", {}, { circular: true }),
    error(
      "reachable",
      "A file nobody reaches from the entry point is dead.",
      { path: "^src/cli/main[.]ts$" },
      { path: "^(src|adapters|config)/", pathNot: "-thread[.]ts$", reachable: false },
    ),
    error("resolvable", "Every import leads to a file or an installed package.", {}, { couldNotResolve: true }),
    error("no-barrel", "An import names the file that has the thing.", {}, { path: "/index[.]ts$", pathNot: "(^|/)node_modules/" }),
    ...Object.entries(homes).map(([name, home]) =>
      error(`home-of-${name}`, `${name} has one home.`, { pathNot: [home, "^(test|scripts)/"] }, { path: packagePath(name) }),
    ),
    error(
      "package-has-a-home",
      "A package needs a row above before it may be imported.",
      { path: "^(src|adapters|config)/" },
      { path: "(^|/)node_modules/", pathNot: [...Object.keys(homes).map(packagePath), "(^|/)node_modules/@types/node/"] },
    ),
    error(
      "declared-packages",
      "Only declared dependencies.",
      { path: "^(src|adapters|config)/" },
      { dependencyTypes: ["npm-dev", "npm-peer", "npm-no-pkg", "npm-unknown"], pathNot: "(^|/)node_modules/@types/" },
    ),
    error(
      "no-outside-inside",
      "Disk, network and process only in files that end in -files.ts, or outside of the inner folders.",
      { path: inside, pathNot: "-files[.]ts$" },
      {
        dependencyTypes: ["core"],
        dependencyTypesNot: ["type-only"],
        path: "^(node:)?(fs|fs/promises|net|http|https|http2|tls|dns|dgram|child_process|worker_threads|cluster|os|process|readline)$",
      },
    ),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^dist/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    preserveSymlinks: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "require", "node", "default", "types"] },
  },
};
