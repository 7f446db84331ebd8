/**
 * A strict emulator of the Telegram Bot API on 127.0.0.1, with an in-process control side: people act through `inject`
 * and the shorthands, and what the chats show is read from `sent`. Real clients talk to `url`.
 */
import { ApiError, World, type Room, type Stored, type TgEntity, type TgMessage, type TgUpdate, type TgUser } from "./model.js";
import { detect } from "./markup.js";
import { BotApiServer, type FaultPlan, type FloodLimits, type SeenCall } from "./server.js";
import { UpdateQueue } from "./updates.js";

export interface TelegramEmulatorOptions {
  readonly port?: number;
  readonly token?: string;
  readonly username?: string;
  /** Privacy mode: group messages that are no command, reply or service message are not sent to the bot. */
  readonly privacy?: boolean;
  readonly flood?: FloodLimits;
  readonly now?: () => number;
  /** Routes for other processes under /control/ (see main.ts). */
  readonly control?: (emulator: TelegramEmulator) => (path: string, body: unknown) => unknown;
}

/** What a person adds to a message besides its text. */
export interface Said {
  readonly from?: number;
  /** Topic of a forum. */
  readonly topic?: number;
  /** The id of the message replied to. */
  readonly replyTo?: number;
  readonly entities?: TgEntity[];
  /** Further fields of the message, in the Bot API's JSON (photo, document, forward_origin …). */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface TelegramEmulator {
  readonly url: string;
  readonly token: string;
  readonly bot: TgUser & { username: string };
  readonly world: World;
  readonly updates: UpdateQueue;
  readonly calls: readonly SeenCall[];
  /** What the bot said, as the chats show it now, in order of arrival; `history` has earlier texts. */
  readonly sent: readonly Stored[];
  /** Sets up a person with an open private chat (id = user id). */
  person(id: number, fields?: Partial<TgUser>): TgUser;
  group(id: number, title: string, type?: "group" | "supergroup"): Room;
  /** Opens a topic in a supergroup; the id is that of its service message. Id 1 (General) cannot be made. */
  topic(chatId: number, id: number): void;
  inject(update: Omit<TgUpdate, "update_id">): TgUpdate | undefined;
  /** A text (or, with `fields`, any other) message; entities are found as the server does. */
  say(chatId: number, text: string, said?: Said): TgMessage;
  edit(chatId: number, messageId: number, text: string): TgMessage;
  /** Photos of one album, with the caption on the given index. */
  album(chatId: number, count: number, caption: { readonly at: number; readonly text: string }, said?: Said): TgMessage[];
  photo(): { photo: object[] };
  document(name: string, mimeType: string, bytes: Buffer, claimedSize?: number): { document: object };
  press(chatId: number, messageId: number, data: string, from: number): string;
  member(chatId: number, change: "added" | "removed" | "blocked" | "unblocked", by: number): void;
  /** Upgrades a group: a new supergroup with the id, service messages in both, sends to the old id are refused. */
  migrate(chatId: number, newId: number): void;
  remove(chatId: number, messageId: number): void;
  /** Plans faults for a method ("file" for downloads); returns what ends the plan. */
  fail(method: string, plan: FaultPlan): () => void;
  clearFaults(): void;
  cut(): void;
  /** Refuses connections until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  /** Waits until the bot has sent `count` messages in all. */
  waitSent(count: number, timeoutMs?: number): Promise<readonly Stored[]>;
  /** Waits until a call has happened for which the condition holds. */
  waitFor(what: (emulator: TelegramEmulator) => boolean, timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startTelegramEmulator(options: TelegramEmulatorOptions = {}): Promise<TelegramEmulator> {
  const token = options.token ?? "700123:TEST-token_for-the-emulator";
  const bot = { id: Number(token.split(":")[0]), is_bot: true, first_name: "Mneme", username: options.username ?? "MnemeTestBot" };
  const world = new World(bot, options.now ?? (() => Date.now()));
  const updates = new UpdateQueue();
  const control: { route?: (path: string, body: unknown) => unknown } = {};
  const server = new BotApiServer({
    token,
    world,
    updates,
    me: () => ({
      ...bot,
      can_join_groups: true,
      can_read_all_group_messages: options.privacy !== true,
      supports_inline_queries: false,
      can_connect_to_business: false,
      has_main_web_app: false,
    }),
    httpWebhooks: true,
    ...(options.flood === undefined ? {} : { flood: options.flood }),
    control: (path, body) => {
      if (control.route === undefined) throw new ApiError(404, "Not Found");
      return control.route(path, body);
    },
  });
  await server.listen(options.port);
  let port = 0;
  let albums = 0;
  let photos = 0;
  let queries = 0;
  const watchers = new Set<() => void>();
  server.onCall = () => {
    for (const watcher of [...watchers]) watcher();
  };

  const room = (chatId: number): Room => {
    const found = world.rooms.get(chatId);
    if (found === undefined) throw new Error(`no chat ${chatId} in the emulator`);
    return found;
  };
  const speaker = (chat: Room, said: Said): TgUser => world.user(said.from ?? (chat.chat.type === "private" ? chat.chat.id : 0));

  const compose = (chatId: number, fields: Partial<TgMessage>, said: Said): Stored => {
    const chat = room(chatId);
    const quoted = said.replyTo === undefined ? undefined : chat.messages.get(said.replyTo)?.message;
    const { reply_to_message: _deeper, ...flat } = quoted ?? ({} as TgMessage);
    return world.add(
      chat,
      {
        from: speaker(chat, said),
        ...(said.topic === undefined ? {} : { message_thread_id: said.topic, is_topic_message: true as const }),
        ...(quoted === undefined ? {} : { reply_to_message: flat }),
        ...fields,
        ...said.fields,
      },
      { ours: said.from === bot.id },
    );
  };
  const visible = (message: TgMessage): boolean => {
    if (options.privacy !== true || message.chat.type === "private" || room(message.chat.id).botIsAdmin) return true;
    if (message.reply_to_message?.from?.id === bot.id) return true;
    const command = /^\/\w+(?:@(\w+))?/.exec(message.text ?? message.caption ?? "");
    if (command !== null) return command[1] === undefined || command[1].toLowerCase() === bot.username.toLowerCase();
    return message.text === undefined && message.caption === undefined && !("photo" in message) && !("document" in message);
  };
  const deliver = (stored: Stored): TgMessage => {
    if (!stored.ours && visible(stored.message)) updates.push({ message: stored.message });
    return stored.message;
  };

  const emulator: TelegramEmulator = {
    get url() {
      return server.url;
    },
    token,
    bot,
    world,
    updates,
    get calls() {
      return server.calls;
    },
    get sent() {
      return world.ours();
    },
    person(id, fields = {}) {
      const user = world.user(id, fields);
      world.room({ id, type: "private", first_name: user.first_name, ...(user.username === undefined ? {} : { username: user.username }) });
      return user;
    },
    group(id, title, type = "supergroup") {
      return world.room({ id, type, title });
    },
    topic(chatId, id) {
      if (id === 1) throw new Error("topic 1 is General: the server refuses its id");
      const forum = room(chatId);
      forum.chat.is_forum = true;
      forum.topics.set(id, "open");
    },
    inject: (update) => updates.push(update),
    say(chatId, text, said = {}) {
      const media =
        said.fields !== undefined &&
        ["photo", "document", "voice", "audio", "video", "animation", "sticker"].some((key) => key in (said.fields ?? {}));
      const entities = said.entities ?? detect(text);
      const body: Partial<TgMessage> = media
        ? { ...(text === "" ? {} : { caption: text, ...(entities.length > 0 ? { caption_entities: entities } : {}) }) }
        : { text, ...(entities.length > 0 ? { entities } : {}) };
      return deliver(compose(chatId, body, said));
    },
    edit(chatId, messageId, text) {
      const stored = room(chatId).messages.get(messageId);
      if (stored === undefined) throw new Error(`no message ${messageId} to edit`);
      stored.history.push(stored.message.text ?? stored.message.caption ?? "");
      const entities = detect(text);
      stored.message = { ...stored.message, text, edit_date: Math.floor(world.now() / 1000), ...(entities.length > 0 ? { entities } : {}) };
      updates.push({ edited_message: stored.message });
      return stored.message;
    },
    album(chatId, count, caption, said = {}) {
      albums += 1;
      const media_group_id = `albumid${albums}`;
      return Array.from({ length: count }, (_, index) =>
        emulator.say(chatId, index === caption.at ? caption.text : "", {
          ...said,
          fields: { ...said.fields, ...emulator.photo(), media_group_id },
        }),
      );
    },
    photo() {
      // Each photo is another one: the beginning of a JPEG, then its number.
      photos += 1;
      const small = world.addFile(jpeg(90, photos), "small.jpg");
      const large = world.addFile(jpeg(1024, photos), "large.jpg");
      const size = (file: typeof small, width: number): object => ({
        file_id: file.file_id,
        file_unique_id: file.file_unique_id,
        file_size: file.file_size,
        width,
        height: width,
      });
      return { photo: [size(small, 90), size(large, 800)] };
    },
    document(name, mimeType, bytes, claimedSize) {
      const file = world.addFile(bytes, name, claimedSize);
      return {
        document: {
          file_id: file.file_id,
          file_unique_id: file.file_unique_id,
          file_name: name,
          mime_type: mimeType,
          file_size: file.file_size,
        },
      };
    },
    press(chatId, messageId, data, from) {
      queries += 1;
      const id = `4382bfdwdsb323b2d9${queries}`;
      world.queries.add(id);
      const stored = room(chatId).messages.get(messageId);
      updates.push({ callback_query: { id, from: world.user(from), message: stored?.message, chat_instance: `instance${chatId}`, data } });
      return id;
    },
    member(chatId, change, by) {
      const target = room(chatId);
      const status = { added: "member", removed: "left", blocked: "kicked", unblocked: "member" }[change];
      const before = { added: "left", removed: "member", blocked: "member", unblocked: "kicked" }[change];
      target.closed = change === "removed" ? "kicked" : change === "blocked" ? "blocked" : "no";
      updates.push({
        my_chat_member: {
          chat: target.chat,
          from: world.user(by),
          date: Math.floor(world.now() / 1000),
          old_chat_member: { user: bot, status: before, ...(before === "kicked" ? { until_date: 0 } : {}) },
          new_chat_member: { user: bot, status, ...(status === "kicked" ? { until_date: 0 } : {}) },
        },
      });
    },
    migrate(chatId, newId) {
      const old = room(chatId);
      const fresh = world.room({ id: newId, type: "supergroup", ...(old.chat.title === undefined ? {} : { title: old.chat.title }) });
      const anyone = world.user([...world.users.keys()][0] ?? 1);
      deliver(world.add(old, { from: anyone, migrate_to_chat_id: newId }, { ours: false }));
      old.migratedTo = newId;
      deliver(world.add(fresh, { from: anyone, migrate_from_chat_id: chatId }, { ours: false }));
    },
    remove(chatId, messageId) {
      const stored = room(chatId).messages.get(messageId);
      if (stored !== undefined) stored.deleted = true;
    },
    fail: (method, plan) => server.fail(method, plan),
    clearFaults: () => server.clearFaults(),
    cut: () => server.cut(),
    async down() {
      port = await server.down();
    },
    up: () => server.listen(port),
    async waitSent(count, timeoutMs) {
      await emulator.waitFor(() => world.ours().length >= count, timeoutMs);
      return world.ours();
    },
    waitFor(what, timeoutMs = 5_000) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (!what(emulator)) return;
          done();
          resolve();
        };
        const done = (): void => {
          clearTimeout(timer);
          clearInterval(looking);
          watchers.delete(look);
        };
        const looking = setInterval(look, 20); // for conditions that no call changes
        const timer = setTimeout(() => {
          done();
          const last = server.calls
            .slice(-8)
            .map((call) => `${call.method} ${call.outcome}`)
            .join(", ");
          reject(new Error(`not within ${timeoutMs} ms; the last calls were: ${last}`));
        }, timeoutMs);
        watchers.add(look);
        look();
      });
    },
    async stop() {
      updates.stop();
      await server.down();
    },
  };
  if (options.control !== undefined) control.route = options.control(emulator);
  return emulator;
}

function jpeg(size: number, fill: number): Buffer {
  return Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(size - 4, fill)]);
}

export type { Stored, TgChat, TgEntity, TgMessage, TgUpdate, TgUser } from "./model.js";
