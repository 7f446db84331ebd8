/**
 * Pure: Discord's wire text -> plain Markdown. Ids become names, the bot's own mention is taken out. Names are put in
 * after cleaning, in one pass, so that a name can never be read as another mark.
 */
import { type Fields, fieldsOf, listOf, textOf } from "./fields.js";
import { cleanName, displayName } from "./names.js";

/** What the cache knows of a guild; undefined when it does not know. */
export interface NameSource {
  channelName(id: string): string | undefined;
  roleName(guildId: string, roleId: string): string | undefined;
  /** True for the role Discord made for this bot: people pick it by mistake when they mean the bot. */
  isBotRole(guildId: string, roleId: string): boolean;
}

export interface TextContext {
  readonly botId: string;
  readonly guildId: string | undefined;
  readonly names: NameSource;
}

/** Mentions, emoji, timestamps and command links (https://discord.com/developers/docs/reference#message-formatting). */
const marks =
  /<(?:@!?(?<user>\d+)|@&(?<role>\d+)|#(?<channel>\d+)|a?:(?<emoji>\w+):\d+|t:(?<time>-?\d+)(?::[A-Za-z])?|\/(?<command>[^:>]+):\d+)>/g;

/** Whether the text itself names the bot (a reply's silent ping does not). */
export function namesBot(content: string, context: TextContext): boolean {
  for (const match of content.matchAll(marks)) {
    const { user, role } = match.groups ?? {};
    if (user !== undefined && user === context.botId) return true;
    if (role !== undefined && context.guildId !== undefined && context.names.isBotRole(context.guildId, role)) return true;
  }
  return false;
}

/** The message's text as people read it, without the bot's own mention. */
export function readableText(content: string, message: Fields, context: TextContext): string {
  const people = new Map<string, string>();
  for (const user of listOf(message, "mentions")) {
    const id = textOf(user, "id");
    if (id !== undefined) people.set(id, displayName(user, fieldsOf(user, "member")));
  }
  const own = /[ \t]*\u0000[ \t]*/g; // NUL cannot come from Discord: `content` is cleared of it first
  const resolved = content.replaceAll("\u0000", "").replaceAll(marks, (whole, ...rest: unknown[]) => {
    const groups = rest.at(-1) as Record<string, string | undefined>;
    return resolveMark(whole, groups, people, context);
  });
  return resolved.replaceAll(own, " ").trim();
}

function resolveMark(
  whole: string,
  groups: Record<string, string | undefined>,
  people: ReadonlyMap<string, string>,
  context: TextContext,
): string {
  const { user, role, channel, emoji, time, command } = groups;
  if (user !== undefined) return user === context.botId ? "\u0000" : `@${people.get(user) ?? user}`;
  if (role !== undefined) {
    if (context.guildId === undefined) return `@${role}`;
    if (context.names.isBotRole(context.guildId, role)) return "\u0000";
    return `@${cleanName(context.names.roleName(context.guildId, role) ?? role, role)}`;
  }
  if (channel !== undefined) return `#${cleanName(context.names.channelName(channel) ?? channel, channel)}`;
  if (emoji !== undefined) return `:${emoji}:`;
  if (command !== undefined) return `/${command}`;
  return time === undefined ? whole : readableTime(Number(time), whole);
}

function readableTime(seconds: number, whole: string): string {
  const date = new Date(seconds * 1_000);
  return Number.isNaN(date.getTime()) ? whole : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
