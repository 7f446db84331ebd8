/**
 * The only reader of process.env: maps variables and a `.env` file to settings. A real variable wins over the same name in `.env`;
 * an empty one counts as not set, so that `TELEGRAM_BOT_TOKEN=` in a copied sample switches nothing on.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../src/domain/errors.js";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variable -> key path of the setting it fills. */
export const variables: Readonly<Record<string, string>> = {
  OPENAI_API_KEY: "model.apiKey",
  OPENAI_BASE_URL: "model.baseUrl",
  MNEME_MODEL: "model.id",
  TELEGRAM_BOT_TOKEN: "telegram.token",
  TELEGRAM_API_ROOT: "telegram.apiRoot",
  DISCORD_BOT_TOKEN: "discord.token",
  DISCORD_API_URL: "discord.apiUrl",
  SLACK_BOT_TOKEN: "slack.botToken",
  SLACK_APP_TOKEN: "slack.appToken",
  SLACK_SIGNING_SECRET: "slack.signingSecret",
  SLACK_API_URL: "slack.apiUrl",
  REDIS_URL: "redis.url",
  HONCHO_API_KEY: "honcho.apiKey",
  HONCHO_BASE_URL: "honcho.baseUrl",
  SUPERMEMORY_API_KEY: "supermemory.apiKey",
  SUPERMEMORY_BASE_URL: "supermemory.baseUrl",
  MNEME_MEMORY_PROVIDER: "memory.provider",
  MNEME_ACCESS_MODE: "access.mode",
  MNEME_OPERATORS: "access.operators",
  MNEME_DATA_DIR: "data.dir",
  MNEME_HTTP_PORT: "http.port",
  MNEME_LOG_LEVEL: "log.level",
};

/** Names the settings file when there is no `--config`. */
export const configFileVariable = "MNEME_CONFIG";

/** One variable that means a setting. */
export interface EnvironmentSetting {
  readonly variable: string;
  /** Key path as written: exact for the named variables, in any case for `MNEME__section__key`. */
  readonly parts: readonly string[];
  readonly value: string;
}

/** The process's own environment; called by `cli` alone, everything else is handed what it needs. */
export function processEnvironment(): Environment {
  return { ...process.env };
}

/** The environment with the `.env` file of `folder` beneath it. A file that is there but cannot be read is a ConfigError. */
export function withEnvFile(env: Environment, folder: string): Environment {
  const file = join(folder, ".env");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return env;
    throw new ConfigError("config.invalid", `${file} cannot be read. Check that it is a file and that its permissions let you read it.`, {
      cause: error,
    });
  }
  const merged: Record<string, string | undefined> = { ...parseEnvFile(text) };
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}

/**
 * Parses `KEY=VALUE` lines: `export` in front, single or double quotes (double ones know \n, \t, \" and \\), `#` comments on lines of their
 * own and, after a space, behind unquoted values. Lines that are no assignment are skipped.
 */
export function parseEnvFile(text: string): Record<string, string> {
  const values: Record<string, string> = {};
  const pattern =
    /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?:"((?:\\.|[^"\\])*)"|'([^']*)'|([^\r\n]*?))[ \t]*(?:[ \t]#[^\r\n]*)?$/gm;
  for (const [, name, double, single, plain] of text
    .replace(/^\uFEFF/, "")
    .replaceAll("\r\n", "\n")
    .matchAll(pattern)) {
    if (name === undefined) continue;
    values[name] = double === undefined ? (single ?? unquoted(plain ?? "")) : unescape(double);
  }
  return values;
}

function unquoted(value: string): string {
  return value.startsWith("#") ? "" : value;
}

function unescape(value: string): string {
  return value.replace(/\\(.)/gs, (whole, letter: string) => {
    if (letter === "n") return "\n";
    if (letter === "t") return "\t";
    return letter === '"' || letter === "\\" || letter === "$" ? letter : whole;
  });
}

/** The settings that the environment carries; empty values are left out. Where both forms name a key, `MNEME__section__key` wins. */
export function settingsFrom(env: Environment): EnvironmentSetting[] {
  const named: EnvironmentSetting[] = [];
  const general: EnvironmentSetting[] = [];
  for (const [variable, value] of Object.entries(env)) {
    if (value === undefined || value.trim() === "") continue;
    const path = variables[variable];
    if (path !== undefined) named.push({ variable, parts: path.split("."), value: value.trim() });
    else if (variable.startsWith("MNEME__")) general.push({ variable, parts: variable.slice(7).split("__"), value: value.trim() });
  }
  return [...named, ...general];
}
