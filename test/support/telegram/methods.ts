/** Bot API methods that act on chats: each checks its arguments as strictly as the server and changes the world, or throws an ApiError. */
import { format } from "./markup.js";
import { ApiError, bad, type Room, type Stored, type TgMessage, type World } from "./model.js";

export interface Upload {
  readonly name: string;
  readonly mimeType: string;
  readonly content: Buffer;
}

export interface Call {
  readonly params: Readonly<Record<string, unknown>>;
  readonly files: ReadonlyMap<string, Upload>;
}

type Method = (world: World, call: Call) => unknown;

/** Emoji that bots may use as reactions (core.telegram.org/bots/api#reactiontypeemoji). */
const reactionEmoji = new Set(
  "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡".split(
    " ",
  ),
);

const actions = new Set([
  "typing",
  "upload_photo",
  "record_video",
  "upload_video",
  "record_voice",
  "upload_voice",
  "upload_document",
  "choose_sticker",
  "find_location",
  "record_video_note",
  "upload_video_note",
]);

export const methods: Readonly<Record<string, Method>> = {
  getMe: () => undefined, // answered by the server, which knows the bot's settings
  sendMessage: (world, call) => {
    const room = world.target(call.params["chat_id"]);
    const formatted = format(call.params["text"], call.params["parse_mode"], call.params["entities"], 4096, "text");
    return post(world, room, call, { text: formatted.text, ...(formatted.entities.length > 0 ? { entities: formatted.entities } : {}) });
  },
  sendDocument: (world, call) => {
    const room = world.target(call.params["chat_id"]);
    const upload = call.files.get("document");
    if (upload === undefined) throw bad("there is no document in the request");
    if (upload.content.length === 0) throw bad("file must be non-empty");
    if (upload.content.length > 50 * 1024 * 1024) throw new ApiError(413, "Request Entity Too Large");
    const formatted = format(call.params["caption"], call.params["parse_mode"], call.params["caption_entities"], 1024, "caption");
    const file = world.addFile(upload.content, upload.name);
    return post(
      world,
      room,
      call,
      {
        document: {
          file_id: file.file_id,
          file_unique_id: file.file_unique_id,
          file_name: upload.name,
          mime_type: upload.mimeType,
          file_size: file.file_size,
        },
        ...(formatted.text === "" ? {} : { caption: formatted.text }),
      },
      upload,
    );
  },
  editMessageText: (world, call) => {
    const room = world.target(call.params["chat_id"]);
    const stored = room.messages.get(Number(call.params["message_id"]));
    if (stored === undefined || stored.deleted) throw bad("message to edit not found");
    if (!stored.ours) throw bad("message can't be edited");
    if (stored.message.text === undefined) throw bad("there is no text in the message to edit");
    const formatted = format(call.params["text"], call.params["parse_mode"], call.params["entities"], 4096, "text");
    const markup = keyboard(call.params["reply_markup"]);
    const before = stored.message;
    const same =
      before.text === formatted.text &&
      JSON.stringify(before.entities ?? []) === JSON.stringify(formatted.entities) &&
      JSON.stringify(before.reply_markup) === JSON.stringify(markup);
    if (same) {
      throw bad(
        "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    }
    stored.history.push(before.text ?? "");
    const { entities: _entities, reply_markup: _markup, ...rest } = before;
    stored.message = {
      ...rest,
      text: formatted.text,
      edit_date: Math.floor(world.now() / 1000),
      ...(formatted.entities.length > 0 ? { entities: formatted.entities } : {}),
      ...(markup === undefined ? {} : { reply_markup: markup }),
    };
    return stored.message;
  },
  deleteMessage: (world, call) => {
    const room = world.target(call.params["chat_id"]);
    const stored = room.messages.get(Number(call.params["message_id"]));
    if (stored === undefined || stored.deleted) throw bad("message to delete not found");
    if (!stored.ours && room.chat.type !== "private" && !room.botIsAdmin) throw bad("message can't be deleted");
    stored.deleted = true;
    return true;
  },
  sendChatAction: (world, call) => {
    const room = world.target(call.params["chat_id"]);
    const action = String(call.params["action"]);
    if (!actions.has(action)) throw bad("wrong parameter action in request");
    const threadId = thread(room, call.params["message_thread_id"]);
    world.actions.push({ chatId: room.chat.id, threadId, action, at: world.now() });
    return true;
  },
  setMessageReaction: (world, call) => {
    const room = world.target(call.params["chat_id"]);
    const stored = room.messages.get(Number(call.params["message_id"]));
    if (stored === undefined || stored.deleted) throw bad("message to react not found");
    const reaction = json(call.params["reaction"]) ?? [];
    if (!Array.isArray(reaction)) throw bad("can't parse reaction types JSON object");
    if (reaction.length > 1) throw bad("REACTIONS_TOO_MANY");
    const emoji = reaction.map((each: { type?: string; emoji?: string }) => {
      if (each.type !== "emoji" || !reactionEmoji.has(each.emoji ?? "")) throw bad("REACTION_INVALID");
      return each.emoji ?? "";
    });
    stored.reactions = emoji;
    return true;
  },
  getFile: (world, call) => {
    const file = world.files.get(String(call.params["file_id"]));
    if (file === undefined) throw bad("wrong file_id or the file is temporarily unavailable");
    if (file.file_size > 20 * 1024 * 1024) throw bad("file is too big");
    return { file_id: file.file_id, file_unique_id: file.file_unique_id, file_size: file.file_size, file_path: file.path };
  },
  answerCallbackQuery: (world, call) => {
    const id = String(call.params["callback_query_id"]);
    const text = call.params["text"];
    if (typeof text === "string" && text.length > 200) throw bad("MESSAGE_TOO_LONG");
    if (!world.queries.delete(id)) throw bad("query is too old and response timeout expired or query ID is invalid");
    world.answeredQueries.push({ id, text: typeof text === "string" ? text : undefined });
    return true;
  },
  setMyCommands: (world, call) => {
    const list = json(call.params["commands"]);
    if (!Array.isArray(list)) throw bad("can't parse list of bot commands JSON");
    if (list.length > 100) throw bad("BOT_COMMANDS_TOO_MUCH");
    for (const each of list as { command?: unknown; description?: unknown }[]) {
      if (typeof each.command !== "string" || !/^[a-z0-9_]{1,32}$/.test(each.command)) throw bad("BOT_COMMAND_INVALID");
      if (typeof each.description !== "string" || each.description.length < 1 || each.description.length > 256)
        throw bad("BOT_COMMAND_DESCRIPTION_INVALID");
    }
    world.commands.set(scope(call), list as { command: string; description: string }[]);
    return true;
  },
  getMyCommands: (world, call) => world.commands.get(scope(call)) ?? [],
  getChat: (world, call) => ({ ...world.target(call.params["chat_id"]).chat, accent_color_id: 0, max_reaction_count: 11 }),
};

function post(world: World, room: Room, call: Call, content: Partial<TgMessage>, file?: Upload): TgMessage {
  const threadId = thread(room, call.params["message_thread_id"]);
  const reply = replyTarget(room, call);
  const markup = keyboard(call.params["reply_markup"]);
  const stored = world.add(
    room,
    {
      from: world.bot,
      ...content,
      ...(threadId === undefined ? {} : { message_thread_id: threadId, is_topic_message: true as const }),
      ...(reply === undefined ? {} : { reply_to_message: reply.message }),
      ...(markup === undefined ? {} : { reply_markup: markup }),
    },
    { ours: true, ...(file === undefined ? {} : { file }) },
  );
  return stored.message;
}

function thread(room: Room, id: unknown): number | undefined {
  if (id === undefined || id === null || id === "" || id === 0) return undefined;
  const state = room.topics.get(Number(id));
  if (state === undefined) throw bad("message thread not found");
  if (state === "closed") throw bad("TOPIC_CLOSED");
  return Number(id);
}

function replyTarget(room: Room, call: Call): Stored | undefined {
  const given = json(call.params["reply_parameters"]) as { message_id?: unknown; allow_sending_without_reply?: unknown } | undefined;
  const id = given?.message_id ?? call.params["reply_to_message_id"];
  if (id === undefined) return undefined;
  const stored = room.messages.get(Number(id));
  if (stored !== undefined && !stored.deleted) return stored;
  const allowed = given?.allow_sending_without_reply ?? call.params["allow_sending_without_reply"];
  if (allowed === true || allowed === "true") return undefined;
  throw bad("message to be replied not found");
}

function keyboard(given: unknown): TgMessage["reply_markup"] {
  const markup = json(given) as TgMessage["reply_markup"];
  if (markup === undefined) return undefined;
  if (!Array.isArray(markup.inline_keyboard)) throw bad("object expected as reply markup");
  for (const button of markup.inline_keyboard.flat()) {
    if (typeof button.text !== "string" || button.text === "") throw bad("text buttons are unallowed in the inline keyboard");
    const data = button.callback_data;
    if (data === undefined && button.url === undefined) throw bad("text buttons are unallowed in the inline keyboard");
    if (data !== undefined && (Buffer.byteLength(data) < 1 || Buffer.byteLength(data) > 64)) throw bad("BUTTON_DATA_INVALID");
  }
  return markup;
}

function scope(call: Call): string {
  return JSON.stringify([json(call.params["scope"]) ?? null, call.params["language_code"] ?? ""]);
}

function json(value: unknown): unknown {
  if (typeof value !== "string") return value ?? undefined;
  try {
    return JSON.parse(value);
  } catch {
    throw bad("can't parse JSON object");
  }
}
