/**
 * The parts of Telegram's JSON that we read, checked. An optional field of the wrong shape counts as absent, so one odd
 * field never costs a message; only ids and dates are required.
 */
import { z } from "zod";

const maybe = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined);
const id = z.int();
const text = maybe(z.string());

const user = z.object({
  id,
  is_bot: z.boolean().catch(false),
  first_name: z.string().catch(""),
  last_name: text,
  username: text,
});

const chat = z.object({
  id,
  type: z.enum(["private", "group", "supergroup", "channel"]),
  title: text,
  first_name: text,
});

const entity = z.object({
  type: z.string(),
  offset: z.int().min(0),
  length: z.int().min(1),
  url: text,
  language: text,
  user: maybe(user),
});

/** A list in which an element of the wrong shape is left out. */
const list = <T extends z.ZodType>(schema: T) =>
  maybe(z.array(maybe(schema)).transform((all) => all.filter((each): each is NonNullable<typeof each> => each !== undefined)));

const file = z.object({
  file_id: z.string(),
  file_unique_id: text,
  file_name: text,
  mime_type: text,
  file_size: maybe(z.number()),
});

const sticker = file.extend({ emoji: text, is_animated: maybe(z.boolean()), is_video: maybe(z.boolean()) });

const media = {
  photo: list(file.extend({ width: z.number().catch(0), height: z.number().catch(0) })),
  document: maybe(file),
  audio: maybe(file.extend({ performer: text, title: text })),
  voice: maybe(file),
  video: maybe(file),
  video_note: maybe(file),
  animation: maybe(file),
  sticker: maybe(sticker),
};

const origin = z.object({
  type: z.string(),
  sender_user: maybe(user),
  sender_user_name: text,
  sender_chat: maybe(chat),
  chat: maybe(chat),
});

const plainMessage = z.object({
  message_id: id,
  date: z.number(),
  edit_date: maybe(z.number()),
  chat,
  from: maybe(user),
  sender_chat: maybe(chat),
  message_thread_id: maybe(id),
  is_topic_message: maybe(z.boolean()),
  is_automatic_forward: maybe(z.boolean()),
  text,
  caption: text,
  entities: list(entity),
  caption_entities: list(entity),
  media_group_id: text,
  forward_origin: maybe(origin),
  forum_topic_created: maybe(z.unknown()),
  migrate_to_chat_id: maybe(id),
  migrate_from_chat_id: maybe(id),
  location: maybe(z.object({ latitude: z.number(), longitude: z.number() })),
  venue: maybe(z.object({ title: z.string(), address: z.string().catch("") })),
  contact: maybe(z.object({ phone_number: z.string(), first_name: z.string().catch(""), last_name: text })),
  poll: maybe(z.object({ question: z.string(), options: list(z.object({ text: z.string() })) })),
  dice: maybe(z.object({ emoji: z.string(), value: z.number() })),
  ...media,
});

/** Content that people can send and we cannot show. */
const unsupported = ["story", "game", "invoice", "paid_media", "checklist", "giveaway"] as const;

const message = z
  .looseObject({
    ...plainMessage.shape,
    reply_to_message: maybe(plainMessage),
    external_reply: maybe(z.object({ origin, ...media })),
    quote: maybe(z.object({ text: z.string(), entities: list(entity) })),
  })
  .transform((all) => ({ ...all, unsupported: unsupported.some((field) => field in all) }));

const memberStatus = z.object({ status: z.string(), is_member: maybe(z.boolean()) });

const update = z.object({
  update_id: id,
  message: maybe(message),
  edited_message: maybe(message),
  callback_query: maybe(
    z.object({
      id: z.string(),
      from: user,
      data: text,
      message: maybe(z.object({ message_id: id, chat, message_thread_id: maybe(id), is_topic_message: maybe(z.boolean()) })),
    }),
  ),
  my_chat_member: maybe(z.object({ chat, from: user, date: z.number(), old_chat_member: memberStatus, new_chat_member: memberStatus })),
});

export type TelegramUser = z.infer<typeof user>;
export type TelegramChat = z.infer<typeof chat>;
export type TelegramEntity = z.infer<typeof entity>;
export type TelegramOrigin = z.infer<typeof origin>;
export type PlainMessage = z.infer<typeof plainMessage>;
export type TelegramMessage = z.infer<typeof message>;
export type TelegramUpdate = z.infer<typeof update>;
export type TelegramMedia = Pick<PlainMessage, keyof typeof media>;

/** The update kinds asked for; everything else Telegram does not send. */
export const allowedUpdates = ["message", "edited_message", "callback_query", "my_chat_member"] as const;

/** Checks one update; undefined when it has no usable id. */
export function parseUpdate(raw: unknown): TelegramUpdate | undefined {
  const parsed = update.safeParse(raw);
  return parsed.success ? parsed.data : undefined;
}

const bones = z.object({
  message: z.object({ message_id: id, chat: z.object({ id, type: maybe(z.enum(["private", "group", "supergroup"])) }), from: user }),
});

/** What is left of a message that did not pass: enough to store that it could not be read. Undefined when not even ids are there. */
export function messageBones(raw: unknown): z.infer<typeof bones>["message"] | undefined {
  const parsed = bones.safeParse(raw);
  return parsed.success ? parsed.data.message : undefined;
}
