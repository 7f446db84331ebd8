/**
 * A strict Discord on loopback: REST v10 and Gateway v10 over real sockets, with a control side for tests.
 * It refuses what Discord refuses; the client library under test is the real one.
 */
import { Gateway } from "./gateway.js";
import { RestServer, type Call, type Failure, type RateLimit } from "./rest-server.js";
import { Routes } from "./routes.js";
import { snowflake, World, type Channel, type Interaction, type Stored, type User, type WireAttachment } from "./world.js";

export interface EmulatorOptions {
  readonly token?: string;
  readonly heartbeatMs?: number;
  readonly contentIntent?: "on" | "limited" | "off";
  /** Limits by route name; other routes have a wide one. */
  readonly limits?: Readonly<Record<string, RateLimit>>;
}

export interface SaySpec {
  readonly in: Channel;
  readonly by?: User;
  readonly text?: string;
  readonly replyTo?: string;
  readonly files?: readonly {
    readonly name: string;
    readonly type: string;
    readonly content: Uint8Array;
    readonly size?: number;
    readonly expired?: boolean;
  }[];
  readonly type?: number;
  readonly flags?: number;
  /** More fields of the wire form (snapshots, webhook_id …). */
  readonly extra?: Record<string, unknown>;
  /** True: stored but nobody is told, like a message sent while the bot was away. */
  readonly unseen?: boolean;
}

