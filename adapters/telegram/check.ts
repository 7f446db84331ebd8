/** The doctor's look at Telegram: token, privacy mode and who holds the webhook. Changes nothing at the platform. */
import type { Finding } from "../../src/ports/platform-adapter.js";
import type { BotApi } from "./api.js";
import { connectionError, isBadToken } from "./failures.js";

export interface CheckDeps {
  readonly api: BotApi;
  readonly requestMs: number;
  readonly mode: "polling" | "webhook";
  readonly webhookUrl: string | undefined;
}

export const privacyFinding: Finding = {
  level: "warning",
  subject: "privacy mode",
  message: "Privacy mode is on: in groups the bot sees only commands and replies to it, not messages that mention it.",
  remedy:
    "In @BotFather: /setprivacy, choose the bot, Disable. Then remove the bot from each group and add it again, or make it an administrator there.",
};

export async function checkTelegram(deps: CheckDeps): Promise<Finding[]> {
  const limits = { timeoutMs: deps.requestMs };
  try {
    const me = await deps.api.call("getMe", {}, limits);
    const hook = await deps.api.call("getWebhookInfo", {}, limits);
    const findings: Finding[] = [{ level: "ok", subject: "token", message: `The bot is @${me.username}.` }];
    findings.push(
      me.can_read_all_group_messages
        ? { level: "ok", subject: "privacy mode", message: "The bot sees all messages of its groups." }
        : privacyFinding,
    );
    return [...findings, ...webhookFindings(deps, hook.url ?? "", hook.last_error_message)];
  } catch (error) {
    const remedy = isBadToken(error)
      ? "Copy the token from @BotFather into TELEGRAM_BOT_TOKEN; /token there shows it."
      : "Check the network and telegram.apiRoot (TELEGRAM_API_ROOT).";
    return [{ level: "error", subject: "token", message: connectionError(error).message, remedy }];
  }
}

function webhookFindings({ mode, webhookUrl }: CheckDeps, current: string, lastError: string | undefined): Finding[] {
  if (mode === "polling") {
    if (current === "") return [{ level: "ok", subject: "webhook", message: "No webhook is set; polling is free." }];
    return [
      {
        level: "warning",
        subject: "webhook",
        message: `A webhook at ${hostOf(current)} is set for this bot. The start removes it.`,
        remedy: "If another program uses it, give one of the two its own bot token.",
      },
    ];
  }
  if (webhookUrl === undefined) {
    return [
      {
        level: "error",
        subject: "webhook",
        message: "telegram.mode is webhook, but telegram.webhookUrl is missing.",
        remedy: "Set telegram.webhookUrl and telegram.webhookSecret.",
      },
    ];
  }
  if (current !== webhookUrl) {
    const now = current === "" ? "none is set" : `it is at ${hostOf(current)}`;
    return [
      {
        level: "warning",
        subject: "webhook",
        message: `The webhook is not set to telegram.webhookUrl (${now}).`,
        remedy: "The start sets it. If another program uses it, give one of the two its own bot token.",
      },
    ];
  }
  if (lastError !== undefined) {
    return [
      {
        level: "warning",
        subject: "webhook",
        message: `Telegram could not deliver lately: ${lastError}`,
        remedy: "Check that telegram.webhookUrl can be reached from outside with a valid certificate.",
      },
    ];
  }
  return [{ level: "ok", subject: "webhook", message: "The webhook is set." }];
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an unreadable address";
}
