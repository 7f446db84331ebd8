/**
 * Pure: application command or button press -> inbound event. The interaction's token is the right to answer it for
 * 15 minutes and nothing else; it travels in the route's hint.
 */
import type { AccountRef, ButtonPress, InboundMessage, Json, Route } from "../../src/domain/message.js";
import { asFields, type Fields, fieldsOf, listOf, numberOf, textOf } from "./fields.js";
import { keyOf, platform } from "./inbound.js";
import { cleanName, displayName } from "./names.js";
import { chatOf, type Place } from "./place.js";
import { timeOf } from "./snowflake.js";

/** Name of the one free-text option every command has. */
export const argumentOption = "text";

export type InteractionRef = {
  readonly id: string;
  readonly token: string;
  readonly applicationId: string;
  /** Epoch ms when it was made. */
  readonly at: number;
};

/** Type numbers of https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-type */
export const interactionTypes = { command: 2, component: 3 } as const;

export interface InteractionContext {
  readonly botId: string;
  readonly place: Place;
}

/** What is needed to acknowledge; undefined for an interaction that is none of ours to answer. */
export function interactionRef(interaction: Fields): (InteractionRef & { readonly type: "command" | "component" }) | undefined {
  const id = textOf(interaction, "id");
  const token = textOf(interaction, "token");
  const applicationId = textOf(interaction, "application_id");
  const type = numberOf(interaction, "type");
  if (id === undefined || token === undefined || applicationId === undefined) return undefined;
  const at = timeOf(id) ?? 0;
  if (type === interactionTypes.command) return { id, token, applicationId, at, type: "command" };
  return type === interactionTypes.component ? { id, token, applicationId, at, type: "component" } : undefined;
}

export function commandEvent(interaction: Fields, context: InteractionContext): InboundMessage | undefined {
  const ref = interactionRef(interaction);
  const account = accountOf(interaction);
  const name = textOf(fieldsOf(interaction, "data"), "name");
  if (ref?.type !== "command" || account === undefined || name === undefined) return undefined;
  const option = listOf(fieldsOf(interaction, "data"), "options").find((candidate) => textOf(candidate, "name") === argumentOption);
  const args = (option === undefined ? "" : (textOf(option, "value") ?? "")).trim();
  const hint: Json = { interaction: { id: ref.id, token: ref.token, applicationId: ref.applicationId, at: ref.at } };
  return {
    kind: "message",
    platform,
    botId: context.botId,
    key: keyOf(context.botId, "interaction", ref.id),
    account,
    chat: chatOf(context.place),
    at: ref.at,
    messageId: ref.id,
    text: `/${name}${args === "" ? "" : ` ${args}`}`,
    addressed: context.place.kind === "dm" ? "dm" : "command",
    command: { name: name.toLowerCase(), args },
    attachments: [],
    route: { platform, chatId: context.place.id, hint },
  };
}

export function buttonEvent(interaction: Fields, context: InteractionContext): ButtonPress | undefined {
  const ref = interactionRef(interaction);
  const account = accountOf(interaction);
  const data = textOf(fieldsOf(interaction, "data"), "custom_id");
  const messageId = textOf(fieldsOf(interaction, "message"), "id");
  if (ref?.type !== "component" || account === undefined || data === undefined || messageId === undefined) return undefined;
  const hint: Json = { press: { id: ref.id, token: ref.token, applicationId: ref.applicationId, at: ref.at } };
  return {
    kind: "button",
    platform,
    botId: context.botId,
    key: keyOf(context.botId, "interaction", ref.id),
    account,
    chat: chatOf(context.place),
    at: ref.at,
    data,
    messageId,
    route: { platform, chatId: context.place.id, hint },
  };
}

/** The command interaction an answer belongs to, or the press to acknowledge; undefined when the route has none. */
export function refOfRoute(route: Route, kind: "interaction" | "press"): InteractionRef | undefined {
  const held = fieldsOf(asFields(route.hint) ?? {}, kind);
  const [id, token, applicationId] = ["id", "token", "applicationId"].map((key) => textOf(held, key));
  const at = numberOf(held, "at");
  return id === undefined || token === undefined || applicationId === undefined || at === undefined
    ? undefined
    : { id, token, applicationId, at };
}

function accountOf(interaction: Fields): AccountRef | undefined {
  const member = fieldsOf(interaction, "member");
  const user = asFields(member["user"]) ?? asFields(interaction["user"]);
  const id = user === undefined ? undefined : textOf(user, "id");
  if (user === undefined || id === undefined) return undefined;
  const handle = textOf(user, "username");
  return {
    id,
    displayName: displayName(user, member),
    ...(handle === undefined ? {} : { handle: cleanName(handle, id) }),
    isBot: user["bot"] === true,
  };
}
