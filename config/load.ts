/**
 * Settings file + environment -> parsed once, frozen. Every wrong key is named in one ConfigError, not the first one only,
 * and the value of a secret is never in it.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isScalar, LineCounter, parseDocument, visit } from "yaml";
import { ConfigError } from "../src/domain/errors.js";
import { configFileVariable, settingsFrom, variables, withEnvFile, type Environment } from "./env.js";
import { explain, type Problem } from "./explain.js";
import { configSchema, type GatewayConfig } from "./schema.js";
import { coerce, findPath, isRecord, leafPaths, nearest, type Raw } from "./schema-tree.js";

export interface LoadOptions {
  /** `--config`: must exist. Without it `MNEME_CONFIG`, else `mneme.yaml` in `cwd` where there is one. */
  readonly configFile?: string | undefined;
  /** `--data`: wins over every other `data.dir`. */
  readonly dataDir?: string | undefined;
  readonly env: Environment;
  readonly cwd: string;
}

/** Reads and checks all settings. Relative paths count from `cwd`. Throws one ConfigError that lists everything that is wrong. */
export function loadConfig(options: LoadOptions): GatewayConfig {
  const env = withEnvFile(options.env, options.cwd);
  const named = options.configFile ?? (env[configFileVariable] === "" ? undefined : env[configFileVariable]);
  const file = resolve(options.cwd, named ?? "mneme.yaml");
  const raw = readSettingsFile(file, named !== undefined);
  const problems: Problem[] = [];
  const sources = new Map<string, string>();
  applyEnvironment(env, raw, sources, problems);
  if (options.dataDir !== undefined) assign(raw, ["data", "dir"], options.dataDir);

  const result = configSchema.safeParse(coerce(configSchema, raw), { reportInput: true });
  if (!result.success) problems.push(...explain(result.error.issues, sources));
  if (!result.success || problems.length > 0) {
    const lines = problems.map((problem) => `  ${problem.key}: ${problem.text}`);
    throw new ConfigError("config.invalid", [`The settings are wrong (${file} and the environment):`, ...lines].join("\n"));
  }
  const config = result.data;
  config.data.dir = resolve(options.cwd, config.data.dir);
  if (config.timezone === "system") config.timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return deepFreeze(config);
}

function readSettingsFile(file: string, mustExist: boolean): Raw {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" && !mustExist) return {};
    const reason = code === "ENOENT" ? "does not exist" : `cannot be read (${code ?? "unknown reason"})`;
    throw new ConfigError("config.invalid", `The settings file ${file} ${reason}. Give another one with --config FILE.`, { cause: error });
  }
  return parseSettings(text, file);
}

/** YAML text to raw settings in which every number is its source text. Throws ConfigError with line and column for broken YAML. */
export function parseSettings(text: string, file: string): Raw {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, intAsBigInt: true });
  const [first] = document.errors;
  if (first !== undefined) {
    const { line, col } = lines.linePos(first.pos[0]);
    throw new ConfigError("config.invalid", `${file} is not valid YAML, line ${line}, column ${col}: ${first.message}.`);
  }
  visit(document, {
    Scalar(_, node) {
      if (isScalar(node) && (typeof node.value === "bigint" || typeof node.value === "number"))
        node.value = node.source ?? String(node.value);
    },
  });
  const value = plainValue(() => document.toJS({ maxAliasCount: 100 }) as unknown, file);
  if (value === null || value === undefined) return {};
  if (!isRecord(value)) throw new ConfigError("config.invalid", `${file} must hold "section:" lines with "key: value" lines beneath them.`);
  return value;
}

function plainValue(make: () => unknown, file: string): unknown {
  try {
    return make();
  } catch (error) {
    throw new ConfigError("config.invalid", `${file} repeats itself through aliases (*name) too often. Write the values out.`, {
      cause: error,
    });
  }
}

function applyEnvironment(env: Environment, raw: Raw, sources: Map<string, string>, problems: Problem[]): void {
  for (const { variable, parts, value } of settingsFrom(env)) {
    const path = findPath(configSchema, parts);
    if (path === undefined) {
      const near = nearest(parts.join("."), leafPaths(configSchema));
      const hint = near === undefined ? "" : ` Did you mean MNEME__${near.replaceAll(".", "__")}?`;
      problems.push({ key: variable, text: `names no setting.${hint}` });
      continue;
    }
    assign(raw, path, value);
    sources.set(path.join("."), variable);
  }
  const known = [...Object.keys(variables), configFileVariable];
  for (const name of Object.keys(env)) {
    if (!name.startsWith("MNEME_") || name.startsWith("MNEME__") || known.includes(name)) continue;
    const near = known.find((candidate) => nearest(name, [candidate]) !== undefined && Math.abs(candidate.length - name.length) <= 1);
    if (near !== undefined) problems.push({ key: name, text: `is no variable of this program. Did you mean ${near}?` });
  }
}

function assign(raw: Raw, path: readonly string[], value: unknown): void {
  let target = raw;
  for (const part of path.slice(0, -1)) {
    const next = target[part];
    const branch: Raw = isRecord(next) ? next : {};
    target[part] = branch;
    target = branch;
  }
  target[path.at(-1) ?? ""] = value;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) deepFreeze(item);
    Object.freeze(value);
  }
  return value;
}
