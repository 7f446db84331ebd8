/** /busy and /model: what this chat does differently. In a group operators choose; in a direct message everybody for themselves. */
import { isBusyMode, type ChatPlace, type ChatSettings } from "../gateway/chat-settings.js";
import type { Command, CommandContext, CommandReply } from "../gateway/commands.js";
import { quoteName } from "../safety/fence.js";
import { text } from "../words/catalogue.js";

export interface SettingsCommandDeps {
  readonly chats: ChatSettings;
  /** Models that everybody may choose, the standard one among them. */
  readonly models: readonly string[];
}

export function settingsCommands(deps: SettingsCommandDeps): Command[] {
  return [
    { name: "busy", help: "help.busy", who: "everybody", where: "anywhere", run: (context) => busy(deps, context) },
    { name: "model", help: "help.model", who: "everybody", where: "anywhere", run: (context) => model(deps, context) },
  ];
}

async function busy({ chats }: SettingsCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, args } = context;
  const place = placeIn(context);
  const command = `\`${context.form("busy")}\``;
  const mode = args.toLowerCase();
  if (mode === "") return { markdown: text(language, "busy.is", { mode: chats.busyModeOf(place), busy: command }) };
  if (!mayChoose(context)) return { markdown: text(language, "access.operators-only") };
  if (mode !== "default" && !isBusyMode(mode)) return { markdown: text(language, "busy.usage", { busy: command }) };
  await chats.choose(place, "busy", mode === "default" ? undefined : mode);
  return { markdown: text(language, "busy.set", { mode: chats.busyModeOf(place) }) };
}

async function model({ chats, models }: SettingsCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, args, speaker } = context;
  const place = placeIn(context);
  const offered = models.map((name) => `\`${name}\``).join(", ");
  if (args === "") {
    const any = text(language, "model.any", { command: `\`${context.form("model")}\`` });
    const more = speaker.role === "operator" ? any : models.length > 1 ? text(language, "model.choices", { models: offered }) : "";
    return { markdown: text(language, "model.is", { model: `\`${chats.modelOf(place)}\``, more }).trim() };
  }
  if (!mayChoose(context)) return { markdown: text(language, "access.operators-only") };
  if (args.toLowerCase() !== "default" && speaker.role !== "operator" && !models.includes(args)) {
    return { markdown: text(language, "model.not-offered", { model: quoteName(args), models: offered }) };
  }
  await chats.choose(place, "model", args.toLowerCase() === "default" ? undefined : quoteName(args));
  return { markdown: text(language, "model.set", { model: `\`${chats.modelOf(place)}\`` }) };
}

function mayChoose({ inGroup, speaker }: CommandContext): boolean {
  return !inGroup || speaker.role === "operator";
}

function placeIn({ message }: CommandContext): ChatPlace {
  const { platform, chat, threadId } = message;
  return { platform, chatId: chat.id, threadId, parentId: chat.parentId, containerId: chat.containerId };
}
