/** Accounts, chats, pairing codes and the audit: who may speak. Same promises as ports/stores.ts. */
import type { Account, Role } from "../domain/identity.js";
import type { ChatKind, ChatRef, Route } from "../domain/message.js";

export interface ChatRow {
  readonly platform: string;
  readonly chatId: string;
  readonly kind: ChatKind;
  readonly parentId?: string;
  readonly containerId?: string;
  readonly title?: string;
  readonly admitted: boolean;
  readonly unreachable?: string;
}

export interface PairingCode {
  readonly code: string;
  /** `account`: admits a person; `chat`: admits a group. */
  readonly subject: "account" | "chat";
  readonly platform: string;
  readonly subjectId: string;
  readonly label: string;
  /** Where the code was asked for: the word that it was approved goes there. */
  readonly route: Route;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When the code message was last sent. */
  readonly shownAt: number;
}

export interface AuditRow {
  readonly at: number;
  readonly actor: string;
  readonly act: string;
  readonly subject: string;
  readonly detail?: string;
}

export interface Access {
  account(platform: string, accountId: string): Promise<Account | undefined>;
  /** Finds the account or creates it with a person and that person's space; names are refreshed. A new one is a `guest` that is not admitted. */
  ensureAccount(
    platform: string,
    account: { readonly id: string; readonly displayName: string; readonly handle?: string },
    now: number,
  ): Promise<Account>;
  /** Admits an account with a role (undefined takes the admission away) and writes the audit row. */
  admit(platform: string, accountId: string, role: Role | undefined, actor: string, now: number): Promise<void>;
  accounts(filter?: { readonly role?: Role; readonly personId?: string }): Promise<Account[]>;
  chat(platform: string, chatId: string): Promise<ChatRow | undefined>;
  /** Remembers a chat as seen with an event; creates a group space when needed. Returns the row and the id of its space. */
  noteChat(platform: string, chat: ChatRef, now: number): Promise<ChatRow & { spaceId: string }>;
  admitChat(platform: string, chatId: string, admitted: boolean, actor: string, now: number): Promise<void>;
  markChat(platform: string, chatId: string, unreachable: string | undefined): Promise<void>;
  /** Pending codes that have not expired. */
  codes(now: number): Promise<PairingCode[]>;
  putCode(code: PairingCode): Promise<void>;
  dropCode(code: string): Promise<void>;
  /** Wrong tries of a caller since an instant. */
  wrongTries(caller: string, since: number): Promise<number>;
  noteWrongTry(caller: string, now: number): Promise<void>;
  audit(row: AuditRow): Promise<void>;
  audits(limit: number): Promise<AuditRow[]>;
}
