/**
 * Settings of the chat platforms. A platform is on when its token is there, so a token has no default and everything else has one.
 */
import { z } from "zod";
import { choice, count, flag, secret, webUrl } from "./fields.js";

export const telegram = z.strictObject({
  token: secret()
    .describe("Bot token from @BotFather. Telegram is on when it is there. Better in the environment: TELEGRAM_BOT_TOKEN.")
    .meta({ examples: ["123456789:token"] }),
  enabled: flag(true).describe("false keeps Telegram off although there is a token."),
  apiRoot: webUrl().default("https://api.telegram.org").describe("Bot API server; change it for one that you run yourself."),
  mode: choice(["polling", "webhook"], "polling").describe("polling needs no public address; webhook needs webhookUrl and webhookSecret."),
  webhookUrl: webUrl()
    .optional()
    .describe("Public address that Telegram calls; its path is mounted on the HTTP server.")
    .meta({ examples: ["https://bot.example.org/telegram"] }),
  webhookSecret: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,256}$/, "1 to 256 letters, digits, _ or -")
    .optional()
    .describe("Telegram sends it with every call; calls without it are refused.")
    .meta({ examples: ["a-long-random-word"] }),
  pollTimeoutSeconds: count(30, 0, 50).describe("How long one poll waits for news."),
});

export const discord = z.strictObject({
  token: secret()
    .describe("Bot token. Discord is on when it is there. Better in the environment: DISCORD_BOT_TOKEN.")
    .meta({ examples: ["token"] }),
  enabled: flag(true).describe("false keeps Discord off although there is a token."),
  apiUrl: webUrl().default("https://discord.com/api").describe("REST address without the version."),
  thread: choice(["never", "auto"], "never").describe("auto opens a thread for each question asked in a channel."),
});

export const slack = z.strictObject({
  botToken: secret()
    .describe("Bot token (xoxb-…). Slack is on when it is there. Better in the environment: SLACK_BOT_TOKEN.")
    .meta({ examples: ["xoxb-token"] }),
  appToken: secret()
    .describe("App-level token (xapp-…) for Socket Mode. SLACK_APP_TOKEN.")
    .meta({ examples: ["xapp-token"] }),
  signingSecret: secret()
    .describe("Proves that an HTTP event comes from Slack. SLACK_SIGNING_SECRET.")
    .meta({ examples: ["secret"] }),
  enabled: flag(true).describe("false keeps Slack off although there is a token."),
  mode: choice(["socket", "http"], "socket").describe("socket needs appToken; http needs signingSecret and a public address."),
  apiUrl: webUrl().default("https://slack.com/api/").describe("Web API address; another one for GovSlack."),
  fileHost: z
    .string()
    .min(1)
    .default("files.slack.com")
    .describe("The only host (host or host:port) that is ever sent the bot token to fetch a file."),
});
