/**
 * Which messages are commands. Slack refuses slash commands in threads, so `!stop` and `@bot stop` stand in for them;
 * only names the program knows count, because other bots use `!word` too.
 */

export interface Command {
  readonly name: string;
  readonly args: string;
}

/** The names until `setCommands` was called (the menu is only announced when it changed). */
export const usualCommands: readonly string[] = [
  "help",
  "new",
  "stop",
  "retry",
  "undo",
  "status",
  "usage",
  "compress",
  "title",
  "busy",
  "timezone",
  "model",
  "memory",
  "skills",
  "skill",
  "sessions",
  "resume",
  "search",
  "link",
  "unlink",
  "profile",
  "private",
  "forget",
  "again",
  "approve",
];

/**
 * The rule for `!name args` and, where the message is addressed to the bot by a mention, `name` or `name word`.
 * With a mark any arguments may follow. Without one at most one word may, so that "@bot help me write a letter" is talk
 * and "@bot stop" and "@bot approve ABCD2345" are commands.
 * @param text the message as read, the bot's own mention already taken out
 * @param place `marked`: where a mark counts (a thread, a direct message, a mention); `bare`: where a bare word counts (a mention)
 */
export function commandIn(
  text: string,
  known: readonly string[],
  place: { readonly marked: boolean; readonly bare: boolean },
): Command | undefined {
  const match = /^([!/]?)([a-z]+)(?:\s+([\s\S]*))?$/i.exec(text.trim());
  if (match === null) return undefined;
  const name = (match[2] ?? "").toLowerCase();
  const args = (match[3] ?? "").trim();
  if (!known.includes(name)) return undefined;
  if (match[1] !== "") return place.marked ? { name, args } : undefined;
  return place.bare && !/\s/.test(args) ? { name, args } : undefined;
}

/** `/mneme stop now` → stop, "now". Nothing or no word after `/mneme` asks for help. */
export function slashCommand(text: string): Command {
  const match = /^\/?([a-z]+)(?:\s+([\s\S]*))?$/i.exec(text.trim());
  if (match === null) return { name: "help", args: text.trim() };
  return { name: (match[1] ?? "").toLowerCase(), args: (match[2] ?? "").trim() };
}
