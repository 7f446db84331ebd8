/** Who and where: Telegram users and chats to account and chat references. Names stay as the platform gave them; the core cleans them where they are shown. */
import type { AccountRef, ChatRef } from "../../src/domain/message.js";
import type { PlainMessage, TelegramChat, TelegramOrigin, TelegramUser } from "./update.js";

/** The bot's own account, from getMe. */
export interface Self {
  readonly id: string;
  readonly username: string;
}

export function userName(user: TelegramUser): string {
  const name = [user.first_name, user.last_name].filter((part) => part !== undefined && part !== "").join(" ");
  return name === "" ? (user.username ?? String(user.id)) : name;
}

export function userRef(user: TelegramUser): AccountRef {
  return {
    id: String(user.id),
    displayName: userName(user),
    ...(user.username === undefined ? {} : { handle: user.username }),
    isBot: user.is_bot,
  };
}

/** Who spoke. An anonymous administrator or a channel speaks as a chat: then the chat's id is the account, never the stand-in bot's. */
export function accountOf(message: PlainMessage): AccountRef | undefined {
  const { sender_chat: sender, from } = message;
  if (sender !== undefined) return { id: String(sender.id), displayName: sender.title ?? String(sender.id), isBot: false };
  return from === undefined ? undefined : userRef(from);
}

export function chatOf(chat: Pick<TelegramChat, "id" | "type" | "title">): ChatRef {
  return {
    id: String(chat.id),
    kind: chat.type === "private" ? "dm" : "group",
    ...(chat.title === undefined ? {} : { title: chat.title }),
  };
}

/** Whom a forwarded or quoted message comes from. */
export function originName(origin: TelegramOrigin): string {
  if (origin.sender_user !== undefined) return userName(origin.sender_user);
  const chat = origin.sender_chat ?? origin.chat;
  return origin.sender_user_name ?? chat?.title ?? chat?.first_name ?? "unknown";
}