export interface DiscordEmulator {
  readonly apiUrl: string;
  readonly world: World;
  readonly gateway: Gateway;
  readonly calls: readonly Call[];
  readonly typing: readonly { readonly channelId: string; readonly at: number }[];
  token: string;
  sessionStarts: Routes["sessionStarts"];
  /** Messages of the bot as the chats show them now, removed ones left out, in order. */
  sent(channelId?: string): Stored[];
  callsOf(route: string): Call[];
  say(spec: SaySpec): Stored;
  edit(messageId: string, text: string): void;
  /** A MESSAGE_UPDATE that changes no text, as when a link preview was added. */
  unfurl(messageId: string): void;
  remove(messageId: string): void;
  command(spec: { readonly in: Channel; readonly name: string; readonly args?: string; readonly by?: User }): Interaction;
  press(spec: { readonly messageId: string; readonly data: string; readonly by?: User }): Interaction;
  /** Changes a thread and tells the sessions. */
  setThread(thread: Channel, state: { readonly locked?: boolean; readonly archived?: boolean }): void;
  /** The bot is added to another server; its id. */
  addGuild(): string;
  removeGuild(): void;
  /** Sends any dispatch to every session, for malformed ones too. */
  raw(t: string, d: unknown): void;
  fail(route: string, failure: Failure): void;
  clearFailures(): void;
  refuseFor(ms: number): Promise<void>;
  waitFor(condition: () => boolean, what: string, timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startDiscordEmulator(options: EmulatorOptions = {}): Promise<DiscordEmulator> {
  const world = new World();
  world.contentIntent = options.contentIntent ?? "on";
  let token = options.token ?? `${Buffer.from(world.bot.id).toString("base64")}.Gtest0.not-a-real-token-for-the-emulator`;
  const watchers = new Set<() => void>();
  const changed = (): void => {
    for (const watcher of [...watchers]) watcher();
  };
  const gateway = await Gateway.start(world, () => token, options.heartbeatMs ?? 41_250);
  const routes = new Routes(world, () => gateway);
  const rest = new RestServer(routes.list(), () => token, changed);
  for (const [route, limit] of Object.entries(options.limits ?? {})) rest.limits.set(route, limit);
  await rest.listen();

  const attach = (channel: Channel, file: NonNullable<SaySpec["files"]>[number]): WireAttachment => {
    const id = snowflake();
    world.bytes.set(`${id}/${file.name}`, { type: file.type, content: file.content });
    const expires = Math.floor(Date.now() / 1_000) + (file.expired === true ? -60 : 86_400);
    const url = `${rest.origin}/attachments/${channel.id}/${id}/${encodeURIComponent(file.name)}?ex=${expires.toString(16)}&is=1&hm=abc&`;
    return { id, filename: file.name, size: file.size ?? file.content.byteLength, url, proxy_url: url, content_type: file.type };
  };

  const interact = (type: 2 | 3, channel: Channel, by: User, messageId: string | undefined, data: object): Interaction => {
    const made: Interaction = {
      id: snowflake(),
      token: `interaction-${snowflake()}`,
      type,
      channelId: channel.id,
      userId: by.id,
      messageId,
      at: Date.now(),
      acknowledgedAt: undefined,
      callbackType: undefined,
      originalId: undefined,
      expired: false,
    };
    world.interactions.set(made.id, made);
    const carried = messageId === undefined ? undefined : world.messages.get(messageId);
    const guild = channel.guildId !== undefined;
    gateway.dispatch("INTERACTION_CREATE", "all", () => ({
      id: made.id,
      application_id: world.applicationId,
      type,
      token: made.token,
      version: 1,
      channel_id: channel.id,
      channel: world.wireChannel(channel),
      locale: "en-US",
      entitlements: [],
      authorizing_integration_owners: {},
      context: guild ? 0 : 1,
      app_permissions: "274878221376",
      attachment_size_limit: 10_485_760,
      ...(guild
        ? { guild_id: channel.guildId, member: { user: world.wireUser(by.id), ...world.wireMember(by.id), permissions: "0" } }
        : { user: world.wireUser(by.id) }),
      ...(carried === undefined ? {} : { message: world.wireMessage(carried, { gateway: false, blank: false }) }),
      data,
    }));
    return made;
  };

  return {
    apiUrl: `${rest.origin}/api`,
    world,
    gateway,
    calls: rest.calls,
    typing: routes.typing,
    get token() {
      return token;
    },
    set token(value) {
      token = value;
    },
    get sessionStarts() {
      return routes.sessionStarts;
    },
    set sessionStarts(value) {
      routes.sessionStarts = value;
    },
    sent(channelId) {
      return [...world.messages.values()].filter(
        (message) => message.authorId === world.bot.id && !message.removed && (channelId === undefined || message.channelId === channelId),
      );
    },
    callsOf(route) {
      return rest.calls.filter((call) => call.route === route);
    },
    say(spec) {
      const id = snowflake();
      const message: Stored = {
        id,
        channelId: spec.in.id,
        authorId: (spec.by ?? world.amy).id,
        type: spec.type ?? (spec.replyTo === undefined ? 0 : 19),
        content: spec.text ?? "",
        at: Date.now(),
        editedAt: undefined,
        nonce: undefined,
        history: [],
        attachments: (spec.files ?? []).map((file) => attach(spec.in, file)),
        files: [],
        components: [],
        replyTo: spec.replyTo,
        reactions: new Set(),
        flags: spec.flags ?? 0,
        extra: spec.extra ?? {},
        removed: false,
        couldPing: false,
        allowedMentions: undefined,
      };
      world.messages.set(id, message);
      if (spec.unseen !== true) routes.announce("MESSAGE_CREATE", message);
      return message;
    },
    edit(messageId, text) {
      const message = world.messages.get(messageId);
      if (message === undefined) throw new Error(`no message ${messageId}`);
      message.history.push(message.content);
      message.content = text;
      message.editedAt = Date.now();
      routes.announce("MESSAGE_UPDATE", message);
    },
    unfurl(messageId) {
      const message = world.messages.get(messageId);
      if (message === undefined) throw new Error(`no message ${messageId}`);
      routes.announce("MESSAGE_UPDATE", message);
    },
    remove(messageId) {
      const message = world.messages.get(messageId);
      if (message !== undefined) message.removed = true;
      gateway.dispatch("MESSAGE_DELETE", "all", () => ({ id: messageId, channel_id: message?.channelId }));
    },
    command({ in: channel, name, args, by }) {
      const option = args === undefined || args === "" ? [] : [{ name: "text", type: 3, value: args }];
      return interact(2, channel, by ?? world.amy, undefined, { id: snowflake(), name, type: 1, options: option });
    },
    press({ messageId, data, by }) {
      const message = world.messages.get(messageId);
      const channel = message === undefined ? undefined : world.channels.get(message.channelId);
      if (channel === undefined) throw new Error(`no message ${messageId}`);
      return interact(3, channel, by ?? world.amy, messageId, { custom_id: data, component_type: 2 });
    },
    setThread(thread, state) {
      thread.locked = state.locked ?? thread.locked;
      thread.archived = state.archived ?? thread.archived;
      gateway.dispatch("THREAD_UPDATE", "guilds", () => world.wireChannel(thread));
    },
    addGuild() {
      const id = snowflake();
      gateway.dispatch("GUILD_CREATE", "guilds", () => ({
        ...world.wireGuild(),
        id,
        name: "New Guild",
        channels: [],
        threads: [],
        joined_at: new Date().toISOString(),
      }));
      return id;
    },
    removeGuild() {
      gateway.dispatch("GUILD_DELETE", "guilds", () => ({ id: world.guildId }));
    },
    raw(t, d) {
      gateway.dispatch(t, "all", () => d);
    },
    fail(route, failure) {
      rest.fail(route, failure);
    },
    clearFailures() {
      rest.clearFailures();
    },
    refuseFor(ms) {
      return rest.refuseFor(ms);
    },
    waitFor(condition, what, timeoutMs = 5_000) {
      return new Promise((resolve, reject) => {
        const done = (): void => {
          clearInterval(poll);
          clearTimeout(limit);
          watchers.delete(look);
        };
        const look = (): void => {
          if (!condition()) return;
          done();
          resolve();
        };
        const poll = setInterval(look, 10);
        const limit = setTimeout(() => {
          done();
          reject(new Error(`not within ${timeoutMs} ms: ${what}`));
        }, timeoutMs);
        watchers.add(look);
        look();
      });
    },
    async stop() {
      await gateway.stop();
      await rest.close();
    },
  };
}
