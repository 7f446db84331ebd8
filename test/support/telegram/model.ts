/** The emulator's world: accounts, chats, topics and messages, in the Bot API's own JSON. Ids are numbers here, as on the wire. */

export interface TgUser {
  id: number;
  is_bot: boolean;
  first_name: string;
  last_name?: string;
  username?: string;
}

export interface TgChat {
  id: number;
  type: "private" | "group" | "supergroup" | "channel";
  title?: string;
  username?: string;
  first_name?: string;
  is_forum?: true;
}

export interface TgEntity {
  type: string;
  offset: number;
  length: number;
  url?: string;
  language?: string;
  user?: TgUser;
  custom_emoji_id?: string;
}

export interface TgMessage {
  message_id: number;
  date: number;
  chat: TgChat;
  from?: TgUser;
  text?: string;
  caption?: string;
  entities?: TgEntity[];
  caption_entities?: TgEntity[];
  message_thread_id?: number;
  is_topic_message?: true;
  reply_to_message?: TgMessage;
  edit_date?: number;
  reply_markup?: { inline_keyboard: { text: string; callback_data?: string; url?: string }[][] };
  document?: { file_id: string; file_unique_id: string; file_name?: string; mime_type?: string; file_size?: number };
  [field: string]: unknown;
}

export interface TgUpdate {
  update_id: number;
  [kind: string]: unknown;
}

/** A refusal as the Bot API words it. */
export class ApiError extends Error {
  readonly code: number;
  readonly parameters: { retry_after?: number; migrate_to_chat_id?: number } | undefined;

  constructor(code: number, description: string, parameters?: { retry_after?: number; migrate_to_chat_id?: number }) {
    super(description);
    this.code = code;
    this.parameters = parameters;
  }
}

export const bad = (description: string): ApiError => new ApiError(400, `Bad Request: ${description}`);

/** A message of a chat with everything that happened to it. */
export interface Stored {
  message: TgMessage;
  readonly ours: boolean;
  deleted: boolean;
  /** Earlier texts (or captions), oldest first. */
  readonly history: string[];
  reactions: string[];
  /** Bytes of a document sent by the bot. */
  readonly file?: { readonly name: string; readonly mimeType: string; readonly content: Buffer };
  /** Order of arrival over all chats. */
  readonly order: number;
}

export interface Room {
  chat: TgChat;
  /** Topic id -> state; only in forums. Topic 1 (General) is never listed: the server refuses its id. */
  readonly topics: Map<number, "open" | "closed">;
  readonly messages: Map<number, Stored>;
  /** The person blocked the bot, or the bot was kicked. */
  closed: "no" | "blocked" | "kicked" | "deactivated";
  migratedTo: number | undefined;
  nextMessageId: number;
  botIsAdmin: boolean;
}

export interface StoredFile {
  readonly file_id: string;
  readonly file_unique_id: string;
  readonly bytes: Buffer;
  /** What the server claims; a claim over 20 MB makes getFile refuse. */
  readonly file_size: number;
  readonly path: string;
}

export class World {
  readonly bot: TgUser & { username: string };
  readonly rooms = new Map<number, Room>();
  readonly users = new Map<number, TgUser>();
  readonly files = new Map<string, StoredFile>();
  /** Callback query ids that may still be answered. */
  readonly queries = new Set<string>();
  readonly answeredQueries: { id: string; text: string | undefined }[] = [];
  readonly actions: { chatId: number; threadId: number | undefined; action: string; at: number }[] = [];
  readonly commands = new Map<string, { command: string; description: string }[]>();
  now: () => number;
  #order = 0;
  #next = 1000;

  constructor(bot: TgUser & { username: string }, now: () => number) {
    this.bot = bot;
    this.now = now;
  }

  user(id: number, fields: Partial<TgUser> = {}): TgUser {
    const known = this.users.get(id);
    if (known !== undefined && Object.keys(fields).length === 0) return known;
    const user: TgUser = { id, is_bot: false, first_name: `User ${id}`, ...known, ...fields };
    this.users.set(id, user);
    return user;
  }

  room(chat: TgChat): Room {
    const known = this.rooms.get(chat.id);
    if (known !== undefined) return known;
    const room: Room = {
      chat,
      topics: new Map(),
      messages: new Map(),
      closed: "no",
      migratedTo: undefined,
      nextMessageId: chat.type === "supergroup" ? 1 : (this.#next += 1000),
      botIsAdmin: false,
    };
    this.rooms.set(chat.id, room);
    return room;
  }

  /** Finds a chat by what a caller sent; refuses as the server does. */
  target(chatId: unknown): Room {
    const id = typeof chatId === "string" && /^-?\d+$/.test(chatId) ? Number(chatId) : chatId;
    if (id === undefined || id === "") throw bad("chat_id is empty");
    const room = typeof id === "number" ? this.rooms.get(id) : [...this.rooms.values()].find((each) => `@${each.chat.username}` === id);
    if (room === undefined) throw bad("chat not found");
    if (room.migratedTo !== undefined) {
      throw new ApiError(400, "Bad Request: group chat was upgraded to a supergroup chat", { migrate_to_chat_id: room.migratedTo });
    }
    if (room.closed === "blocked") throw new ApiError(403, "Forbidden: bot was blocked by the user");
    if (room.closed === "deactivated") throw new ApiError(403, "Forbidden: user is deactivated");
    if (room.closed === "kicked") throw new ApiError(403, `Forbidden: bot was kicked from the ${room.chat.type} chat`);
    return room;
  }

  add(room: Room, fields: Partial<TgMessage>, extra: { ours: boolean; file?: Stored["file"] }): Stored {
    const message_id = room.nextMessageId;
    room.nextMessageId += 1;
    this.#order += 1;
    const message: TgMessage = { message_id, date: Math.floor(this.now() / 1000), chat: room.chat, ...fields };
    const stored: Stored = {
      message,
      ours: extra.ours,
      deleted: false,
      history: [],
      reactions: [],
      order: this.#order,
      ...(extra.file === undefined ? {} : { file: extra.file }),
    };
    room.messages.set(message_id, stored);
    return stored;
  }

  addFile(bytes: Buffer, name: string, claimedSize?: number): StoredFile {
    const number = this.files.size + 1;
    const file: StoredFile = {
      file_id: `FILE${number}_${"x".repeat(20)}`,
      file_unique_id: `U${number}`,
      bytes,
      file_size: claimedSize ?? bytes.length,
      path: `documents/file_${number}${/\.\w+$/.exec(name)?.[0] ?? ""}`,
    };
    this.files.set(file.file_id, file);
    return file;
  }

  /** What the bot said, in order of arrival; removed messages left out. */
  ours(): Stored[] {
    return [...this.rooms.values()]
      .flatMap((room) => [...room.messages.values()])
      .filter((stored) => stored.ours && !stored.deleted)
      .sort((a, b) => a.order - b.order);
  }
}
