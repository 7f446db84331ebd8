/**
 * Slack file objects to attachments. The reference holds an id and an address but never a token; files of mode
 * `external` lie with somebody else and have no address here, so that they are never fetched.
 */
import type { Attachment, Json } from "../../src/domain/message.js";
import { listOf, numberOf, textOf, type Fields } from "./fields.js";
import { oneLine } from "./text-in.js";

/** What `download` needs; `url` is absent when Slack gave none with the event (it is then asked for). */
export interface FileRef {
  readonly fileId: string;
  readonly url?: string;
  readonly external?: boolean;
}

/** The attachments of a message or event. Files that are gone (tombstones) are left out. */
export function attachmentsOf(message: Fields): Attachment[] {
  return listOf(message, "files").flatMap((file) => {
    const attachment = attachmentOf(file);
    return attachment === undefined ? [] : [attachment];
  });
}

function attachmentOf(file: Fields): Attachment | undefined {
  const id = textOf(file, "id");
  const mode = textOf(file, "mode");
  if (id === undefined || mode === "tombstone" || mode === "hidden_by_limit") return undefined;
  const external = mode === "external" || file["is_external"] === true;
  const mimeType = textOf(file, "mimetype");
  const size = numberOf(file, "size");
  const ref = { fileId: id, ...(external ? { external: true } : urlOf(file)) };
  return {
    kind: kindOf(mimeType, textOf(file, "subtype")),
    name: oneLine(textOf(file, "name") ?? textOf(file, "title") ?? id),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(size === undefined || size === 0 ? {} : { size }),
    ref,
  };
}

/** The address of a file object, if it has one. */
export function urlOf(file: Fields): { readonly url?: string } {
  const url = textOf(file, "url_private_download") ?? textOf(file, "url_private");
  return url === undefined ? {} : { url };
}

function kindOf(mimeType: string | undefined, subtype: string | undefined): Attachment["kind"] {
  if (subtype === "slack_audio") return "voice";
  if (mimeType === undefined) return "other";
  const type = mimeType.split("/")[0];
  if (type === "image" || type === "audio" || type === "video") return type;
  return "document";
}

/** Reads a stored reference back; undefined when it is none of ours. */
export function fileRef(ref: Json): FileRef | undefined {
  if (typeof ref !== "object" || ref === null || Array.isArray(ref)) return undefined;
  const fields = ref as Fields;
  const fileId = textOf(fields, "fileId");
  const url = textOf(fields, "url");
  if (fileId === undefined) return undefined;
  return { fileId, ...(url === undefined ? {} : { url }), ...(fields["external"] === true ? { external: true } : {}) };
}
