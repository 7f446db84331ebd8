/**
 * The one access decision, for messages, commands and buttons. It fails closed: what no rule admits is refused. Only
 * who may speak is decided here; whether the bot was addressed is asked separately.
 */
import { accountKey, isGroup, type Account, type Role, type Speaker } from "../domain/identity.js";
import type { InboundEvent } from "../domain/message.js";
import type { ChatRow } from "../ports/access.js";

export interface AccessRules {
  readonly mode: "pairing" | "allowlist" | "open";
  /** `platform:id` each. */
  readonly operators: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
  /** Chats, guilds or workspaces. */
  readonly groups: ReadonlySet<string>;
  readonly bots: ReadonlySet<string>;
}

export type Verdict =
  | { readonly admit: true; readonly speaker: Speaker }
  /** `pair`: offer the account a code · `pair-chat`: offer one for the group · `silent`: say nothing. */
  | { readonly admit: false; readonly offer: "pair" | "pair-chat" | "silent"; readonly reason: string };

export interface GateDeps {
  readonly rules: AccessRules;
}

export class Gate {
  readonly #deps: GateDeps;

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /** Decides about one event. `account` and `chat` are the stored rows of its account and chat. */
  decide(event: InboundEvent, account: Account, chat: ChatRow): Verdict {
    const key = accountKey(event.platform, event.account.id);
    if (event.account.isBot) return this.#bot(event, key, account, chat);
    const role = this.#role(key, account, event.account.foreignTeam === true);
    return isGroup(event.chat.kind) ? this.#group(event, account, chat, role) : this.#direct(event, account, role);
  }

  #direct(event: InboundEvent, account: Account, role: Role | undefined): Verdict {
    if (role !== undefined && role !== "guest") return admit(account, role);
    if (this.mode !== "pairing") return silent("not on the list");
    return event.account.foreignTeam === true ? silent("another workspace") : { admit: false, offer: "pair", reason: "not paired" };
  }

  #group(event: InboundEvent, account: Account, chat: ChatRow, role: Role | undefined): Verdict {
    // An operator is answered anywhere; that admits nobody else.
    if (role === "operator" || this.chatAdmitted(event, chat)) return admit(account, role ?? "guest");
    return this.mode === "pairing" ? { admit: false, offer: "pair-chat", reason: "group not admitted" } : silent("group not on the list");
  }

  /** A listed bot that names this one literally acts as a guest; no other bot is answered. */
  #bot(event: InboundEvent, key: string, account: Account, chat: ChatRow): Verdict {
    const literal = event.kind === "message" && event.literalMention === true;
    if (!this.knowsBot(key) || !literal) return silent("another bot");
    if (isGroup(event.chat.kind) && !this.chatAdmitted(event, chat)) return silent("another bot in a group that is not admitted");
    return admit(account, "guest");
  }

  get mode(): AccessRules["mode"] {
    return this.#deps.rules.mode;
  }

  /** Other bots are ignored unless they are listed. */
  knowsBot(key: string): boolean {
    return this.#deps.rules.bots.has(key);
  }

  /** The role an account has by itself; undefined when it is not admitted. */
  roleOf(account: Account): Role | undefined {
    return this.#role(accountKey(account.platform, account.accountId), account, false);
  }

  #role(key: string, account: Account, foreign: boolean): Role | undefined {
    const { rules } = this.#deps;
    if (rules.operators.has(key)) return "operator";
    if (account.admittedAt !== undefined) return account.role;
    if (rules.users.has(key)) return "user";
    return rules.mode === "open" && !foreign ? "user" : undefined;
  }

  /** Whether members of this chat may speak as guests. */
  chatAdmitted(event: InboundEvent, chat: ChatRow): boolean {
    const { rules } = this.#deps;
    if (rules.mode === "open" || chat.admitted) return true;
    const ids = [event.chat.id, event.chat.parentId, event.chat.containerId];
    return ids.some((id) => id !== undefined && rules.groups.has(accountKey(event.platform, id)));
  }
}

function admit(account: Account, role: Role): Verdict {
  return {
    admit: true,
    speaker: {
      platform: account.platform,
      accountId: account.accountId,
      personId: account.personId,
      role,
      displayName: account.displayName,
      ...(account.handle === undefined ? {} : { handle: account.handle }),
    },
  };
}

function silent(reason: string): Verdict {
  return { admit: false, offer: "silent", reason };
}
