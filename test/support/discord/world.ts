/**
 * The state of the emulated Discord: users, channels, messages, interactions, and the wire form of each.
 * Ids are real snowflakes (19 digits, time inside), because the client library routes and sorts by them.
 */

export interface User {
  readonly id: string;
  readonly username: string;
  readonly globalName: string | null;
  readonly bot: boolean;
  /** Server nickname. */
  nick: string | null;
}

/** Discord's channel types: 0 text, 1 DM, 3 group DM, 11 public thread, 12 private thread. */
export interface Channel {
  readonly id: string;
  readonly type: 0 | 1 | 3 | 11 | 12;
  readonly guildId: string | undefined;
  readonly parentId: string | undefined;
  readonly name: string;
  locked: boolean;
  archived: boolean;
  /** What the bot may do here. */
  canView: boolean;
  canSend: boolean;
  /** A DM whose person does not accept messages from the bot. */
  closed: boolean;
  recipients: string[];
}

export interface WireAttachment {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly url: string;
  readonly proxy_url: string;
  readonly content_type?: string;
}

export interface Stored {
  readonly id: string;
  readonly channelId: string;
  readonly authorId: string;
  type: number;
  content: string;
  readonly at: number;
  editedAt: number | undefined;
  nonce: string | undefined;
  readonly history: string[];
  readonly attachments: WireAttachment[];
  readonly files: { readonly name: string; readonly content: string }[];
  components: unknown[];
  readonly replyTo: string | undefined;
  /** Reactions of the bot. */
  readonly reactions: Set<string>;
  flags: number;
  readonly extra: Record<string, unknown>;
  removed: boolean;
  /** True when the message as sent could notify anybody by its text. */
  readonly couldPing: boolean;
  readonly allowedMentions: unknown;
}

export interface Interaction {
  readonly id: string;
  readonly token: string;
  readonly type: 2 | 3;
  readonly channelId: string;
  readonly userId: string;
  readonly messageId: string | undefined;
  readonly at: number;
  acknowledgedAt: number | undefined;
  callbackType: number | undefined;
  originalId: string | undefined;
  expired: boolean;
}

const epoch = 1_420_070_400_000n;
let sequence = 0n;

/** A snowflake for a time; two calls never give the same. */
export function snowflake(at: number = Date.now()): string {
  sequence = (sequence + 1n) & 0x3fffffn;
  return String(((BigInt(at) - epoch) << 22n) | sequence);
}

export class World {
  readonly users = new Map<string, User>();
  readonly channels = new Map<string, Channel>();
  readonly messages = new Map<string, Stored>();
  readonly interactions = new Map<string, Interaction>();
  readonly bytes = new Map<string, { readonly type: string; readonly content: Uint8Array }>();
  commands: { readonly name: string; readonly description: string }[] = [];
  readonly guildId = snowflake();
  readonly bot: User;
  readonly applicationId: string;
  readonly amy: User;
  readonly bob: User;
  readonly otherBot: User;
  readonly botRoleId = snowflake();
  readonly group: Channel;
  readonly thread: Channel;
  readonly dm: Channel;
  /** Who added the bot, as the audit log tells; undefined = the bot may not read the log. */
  addedBy: string | undefined;
  /** False: messages read over REST carry no nonce. */
  nonceInHistory = true;
  /** The switch in the developer portal. */
  contentIntent: "on" | "limited" | "off" = "on";

  constructor() {
    this.bot = this.user("mneme", null, true);
    this.applicationId = this.bot.id;
    this.amy = this.user("amy", "Amy");
    this.bob = this.user("bob", "Bob");
    this.otherBot = this.user("parrot", null, true);
    this.group = this.channel({ type: 0, name: "general", guildId: this.guildId });
    this.thread = this.channel({ type: 11, name: "a thread", guildId: this.guildId, parentId: this.group.id });
    this.dm = this.channel({ type: 1, name: "", recipients: [this.amy.id] });
  }

  user(username: string, globalName: string | null, bot = false): User {
    const made: User = { id: snowflake(), username, globalName, bot, nick: null };
    this.users.set(made.id, made);
    return made;
  }

  channel(spec: {
    readonly type: Channel["type"];
    readonly name: string;
    readonly id?: string;
    readonly guildId?: string;
    readonly parentId?: string;
    readonly recipients?: string[];
  }): Channel {
    const made: Channel = {
      id: spec.id ?? snowflake(),
      type: spec.type,
      name: spec.name,
      guildId: spec.guildId,
      parentId: spec.parentId,
      locked: false,
      archived: false,
      canView: true,
      canSend: true,
      closed: false,
      recipients: spec.recipients ?? [],
    };
    this.channels.set(made.id, made);
    return made;
  }

  /** Messages of one channel, oldest first. */
  inChannel(channelId: string): Stored[] {
    return [...this.messages.values()]
      .filter((message) => message.channelId === channelId && !message.removed)
      .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  }

  wireUser(id: string): Record<string, unknown> {
    const user = this.users.get(id);
    if (user === undefined) throw new Error(`no user ${id}`);
    return {
      id: user.id,
      username: user.username,
      global_name: user.globalName,
      discriminator: user.bot ? "1234" : "0",
      avatar: null,
      public_flags: 0,
      ...(user.bot ? { bot: true } : {}),
    };
  }

  wireMember(id: string): Record<string, unknown> {
    return {
      nick: this.users.get(id)?.nick ?? null,
      roles: id === this.bot.id ? [this.botRoleId] : [],
      joined_at: "2024-01-01T00:00:00.000000+00:00",
      deaf: false,
      mute: false,
      flags: 0,
      avatar: null,
    };
  }

