/** Telegram media to attachments. Pure; `ref` keeps the file id (not the unique id, which cannot be downloaded). */
import type { Attachment } from "../../src/domain/message.js";
import type { PlainMessage, TelegramMedia } from "./update.js";

const imageTypes = new Set(["image/jpeg", "image/png", "image/webp", "image/gif"]);

/** The files of a message, at most one except for odd payloads; a photo gives its largest size. */
export function readAttachments(media: TelegramMedia): Attachment[] {
  const photo = media.photo?.toSorted((a, b) => b.width * b.height - a.width * a.height)[0];
  return [
    from("image", photo, "photo.jpg", "image/jpeg"),
    from("voice", media.voice, "voice.ogg", "audio/ogg"),
    from("audio", media.audio, `${media.audio?.title ?? "audio"}.mp3`, "audio/mpeg"),
    from("video", media.video, "video.mp4", "video/mp4"),
    from("video", media.video_note, "video-note.mp4", "video/mp4"),
    ...sticker(media.sticker),
    from("video", media.animation, "animation.mp4", "video/mp4"),
    // An animation comes with a document of the same file for old clients.
    ...(media.animation === undefined ? document(media.document) : []),
  ].filter((each) => each !== undefined);
}

function sticker(given: TelegramMedia["sticker"]): (Attachment | undefined)[] {
  if (given === undefined) return [];
  const [ending, type] =
    given.is_video === true
      ? ["webm", "video/webm"]
      : given.is_animated === true
        ? ["tgs", "application/x-tgsticker"]
        : ["webp", "image/webp"];
  return [from("sticker", given, `sticker${given.emoji === undefined ? "" : ` ${given.emoji}`}.${ending}`, type)];
}

function document(given: TelegramMedia["document"]): (Attachment | undefined)[] {
  return [from(imageTypes.has(given?.mime_type ?? "") ? "image" : "document", given, "file", undefined)];
}

interface TelegramFile {
  readonly file_id: string;
  readonly file_name?: string | undefined;
  readonly mime_type?: string | undefined;
  readonly file_size?: number | undefined;
}

function from(
  kind: Attachment["kind"],
  file: TelegramFile | undefined,
  fallbackName: string,
  fallbackType: string | undefined,
): Attachment | undefined {
  if (file === undefined) return undefined;
  const mimeType = file.mime_type ?? fallbackType;
  return {
    kind,
    name: file.file_name ?? fallbackName,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(file.file_size === undefined ? {} : { size: file.file_size }),
    ref: { fileId: file.file_id },
  };
}

/** The file id in an attachment's `ref`; undefined when it is not one of ours. */
export function fileIdOf(ref: Attachment["ref"]): string | undefined {
  if (typeof ref !== "object" || ref === null || !("fileId" in ref)) return undefined;
  const fileId = ref["fileId"];
  return typeof fileId === "string" ? fileId : undefined;
}

/** Content that is neither text nor a file, in words for the model; empty when there is none. */
export function describeContent(message: PlainMessage): string {
  if (message.venue !== undefined) return `[place: ${message.venue.title}, ${message.venue.address}${position(message)}]`;
  if (message.location !== undefined) return `[location:${position(message)}]`;
  if (message.contact !== undefined) {
    const { first_name, last_name, phone_number } = message.contact;
    return `[contact: ${[first_name, last_name].filter((part) => part !== undefined && part !== "").join(" ")}, ${phone_number}]`;
  }
  if (message.poll !== undefined) {
    return `[poll: ${message.poll.question} (${(message.poll.options ?? []).map((option) => option.text).join(" / ")})]`;
  }
  if (message.dice !== undefined) return `[${message.dice.emoji} ${message.dice.value}]`;
  return "";
}

function position(message: PlainMessage): string {
  return message.location === undefined ? "" : ` ${message.location.latitude}, ${message.location.longitude}`;
}
