/**
 * The REST calls the adapter makes, each once and with its body; errors pass through as the library throws them.
 * Interaction calls carry the interaction's token in the path and never the bot's.
 */
import type { RawFile, REST } from "discord.js";
import type { InteractionRef } from "./interactions.js";
import { asFields, type Fields, textOf } from "./fields.js";
import type { Sdk } from "./sdk.js";
import { TransportError } from "./transport.js";

/** A message to create or change, with its files. */
export interface MessageBody {
  readonly body: Fields;
  readonly files: readonly RawFile[];
}

export class Api {
  readonly sdk: Sdk;
  readonly #rest: REST;

  constructor(sdk: Sdk, rest: REST) {
    this.sdk = sdk;
    this.#rest = rest;
  }

  async createMessage(channelId: string, message: MessageBody, signal: AbortSignal): Promise<string> {
    return idOf(
      await this.#rest.post(this.sdk.Routes.channelMessages(channelId), { body: message.body, files: [...message.files], signal }),
    );
  }

  async editMessage(channelId: string, messageId: string, message: MessageBody, signal: AbortSignal): Promise<void> {
    await this.#rest.patch(this.sdk.Routes.channelMessage(channelId, messageId), { body: message.body, files: [...message.files], signal });
  }

  async deleteMessage(channelId: string, messageId: string, signal: AbortSignal): Promise<void> {
    await this.#rest.delete(this.sdk.Routes.channelMessage(channelId, messageId), { signal });
  }

  async message(channelId: string, messageId: string, signal?: AbortSignal): Promise<Fields> {
    return objectOf(await this.#rest.get(this.sdk.Routes.channelMessage(channelId, messageId), signal === undefined ? {} : { signal }));
  }

  /** At most 100, newest first, as Discord gives them. */
  async messages(
    channelId: string,
    range: { readonly before?: string; readonly after?: string; readonly limit: number },
    signal?: AbortSignal,
  ): Promise<Fields[]> {
    const query = new URLSearchParams({ limit: String(Math.min(100, Math.max(1, range.limit))) });
    if (range.before !== undefined) query.set("before", range.before);
    if (range.after !== undefined) query.set("after", range.after);
    const list = await this.#rest.get(this.sdk.Routes.channelMessages(channelId), { query, ...(signal === undefined ? {} : { signal }) });
    if (!Array.isArray(list)) throw new TransportError("unknown", "a list of messages was expected");
    return list.map((item) => asFields(item)).filter((item) => item !== undefined);
  }

  async channel(channelId: string): Promise<Fields> {
    return objectOf(await this.#rest.get(this.sdk.Routes.channel(channelId)));
  }

  async type(channelId: string, signal: AbortSignal): Promise<void> {
    await this.#rest.post(this.sdk.Routes.channelTyping(channelId), { signal });
  }

  async react(channelId: string, messageId: string, emoji: string, on: boolean, signal: AbortSignal): Promise<void> {
    const route = this.sdk.Routes.channelMessageOwnReaction(channelId, messageId, encodeURIComponent(emoji));
    await (on ? this.#rest.put(route, { signal }) : this.#rest.delete(route, { signal }));
  }

  /** A thread started from a message has the message's id. */
  async startThread(channelId: string, messageId: string, name: string, signal: AbortSignal): Promise<void> {
    await this.#rest.post(this.sdk.Routes.threads(channelId, messageId), { body: { name, auto_archive_duration: 1440 }, signal });
  }

  async setCommands(applicationId: string, commands: readonly object[]): Promise<void> {
    await this.#rest.put(this.sdk.Routes.applicationCommands(applicationId), { body: commands });
  }

  /** Who added bots to the server lately, newest first. */
  async botAdditions(
    guildId: string,
  ): Promise<{ readonly botId: string | undefined; readonly by: string | undefined; readonly user: Fields }[]> {
    const query = new URLSearchParams({ action_type: "28", limit: "10" });
    const log = objectOf(await this.#rest.get(this.sdk.Routes.guildAuditLog(guildId), { query }));
    const entries = Array.isArray(log["audit_log_entries"]) ? log["audit_log_entries"].map((entry) => asFields(entry) ?? {}) : [];
    const users = Array.isArray(log["users"]) ? log["users"].map((user) => asFields(user) ?? {}) : [];
    return entries.map((entry) => {
      const by = textOf(entry, "user_id");
      return { botId: textOf(entry, "target_id"), by, user: users.find((user) => textOf(user, "id") === by) ?? {} };
    });
  }

  /** Type 5: an answer follows (commands). Type 6: nothing more to wait for (buttons). */
  async acknowledge(ref: InteractionRef, type: 5 | 6): Promise<void> {
    await this.#rest.post(this.sdk.Routes.interactionCallback(ref.id, ref.token), { body: { type }, auth: false });
  }

  async original(ref: InteractionRef, signal: AbortSignal): Promise<Fields> {
    return objectOf(await this.#rest.get(this.sdk.Routes.webhookMessage(ref.applicationId, ref.token), { auth: false, signal }));
  }

  async editOriginal(ref: InteractionRef, message: MessageBody, signal: AbortSignal): Promise<string> {
    return idOf(
      await this.#rest.patch(this.sdk.Routes.webhookMessage(ref.applicationId, ref.token), {
        body: message.body,
        files: [...message.files],
        auth: false,
        signal,
      }),
    );
  }

  /** Any message of the interaction: the deferred answer or a follow-up. */
  async editCommandMessage(ref: InteractionRef, messageId: string, message: MessageBody, signal: AbortSignal): Promise<void> {
    const route = this.sdk.Routes.webhookMessage(ref.applicationId, ref.token, messageId);
    await this.#rest.patch(route, { body: message.body, files: [...message.files], auth: false, signal });
  }

  async followUp(ref: InteractionRef, message: MessageBody, signal?: AbortSignal): Promise<string> {
    const route = this.sdk.Routes.webhook(ref.applicationId, ref.token);
    return idOf(
      await this.#rest.post(route, {
        body: message.body,
        files: [...message.files],
        auth: false,
        ...(signal === undefined ? {} : { signal }),
      }),
    );
  }
}

function objectOf(value: unknown): Fields {
  const fields = asFields(value);
  if (fields === undefined) throw new TransportError("unknown", "an object was expected");
  return fields;
}

/** The id of a confirmed message. A success without one confirms nothing. */
function idOf(value: unknown): string {
  const id = textOf(objectOf(value), "id");
  if (id === undefined) throw new TransportError("unknown", "the answer names no message");
  return id;
}