  wireChannel(channel: Channel): Record<string, unknown> {
    if (channel.type === 1 || channel.type === 3) {
      return { id: channel.id, type: channel.type, last_message_id: null, recipients: channel.recipients.map((id) => this.wireUser(id)) };
    }
    const base = {
      id: channel.id,
      type: channel.type,
      guild_id: channel.guildId,
      name: channel.name,
      parent_id: channel.parentId ?? null,
      flags: 0,
    };
    if (channel.type === 0)
      return { ...base, position: 0, permission_overwrites: [], nsfw: false, topic: null, last_message_id: null, rate_limit_per_user: 0 };
    return {
      ...base,
      owner_id: this.amy.id,
      message_count: 0,
      member_count: 1,
      total_message_sent: 0,
      rate_limit_per_user: 0,
      last_message_id: null,
      thread_metadata: {
        archived: channel.archived,
        locked: channel.locked,
        auto_archive_duration: 1440,
        archive_timestamp: "2026-01-01T00:00:00.000000+00:00",
        create_timestamp: "2026-01-01T00:00:00.000000+00:00",
        ...(channel.type === 12 ? { invitable: false } : {}),
      },
    };
  }

  wireGuild(): Record<string, unknown> {
    const all = [...this.channels.values()].filter((channel) => channel.guildId === this.guildId);
    return {
      id: this.guildId,
      name: "The Guild",
      owner_id: this.bob.id,
      joined_at: "2024-01-01T00:00:00.000000+00:00",
      large: false,
      unavailable: false,
      member_count: 3,
      icon: null,
      features: [],
      emojis: [],
      stickers: [],
      voice_states: [],
      presences: [],
      stage_instances: [],
      guild_scheduled_events: [],
      soundboard_sounds: [],
      system_channel_id: this.group.id,
      system_channel_flags: 0,
      verification_level: 0,
      default_message_notifications: 0,
      explicit_content_filter: 0,
      mfa_level: 0,
      nsfw_level: 0,
      premium_tier: 0,
      preferred_locale: "en-US",
      afk_timeout: 300,
      afk_channel_id: null,
      roles: [
        {
          id: this.guildId,
          name: "@everyone",
          color: 0,
          hoist: false,
          position: 0,
          permissions: "274878221376",
          managed: false,
          mentionable: false,
          flags: 0,
        },
        {
          id: this.botRoleId,
          name: "mneme",
          color: 0,
          hoist: false,
          position: 1,
          permissions: "274878221376",
          managed: true,
          mentionable: false,
          flags: 0,
          tags: { bot_id: this.bot.id },
        },
      ],
      members: [this.bot, this.amy, this.bob].map((user) => ({ user: this.wireUser(user.id), ...this.wireMember(user.id) })),
      channels: all.filter((channel) => channel.type === 0).map((channel) => this.wireChannel(channel)),
      threads: all.filter((channel) => channel.type !== 0 && !channel.archived).map((channel) => this.wireChannel(channel)),
    };
  }

  /** The message object; `gateway` adds what only dispatches have, `blank` empties what the content intent guards. */
  wireMessage(message: Stored, form: { readonly gateway: boolean; readonly blank: boolean }, depth = 0): Record<string, unknown> {
    const channel = this.channels.get(message.channelId);
    const mentioned = [...message.content.matchAll(/<@!?(\d+)>/g)].flatMap((match) =>
      match[1] !== undefined && this.users.has(match[1]) ? [match[1]] : [],
    );
    const replied = message.replyTo === undefined ? undefined : this.messages.get(message.replyTo);
    if (replied !== undefined && !replied.removed && replied.authorId !== message.authorId) mentioned.push(replied.authorId);
    const seesContent =
      !form.blank || channel?.guildId === undefined || message.authorId === this.bot.id || mentioned.includes(this.bot.id);
    const member = (id: string): Record<string, unknown> => (channel?.guildId === undefined ? {} : { member: this.wireMember(id) });
    const showNonce = message.nonce !== undefined && message.authorId === this.bot.id && (form.gateway || this.nonceInHistory);
    return {
      id: message.id,
      channel_id: message.channelId,
      type: message.type,
      author: this.wireUser(message.authorId),
      content: seesContent ? message.content : "",
      timestamp: new Date(message.at).toISOString().replace("Z", "000+00:00"),
      edited_timestamp: message.editedAt === undefined ? null : new Date(message.editedAt).toISOString().replace("Z", "000+00:00"),
      tts: false,
      mention_everyone: false,
      mentions: [...new Set(mentioned)].map((id) => ({ ...this.wireUser(id), ...(form.gateway ? member(id) : {}) })),
      mention_roles: [...message.content.matchAll(/<@&(\d+)>/g)].map((match) => match[1]),
      attachments: seesContent ? message.attachments : [],
      embeds: [],
      components: seesContent ? message.components : [],
      pinned: false,
      flags: message.flags,
      ...(message.reactions.size === 0
        ? {}
        : { reactions: [...message.reactions].map((name) => ({ count: 1, me: true, emoji: { id: null, name } })) }),
      ...(showNonce ? { nonce: message.nonce } : {}),
      ...(message.authorId === this.bot.id ? { application_id: this.applicationId } : {}),
      ...(form.gateway && channel?.guildId !== undefined ? { guild_id: channel.guildId, ...member(message.authorId) } : {}),
      ...(form.gateway && channel?.guildId === undefined ? { channel_type: channel?.type } : {}),
      ...(message.replyTo === undefined
        ? {}
        : {
            message_reference: {
              type: 0,
              channel_id: message.channelId,
              message_id: message.replyTo,
              ...(channel?.guildId === undefined ? {} : { guild_id: channel.guildId }),
            },
            ...(depth > 0
              ? {}
              : { referenced_message: replied === undefined || replied.removed ? null : this.wireMessage(replied, form, depth + 1) }),
          }),
      ...message.extra,
    };
  }
}
