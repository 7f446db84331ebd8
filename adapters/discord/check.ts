/**
 * What the doctor asks of Discord, without connecting to the gateway: is the token good, is the content intent on, is a
 * login left. The intent is read from the application's flags; the switch is in the developer portal only.
 */
import type { REST } from "discord.js";
import type { Finding } from "../../src/ports/platform-adapter.js";
import { contentIntentRemedy, deliveryErrorOf, isUnauthorized } from "./failures.js";
import { asFields, fieldsOf, numberOf, textOf } from "./fields.js";
import { cleanName } from "./names.js";
import type { Sdk } from "./sdk.js";

/** GATEWAY_MESSAGE_CONTENT and its limited form for bots in fewer than 100 servers (https://discord.com/developers/docs/resources/application#application-object-application-flags). */
const contentFlags = (1 << 18) | (1 << 19);

export async function checkDiscord(sdk: Sdk, rest: REST): Promise<Finding[]> {
  try {
    const self = asFields(await rest.get(sdk.Routes.user())) ?? {};
    const application = asFields(await rest.get(sdk.Routes.currentApplication())) ?? {};
    const gateway = asFields(await rest.get(sdk.Routes.gatewayBot())) ?? {};
    const name = cleanName(textOf(self, "username") ?? "?", "?");
    return [
      { level: "ok", subject: "discord token", message: `logged in as ${name} (${textOf(self, "id") ?? "?"})` },
      contentIntent(numberOf(application, "flags") ?? 0),
      ...loginsLeft(
        numberOf(fieldsOf(gateway, "session_start_limit"), "remaining"),
        numberOf(fieldsOf(gateway, "session_start_limit"), "reset_after"),
      ),
    ];
  } catch (error) {
    return [failed(sdk, error)];
  }
}

function contentIntent(flags: number): Finding {
  if ((flags & contentFlags) !== 0) return { level: "ok", subject: "discord intents", message: "the Message Content Intent is on" };
  return {
    level: "error",
    subject: "discord intents",
    message: "the Message Content Intent is off: Discord refuses the connection",
    remedy: contentIntentRemedy,
  };
}

function loginsLeft(remaining: number | undefined, resetAfterMs: number | undefined): Finding[] {
  if (remaining === undefined || remaining > 10) return [];
  const hours = Math.ceil((resetAfterMs ?? 0) / 3_600_000);
  return [
    {
      level: remaining === 0 ? "error" : "warning",
      subject: "discord logins",
      message: `${remaining} logins are left for the next ${hours} h`,
      remedy: "Find out what makes the bot log in so often (a restart loop, a second process with the same token), then wait.",
    },
  ];
}

function failed(sdk: Sdk, error: unknown): Finding {
  if (isUnauthorized(sdk, error)) {
    return {
      level: "error",
      subject: "discord token",
      message: "Discord refuses the token",
      remedy: "Make a new one at https://discord.com/developers/applications → Bot → Reset Token, and set DISCORD_BOT_TOKEN.",
    };
  }
  return {
    level: "error",
    subject: "discord",
    message: `Discord's API does not answer properly (${deliveryErrorOf(sdk, error).message})`,
    remedy: "Check the network, a proxy in between, and discord.apiUrl.",
  };
}
