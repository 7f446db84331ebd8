/**
 * What the client's cache knows of places and names, in our words. Asks Discord for a channel only when the cache does
 * not have it, and remembers the answer.
 */
import type { Client } from "discord.js";
import type { Api } from "./api.js";
import { asFields, type Fields, given, numberOf, textOf } from "./fields.js";
import { type Place, placeFromPayload, placeOf } from "./place.js";
import type { NameSource } from "./text-in.js";

const remembered = 1_000;

export class Guide implements NameSource {
  readonly #client: Client;
  readonly #api: Api;
  readonly #asked = new Map<string, Place>();

  constructor(options: { readonly client: Client; readonly api: Api }) {
    this.#client = options.client;
    this.#api = options.api;
  }

  /**
   * The place with this id, as the cache, the event or Discord knows it. Rejects when Discord does not say. An interaction
   * brings its channel along: it may come from one that the bot is no member of.
   */
  async place(id: string, event: Fields): Promise<Place> {
    const cached = this.#client.channels.cache.get(id);
    if (cached !== undefined) {
      const named = "name" in cached && typeof cached.name === "string" ? cached.name : undefined;
      return placeOf(id, cached.type, {
        guildId: cached.isDMBased() ? undefined : cached.guildId,
        parentId: cached.isDMBased() ? undefined : (cached.parentId ?? undefined),
        name: named,
      });
    }
    const brought = asFields(event["channel"]);
    if (brought !== undefined) return placeFromPayload(id, { ...brought, ...given("guild_id", textOf(event, "guild_id")) });
    const type = numberOf(event, "channel_type");
    if (type === 1 || type === 3) return placeOf(id, type, {});
    const before = this.#asked.get(id);
    if (before !== undefined) return before;
    const asked = placeFromPayload(id, await this.#api.channel(id));
    this.#asked.set(id, asked);
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > remembered && oldest !== undefined) this.#asked.delete(oldest);
    return asked;
  }

  channelName(id: string): string | undefined {
    const channel = this.#client.channels.cache.get(id);
    return channel !== undefined && "name" in channel && typeof channel.name === "string" ? channel.name : undefined;
  }

  roleName(guildId: string, roleId: string): string | undefined {
    return this.#client.guilds.cache.get(guildId)?.roles.cache.get(roleId)?.name;
  }

  isBotRole(guildId: string, roleId: string): boolean {
    const self = this.#client.user?.id;
    return self !== undefined && this.#client.guilds.cache.get(guildId)?.roles.cache.get(roleId)?.tags?.botId === self;
  }
}
