/**
 * Which settings are secrets, and their values: what the log and every shown text must not contain.
 * Whoever adds a secret setting adds its path here; a test looks for names that sound like one.
 */
import type { GatewayConfig } from "./schema.js";

/** Key paths of secrets; `*` stands for any name in a record. */
export const secretPaths: readonly string[] = [
  "model.apiKey",
  "model.aux.apiKey",
  "model.headers.*",
  "model.fallbacks.*.apiKey",
  "model.fallbacks.*.headers.*",
  "media.transcribe.apiKey",
  "telegram.token",
  "telegram.webhookSecret",
  "discord.token",
  "slack.botToken",
  "slack.appToken",
  "slack.signingSecret",
  "redis.url",
  "honcho.apiKey",
  "supermemory.apiKey",
  "mcp.servers.*.env.*",
  "mcp.servers.*.headers.*",
];

/** True when the value at this path must never be shown. */
export function isSecret(path: readonly PropertyKey[]): boolean {
  return secretPaths.some((pattern) => {
    const parts = pattern.split(".");
    return parts.length === path.length && parts.every((part, index) => part === "*" || part === String(path[index]));
  });
}

/**
 * Every secret value in use, for redaction. Values of under 8 characters in free-form records are left out, because blanking "1" or "true"
 * everywhere would ruin the log; of `redis.url` the password alone, since the address itself may be shown. A header's scheme word is cut off.
 */
export function secretsOf(config: GatewayConfig): string[] {
  const found = secretPaths.flatMap((pattern) => valuesAt(config, pattern.split(".")).flatMap((value) => secretParts(pattern, value)));
  return [...new Set(found)].filter((value) => value !== "");
}

function secretParts(pattern: string, value: string): string[] {
  if (pattern === "redis.url") {
    const { password } = new URL(value);
    return password === "" ? [] : [password, decodeURIComponent(password)];
  }
  if (!pattern.endsWith("*")) return [value];
  const token = value.replace(/^(Bearer|Basic|Token)\s+/i, "");
  return token.length < 8 ? [] : [token];
}

function valuesAt(value: unknown, path: readonly string[]): string[] {
  const [part, ...rest] = path;
  if (part === undefined) return typeof value === "string" ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => (part === "*" || part === key ? valuesAt(item, rest) : []));
}
