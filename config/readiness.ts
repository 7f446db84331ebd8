/**
 * What is still missing before the gateway can answer anybody. Kept apart from the schema, because `doctor`, `status` and `pair` must work
 * with settings that are right but not complete.
 */
import type { GatewayConfig } from "./schema.js";

export interface Missing {
  readonly key: string;
  /** What to set and where it comes from; one sentence. */
  readonly remedy: string;
}

/** The platforms that are switched on: the ones with a token. */
export function enabledPlatforms(config: GatewayConfig): ("telegram" | "discord" | "slack")[] {
  const { telegram, discord, slack } = config;
  return [
    ...(telegram.enabled && telegram.token !== undefined ? (["telegram"] as const) : []),
    ...(discord.enabled && discord.token !== undefined ? (["discord"] as const) : []),
    ...(slack.enabled && slack.botToken !== undefined ? (["slack"] as const) : []),
  ];
}

/** What `start` needs and does not have; `chat` needs no platform. Empty = ready. */
export function whatIsMissing(config: GatewayConfig, command: "start" | "chat"): Missing[] {
  const missing: Missing[] = [];
  if (config.model.id === undefined) {
    missing.push({ key: "model.id", remedy: "Set MNEME_MODEL (or model.id) to the model's name as its server calls it." });
  }
  if (config.model.apiKey === undefined && new URL(config.model.baseUrl).hostname === "api.openai.com") {
    missing.push({
      key: "model.apiKey",
      remedy: "Set OPENAI_API_KEY, or OPENAI_BASE_URL to a server of your own that needs no key.",
    });
  }
  if (command === "start" && enabledPlatforms(config).length === 0) {
    missing.push({
      key: "telegram.token",
      remedy:
        "Set a bot token: TELEGRAM_BOT_TOKEN (from @BotFather), DISCORD_BOT_TOKEN, or SLACK_BOT_TOKEN with SLACK_APP_TOKEN. `mneme chat` works without any.",
    });
  }
  return missing;
}
