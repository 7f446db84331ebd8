/**
 * Accounts, people, spaces and roles; the one function that builds a session key.
 * A person's own space has the person's id, so that "whose memory" is never a look-up that can fail open.
 */
import type { ChatKind, ChatRef } from "./message.js";

export type Role = "operator" | "user" | "guest";

export interface Account {
  readonly platform: string;
  readonly accountId: string;
  readonly personId: string;
  readonly displayName: string;
  readonly handle?: string;
  readonly role: Role;
  /** Epoch ms when the account was admitted itself; absent for guests of an admitted group. */
  readonly admittedAt?: number;
}

export interface Space {
  readonly id: string;
  readonly kind: "person" | "group";
}

/** Who is acting, decided by the gate once and passed on explicitly; there is no ambient "current user". */
export interface Speaker {
  readonly platform: string;
  readonly accountId: string;
  readonly personId: string;
  readonly role: Role;
  readonly displayName: string;
  readonly handle?: string;
}

export type GroupScope = "chat" | "member";

/** Account key used in access lists and settings: `platform:id`. */
export function accountKey(platform: string, accountId: string): string {
  return `${platform}:${accountId}`;
}

export interface SessionPlace {
  readonly platform: string;
  readonly chat: ChatRef;
  readonly threadId?: string;
  readonly accountId: string;
}

/**
 * The session key. DMs: one per account (and per thread where the platform has threads in DMs).
 * Groups: one per chat and thread, or per member of it with `member`. Throws nothing; a missing chat id in a DM
 * falls back to the account, so two people can never share a key.
 */
export function sessionKey(place: SessionPlace, groupScope: GroupScope): string {
  const thread = place.threadId === undefined ? "" : `/${encode(place.threadId)}`;
  if (place.chat.kind === "dm") {
    return `${encode(place.platform)}/dm/${encode(place.accountId)}${thread}`;
  }
  const member = groupScope === "member" ? `@${encode(place.accountId)}` : "";
  return `${encode(place.platform)}/chat/${encode(place.chat.id)}${thread}${member}`;
}

/** The chat whose space a conversation belongs to: a public thread belongs to its channel, a private one to itself. */
export function spaceChatId(chat: ChatRef): string {
  return chat.kind === "thread" && !chat.isPrivate && chat.parentId !== undefined ? chat.parentId : chat.id;
}

/**
 * The search scope token of an origin: an account's DM or a group chat, never a person, so that linking changes no
 * index row. Letters and digits only, because it stands in a full-text index.
 */
export function originOf(place: { readonly platform: string; readonly chat: ChatRef; readonly accountId: string }): string {
  return place.chat.kind === "dm" ? `${place.platform}:dm:${place.accountId}` : `${place.platform}:chat:${spaceChatId(place.chat)}`;
}

export function isGroup(kind: ChatKind): boolean {
  return kind !== "dm";
}

function encode(part: string): string {
  return encodeURIComponent(part);
}
