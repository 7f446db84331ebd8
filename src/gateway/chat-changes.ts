/**
 * What happens to a chat itself (added, blocked, migrated) and what a stranger is offered. One place for both, since a
 * group is admitted here or never.
 */
import { accountKey, isGroup } from "../domain/identity.js";
import type { ChatChange, InboundEvent, InboundMessage } from "../domain/message.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Access } from "../ports/access.js";
import type { NewOutbox, Outbox } from "../ports/mailbox.js";
import type { Sessions } from "../ports/stores.js";
import { text, type Language } from "../words/catalogue.js";
import type { Channels } from "./channels.js";
import type { Gate, Verdict } from "./gate.js";
import type { Pairing } from "./pairing.js";
import type { Replies } from "./replies.js";
import { quoteName } from "../safety/fence.js";

export interface ChatChangesDeps {
  readonly access: Access;
  readonly sessions: Sessions;
  readonly outbox: Outbox;
  readonly gate: Gate;
  readonly pairing: Pairing;
  readonly replies: Replies;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Offer = Extract<Verdict, { admit: false }>["offer"];

export class ChatChanges {
  readonly #deps: ChatChangesDeps;

  constructor(deps: ChatChangesDeps) {
    this.#deps = deps;
  }

  /** Applies a change; returns what is said about it. */
  async apply(event: ChatChange, language: Language): Promise<NewOutbox[]> {
    const { access, sessions, outbox, clock } = this.#deps;
    const { change, platform, chat } = event;
    await access.noteChat(platform, chat, clock.now());
    switch (change.type) {
      case "migrated":
        await sessions.migrateChat(platform, chat.id, change.toChatId);
        await outbox.moveChat(platform, chat.id, { newChatId: change.toChatId });
        return [];
      case "unreachable":
      case "bot-removed":
        await access.markChat(platform, chat.id, change.type);
        await outbox.moveChat(platform, chat.id, { refuse: change.type });
        return [];
      case "reachable":
        await access.markChat(platform, chat.id, undefined);
        return [];
      case "bot-added":
        return this.#added(event, language);
      default:
        return change satisfies never;
    }
  }

  /** What somebody who is not admitted is offered: a code, or nothing. */
  async offer(event: InboundMessage, offer: Offer, language: Language): Promise<NewOutbox[]> {
    if (offer === "silent") return [];
    return this.#code(event, event.route, offer, language);
  }

  async #added(event: ChatChange, language: Language): Promise<NewOutbox[]> {
    const { access, gate, clock, replies } = this.#deps;
    if (!isGroup(event.chat.kind)) return [];
    await access.markChat(event.platform, event.chat.id, undefined);
    const route = { platform: event.platform, chatId: event.chat.id };
    const account = await access.ensureAccount(event.platform, event.account, clock.now());
    const chat = await access.chat(event.platform, event.chat.id);
    if (gate.roleOf(account) === "operator") {
      await access.admitChat(event.platform, event.chat.id, true, accountKey(event.platform, event.account.id), clock.now());
      return replies.rows(route, text(language, "access.bot-added"), "notice");
    }
    if (chat !== undefined && gate.chatAdmitted(event, chat)) return replies.rows(route, text(language, "access.bot-added"), "notice");
    return gate.mode === "pairing" ? this.#code(event, route, "pair-chat", language) : [];
  }

  async #code(event: InboundEvent, route: InboundMessage["route"], offer: "pair" | "pair-chat", language: Language): Promise<NewOutbox[]> {
    const { pairing, replies, channels } = this.#deps;
    const group = offer === "pair-chat";
    const code = await pairing.offer({
      subject: group ? "chat" : "account",
      platform: event.platform,
      subjectId: group ? event.chat.id : event.account.id,
      label: quoteName(group ? (event.chat.title ?? event.chat.id) : event.account.displayName),
      route,
    });
    if (code === "full") {
      this.#deps.logger.warn(
        { platform: event.platform },
        "too many pairing codes wait: strangers hear nothing until some are approved or expire",
      );
    }
    if (typeof code === "string") return [];
    const approve = `\`${channels.commandText(event.platform, "approve")} ${code.code}\``;
    this.#deps.logger.info({ subject: code.subject, account: accountKey(code.platform, code.subjectId) }, "a pairing code was shown");
    const key = group ? "access.group-code" : "pairing.code";
    return replies.rows(route, text(language, key, { code: `**${code.code}**`, approve }), "notice");
  }
}
