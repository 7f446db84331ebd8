/**
 * Pure: the files of a message -> attachments with what a later download needs. The URL Discord gives expires after
 * about a day; message and attachment id are kept so that a fresh one can be asked for.
 */
import type { Attachment } from "../../src/domain/message.js";
import { type Fields, listOf, numberOf, textOf } from "./fields.js";
import { cleanName } from "./names.js";

/** What is stored as `ref`. */
export type FileRef = {
  readonly url: string;
  readonly id?: string;
  readonly channelId?: string;
  readonly messageId?: string;
};

/** IS_VOICE_MESSAGE (https://discord.com/developers/docs/resources/message#message-object-message-flags). */
const voiceFlag = 1 << 13;
/** Sticker formats that are pictures: PNG, APNG and GIF; format 3 is an animation program. */
const stickerFormats: Readonly<Record<number, { readonly ext: string; readonly mime: string }>> = {
  1: { ext: "png", mime: "image/png" },
  2: { ext: "png", mime: "image/png" },
  4: { ext: "gif", mime: "image/gif" },
};

/** The files and stickers of a message, those of a forwarded one too when its snapshot is passed. */
export function attachmentsOf(message: Fields, home: { readonly channelId: string; readonly messageId: string }): Attachment[] {
  const voice = ((numberOf(message, "flags") ?? 0) & voiceFlag) !== 0;
  const files = listOf(message, "attachments").flatMap((file): Attachment[] => {
    const url = textOf(file, "url");
    if (url === undefined) return [];
    const mimeType = textOf(file, "content_type")?.split(";")[0]?.trim();
    const size = numberOf(file, "size");
    const id = textOf(file, "id");
    const ref: FileRef = { url, ...(id === undefined ? {} : { id }), ...home };
    return [
      {
        kind: voice ? "voice" : kindOf(mimeType),
        name: cleanName(textOf(file, "filename") ?? "file", "file"),
        ...(mimeType === undefined ? {} : { mimeType }),
        ...(size === undefined ? {} : { size }),
        ref,
      },
    ];
  });
  const stickers = listOf(message, "sticker_items").flatMap((sticker): Attachment[] => {
    const id = textOf(sticker, "id");
    if (id === undefined || !/^\d+$/.test(id)) return [];
    const format = stickerFormats[numberOf(sticker, "format_type") ?? 0];
    const host = format?.ext === "gif" ? "media.discordapp.net" : "cdn.discordapp.com";
    const ref: FileRef = { url: `https://${host}/stickers/${id}.${format?.ext ?? "json"}` };
    const name = cleanName(textOf(sticker, "name") ?? "sticker", "sticker");
    return [{ kind: "sticker", name, ...(format === undefined ? {} : { mimeType: format.mime }), ref }];
  });
  return [...files, ...stickers];
}

/** Reads a stored `ref` back; undefined when it is not one of ours. */
export function readFileRef(ref: unknown): FileRef | undefined {
  if (typeof ref !== "object" || ref === null) return undefined;
  const fields = ref as Fields;
  const url = textOf(fields, "url");
  if (url === undefined) return undefined;
  const [id, channelId, messageId] = ["id", "channelId", "messageId"].map((key) => textOf(fields, key));
  return {
    url,
    ...(id === undefined ? {} : { id }),
    ...(channelId === undefined ? {} : { channelId }),
    ...(messageId === undefined ? {} : { messageId }),
  };
}

function kindOf(mimeType: string | undefined): Attachment["kind"] {
  const [family] = (mimeType ?? "").split("/");
  if (family === "image" || family === "audio" || family === "video") return family;
  return "document";
}
