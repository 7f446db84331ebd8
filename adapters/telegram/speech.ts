/**
 * What was said and to whom: the Markdown text without the bot's own mention, the command, and how the bot was addressed.
 * A command with another bot's name addresses that bot, even in a reply to ours.
 */
import type { Addressed, InboundMessage, QuotedMessage } from "../../src/domain/message.js";
import type { Self } from "./accounts.js";
import { cut, entityMarkdown, type EntityText } from "./entities.js";
import type { PlainMessage, TelegramEntity } from "./update.js";

export interface Body {
  readonly text: string;
  readonly mentioned: boolean;
  readonly command: InboundMessage["command"];
  /** Whose name stands behind the command: `@this_bot`, `@other_bot` or nobody's. */
  readonly commandFor: "self" | "other" | "anyone" | undefined;
}

/** Text or caption of a message, with its entities. */
export function spoken(message: Pick<PlainMessage, "text" | "caption" | "entities" | "caption_entities">): EntityText {
  return message.text === undefined
    ? { text: message.caption ?? "", entities: message.caption_entities ?? [] }
    : { text: message.text, entities: message.entities ?? [] };
}

/** Reads the body. In a forwarded message mentions and commands are quoted words and mean nothing. */
export function bodyOf(message: PlainMessage, self: Self): Body {
  const said = spoken(message);
  if (message.forward_origin !== undefined)
    return { text: entityMarkdown(said), mentioned: false, command: undefined, commandFor: undefined };

  const mentions = said.entities.filter((entity) => isOwnMention(entity, said.text, self)).toSorted((a, b) => b.offset - a.offset);
  const bare = mentions.reduce((rest, mention) => cut(rest, mention.offset, mention.length), said);
  const plain = { text: entityMarkdown(bare).trim(), mentioned: mentions.length > 0 };

  const entity = bare.entities.find((each) => each.type === "bot_command" && bare.text.slice(0, each.offset).trim() === "");
  const match = entity === undefined ? null : /^\/(\w+)(?:@(\w+))?$/.exec(bare.text.slice(entity.offset, entity.offset + entity.length));
  const name = match?.[1]?.toLowerCase();
  if (entity === undefined || name === undefined) return { ...plain, command: undefined, commandFor: undefined };
  const target = match?.[2];
  if (target !== undefined && target.toLowerCase() !== self.username.toLowerCase())
    return { ...plain, command: undefined, commandFor: "other" };
  const args = entityMarkdown(cut(bare, entity.offset, entity.length)).trim();
  return {
    text: args === "" ? `/${name}` : `/${name} ${args}`,
    mentioned: plain.mentioned,
    command: { name, args },
    commandFor: target === undefined ? "anyone" : "self",
  };
}

function isOwnMention(entity: TelegramEntity, text: string, self: Self): boolean {
  if (entity.type === "text_mention") return String(entity.user?.id) === self.id;
  if (entity.type !== "mention") return false;
  return text.slice(entity.offset, entity.offset + entity.length).toLowerCase() === `@${self.username.toLowerCase()}`;
}

/** How the bot was addressed; undefined when it was not. */
export function addressOf(message: PlainMessage, body: Body, replyTo: QuotedMessage | undefined): Addressed | undefined {
  if (message.chat.type === "private") return "dm";
  if (body.commandFor === "self") return "command";
  if (body.mentioned) return "mention";
  if (body.commandFor === "other" || message.forward_origin !== undefined) return undefined;
  return replyTo?.fromSelf === true ? "reply" : undefined;
}
