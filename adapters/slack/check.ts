/**
 * The doctor's look at a Slack app: tokens, and the scopes Slack granted against those that are needed. Scopes are granted
 * when the app is installed, so a scope added later does nothing until it is reinstalled.
 */
import type { Finding } from "../../src/ports/platform-adapter.js";
import { DeliveryError, errorText } from "../../src/domain/errors.js";
import type { SlackApi } from "./api.js";
import { isAuthCode, neededScope, platformCode } from "./api-errors.js";
import { fieldsOf, textOf } from "./fields.js";

/** Scope → what does not work without it. `config/slack-app-manifest.yaml` asks for the same; a test compares them. */
export const neededScopes: Readonly<
  Record<string, { readonly level: "warning" | "error"; readonly without: string; readonly events?: readonly string[] }>
> = {
  "app_mentions:read": { level: "error", without: "no mention in a channel arrives", events: ["app_mention"] },
  "channels:history": { level: "error", without: "no follow-up in a thread of a public channel arrives", events: ["message.channels"] },
  "groups:history": { level: "error", without: "no follow-up in a thread of a private channel arrives", events: ["message.groups"] },
  "im:history": { level: "error", without: "no direct message arrives", events: ["message.im"] },
  "mpim:history": { level: "error", without: "no message in a group DM arrives", events: ["message.mpim"] },
  "chat:write": { level: "error", without: "nothing can be answered" },
  "users:read": { level: "warning", without: "people appear as ids and their time zone is unknown" },
  "channels:read": { level: "warning", without: "public channels appear as ids", events: ["member_joined_channel", "channel_left"] },
  "groups:read": { level: "warning", without: "private channels appear as ids", events: ["member_joined_channel", "group_left"] },
  "im:read": { level: "warning", without: "direct messages cannot be looked up" },
  "mpim:read": { level: "warning", without: "a group DM cannot be told from a channel" },
  "reactions:write": { level: "warning", without: "the sign of life (a reaction) does not show" },
  "files:read": { level: "warning", without: "files that people send cannot be read" },
  "files:write": { level: "warning", without: "long answers cannot be sent as a file" },
  commands: { level: "warning", without: "the command /mneme does not work" },
};

const reinstall =
  "Add it under OAuth & Permissions (or paste config/slack-app-manifest.yaml again) and reinstall the app to the workspace.";

export interface CheckDeps {
  readonly api: SlackApi;
  /** Calls with the app-level token; undefined in HTTP mode. */
  readonly appApi: SlackApi | undefined;
  readonly mode: "socket" | "http";
  readonly hasSigningSecret: boolean;
}

/** Every problem that can be seen from outside, with its remedy. Never rejects for a refusal of Slack. */
export async function checkSlack(deps: CheckDeps): Promise<Finding[]> {
  return [...(await botToken(deps.api)), await transport(deps)];
}

async function botToken(api: SlackApi): Promise<Finding[]> {
  let answer;
  try {
    answer = await api.call("auth.test", {});
  } catch (error) {
    return [refusal("slack.botToken", error, "Copy the Bot User OAuth Token (xoxb-…) from OAuth & Permissions.")];
  }
  const connected: Finding = {
    level: "ok",
    subject: "slack.botToken",
    message: `valid for ${textOf(answer, "user") ?? "the bot"} (${textOf(answer, "user_id") ?? "?"}) in ${textOf(answer, "team") ?? "the workspace"}`,
  };
  const scopes = fieldsOf(answer, "response_metadata")["scopes"];
  if (!Array.isArray(scopes)) {
    return [
      connected,
      {
        level: "warning",
        subject: "slack scopes",
        message: "Slack did not say which scopes are granted",
        remedy: "Compare them by hand with config/slack-app-manifest.yaml.",
      },
    ];
  }
  const missing = Object.entries(neededScopes).filter(([scope]) => !scopes.includes(scope));
  if (missing.length === 0) return [connected, { level: "ok", subject: "slack scopes", message: "all needed scopes are granted" }];
  return [
    connected,
    ...missing.map(([scope, { level, without, events }]): Finding => ({
      level,
      subject: `slack scope ${scope}`,
      message: `missing: ${without}${events === undefined ? "" : ` (event ${events.join(", ")})`}`,
      remedy: reinstall,
    })),
  ];
}

async function transport({ mode, appApi, hasSigningSecret }: CheckDeps): Promise<Finding> {
  if (mode === "http") {
    return hasSigningSecret
      ? { level: "ok", subject: "slack.signingSecret", message: "set; Slack must be able to reach /slack/events" }
      : {
          level: "error",
          subject: "slack.signingSecret",
          message: "missing",
          remedy: "Copy the Signing Secret from Basic Information, or set slack.mode to socket.",
        };
  }
  if (appApi === undefined) {
    return {
      level: "error",
      subject: "slack.appToken",
      message: "missing",
      remedy: "Make an app-level token (xapp-…) with connections:write under Basic Information.",
    };
  }
  try {
    await appApi.call("apps.connections.open", {});
    return { level: "ok", subject: "slack.appToken", message: "Socket Mode can be opened" };
  } catch (error) {
    return refusal(
      "slack.appToken",
      error,
      "Make an app-level token (xapp-…) with connections:write under Basic Information, and turn Socket Mode on.",
    );
  }
}

function refusal(subject: string, error: unknown, remedy: string): Finding {
  const cause = error instanceof DeliveryError ? error.cause : error;
  const code = platformCode(cause);
  if (code === undefined) {
    return {
      level: "error",
      subject,
      message: `Slack could not be asked: ${errorText(error)}`,
      remedy: "Check the network and slack.apiUrl, then try again.",
    };
  }
  const scope = neededScope(cause);
  const what = isAuthCode(code) ? "Slack refuses the token" : "Slack refuses";
  return { level: "error", subject, message: `${what}: ${code}${scope === undefined ? "" : ` (${scope})`}`, remedy };
}
