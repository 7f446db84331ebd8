/**
 * What a file is, by its first bytes. Pure. The name and the type a platform gives are claims of the sender: they decide
 * nothing here but whether sound or picture is meant by a container that can hold both.
 */
import type { Attachment } from "../domain/message.js";

export interface FileType {
  /** What can be made of it. `page`: HTML; the file only when the sender said so, otherwise a login or error page. */
  readonly as: "image" | "sound" | "pdf" | "text" | "page" | "other";
  readonly mimeType: string;
  /** For the name on disk and at the transcription server, without a dot. */
  readonly ending: string;
}

/** How many bytes `fileType` wants to see. */
export const headLength = 4_096;

const image = (mimeType: string, ending: string): FileType => ({ as: "image", mimeType, ending });
const sound = (mimeType: string, ending: string): FileType => ({ as: "sound", mimeType, ending });
const other = (mimeType: string, ending: string): FileType => ({ as: "other", mimeType, ending });

/** Text at a place -> type. The four picture formats are those that model servers take. */
const signatures: readonly (readonly [at: number, text: string, FileType])[] = [
  [0, "\x89PNG\r\n\x1A\n", image("image/png", "png")],
  [0, "\xFF\xD8\xFF", image("image/jpeg", "jpg")],
  [0, "GIF87a", image("image/gif", "gif")],
  [0, "GIF89a", image("image/gif", "gif")],
  [8, "WEBP", image("image/webp", "webp")],
  [8, "WAVE", sound("audio/wav", "wav")],
  [8, "AVI ", other("video/x-msvideo", "avi")],
  [0, "%PDF-", { as: "pdf", mimeType: "application/pdf", ending: "pdf" }],
  [0, "OggS", sound("audio/ogg", "ogg")],
  [0, "ID3", sound("audio/mpeg", "mp3")],
  [0, "fLaC", sound("audio/flac", "flac")],
  [0, "#!AMR", sound("audio/amr", "amr")],
  [0, "PK\x03\x04", other("application/zip", "zip")],
  [0, "\x1F\x8B", other("application/gzip", "gz")],
  [0, "7z\xBC\xAF", other("application/x-7z-compressed", "7z")],
  [0, "Rar!", other("application/vnd.rar", "rar")],
  [0, "BM", other("image/bmp", "bmp")],
  [0, "II*\0", other("image/tiff", "tif")],
  [0, "MM\0*", other("image/tiff", "tif")],
  [0, "\xD0\xCF\x11\xE0", other("application/x-ole-storage", "doc")],
];

/**
 * The type by the first bytes of a file (`headLength` are enough); `claimed` is the attachment, for containers and for HTML that is
 * meant. Unknown content is text when it is valid UTF-8 without control characters, or has the mark of UTF-16.
 */
export function fileType(head: Uint8Array, claimed: Pick<Attachment, "kind" | "mimeType">): FileType {
  const latin = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, headLength)).toString("latin1");
  const known = signatures.find(([at, text, type]) => latin.startsWith(text, at) && (type.ending !== "bmp" || !isText(head)));
  return known?.[2] ?? container(latin, claimed) ?? mpegFrame(head) ?? textual(head, claimed);
}

/** MP4 and Matroska hold sound or moving pictures. */
function container(latin: string, { kind, mimeType = "" }: Pick<Attachment, "kind" | "mimeType">): FileType | undefined {
  const isSound = kind === "voice" || kind === "audio" || mimeType.startsWith("audio/");
  if (latin.startsWith("ftyp", 4)) {
    const brand = latin.slice(8, 12);
    if (/^(?:heic|heix|mif1|msf1)/.test(brand)) return other("image/heic", "heic");
    if (brand.startsWith("avif")) return other("image/avif", "avif");
    return isSound || brand.startsWith("M4A") ? sound("audio/mp4", "m4a") : other("video/mp4", "mp4");
  }
  if (latin.startsWith("\x1A\x45\xDF\xA3")) return isSound ? sound("audio/webm", "webm") : other("video/webm", "webm");
  return undefined;
}

/** An MP3 or AAC stream without a header of its own begins with eleven set bits. */
function mpegFrame(head: Uint8Array): FileType | undefined {
  const [first = 0, second = 0] = head;
  if (first !== 0xff || (second & 0xe0) !== 0xe0 || second >= 0xfe) return undefined;
  return (second & 0x06) === 0 ? sound("audio/aac", "aac") : sound("audio/mpeg", "mp3");
}

function textual(head: Uint8Array, { mimeType = "" }: Pick<Attachment, "mimeType">): FileType {
  if (!isText(head)) return other("application/octet-stream", "bin");
  const start = new TextDecoder().decode(head.subarray(0, 512)).trimStart().toLowerCase();
  if (start.startsWith("<!doctype html") || start.startsWith("<html")) {
    const isMeant = /^(?:text\/html|application\/xhtml\+xml)/.test(mimeType);
    return { as: isMeant ? "text" : "page", mimeType: "text/html", ending: "html" };
  }
  return { as: "text", mimeType: mimeType.startsWith("text/") ? mimeType : "text/plain", ending: "txt" };
}

function isText(head: Uint8Array): boolean {
  if (utf16Of(head) !== undefined) return true;
  try {
    // `stream`: a character that the end of the head cuts is no fault.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head.subarray(0, headLength), { stream: true });
    return !/[\0-\x08\x0E-\x1A\x1C-\x1F]/.test(text);
  } catch {
    return false; // a TypeError is this API's way of saying no
  }
}

/** The encoding that a UTF-16 byte order mark names. */
export function utf16Of(head: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  return head[0] === 0xfe && head[1] === 0xff ? "utf-16be" : undefined;
}
