/**
 * What the model reads of the files of one turn. Pure. The trap: a transcript of the speaker's own recording is their word; a document,
 * and everything in a message they only quote or forward, is foreign and stands inside a fence.
 */
import type { Attachment } from "../domain/message.js";
import type { ReadFile, StoredImage } from "../ports/media.js";
import { fence, quoteName } from "../safety/fence.js";

export interface Attached {
  /** In square brackets, naming the file and what became of it. */
  readonly line: string;
  /** What a recording says. */
  readonly speech?: string;
  /** A document's text, fenced. */
  readonly document?: string;
}

const kilobyte = 1_024;

/** Describes the files of one user message in order, numbers its images and keeps documents within a limit in all. */
export class AttachedFiles {
  readonly images: StoredImage[] = [];
  readonly #read: ReadonlyMap<Attachment, ReadFile>;
  #roomLeft: number;

  /** `room`: characters of all documents together. */
  constructor(read: ReadonlyMap<Attachment, ReadFile>, room: number) {
    this.#read = read;
    this.#roomLeft = room;
  }

  /** `from`: whose message holds it, where that is not the speaker's own. */
  describe(file: Attachment, from?: string): Attached {
    const read = this.#read.get(file);
    switch (read?.is) {
      case "image":
        this.images.push(read.image);
        return { line: `[attached image ${this.images.length}: ${quoteName(file.name)}]` };
      case "speech":
        return { line: `[attached ${file.kind}: ${quoteName(file.name)}, written down by a machine:]`, speech: read.text };
      case "document":
        return this.#document(file, read, from);
      case "named":
        return { line: label(file, read, "its content cannot be read here") };
      case "failed":
        return { line: label(file, read, `${failures[read.why]}; the person is told`) };
      case undefined:
        return { line: label(file, file, "its content is not available here") };
      default:
        return read satisfies never;
    }
  }

  #document(file: Attachment, read: Extract<ReadFile, { is: "document" }>, from: string | undefined): Attached {
    const text = wholeCharacters(read.text.slice(0, this.#roomLeft));
    if (text === "") return { line: label(file, read, "there is no room for its text beside the other documents; ask for it alone") };
    this.#roomLeft -= text.length;
    const isCut = read.isCut || text.length < read.text.length;
    const pages = read.pages === undefined ? {} : { pages: String(read.pages) };
    const attributes = { name: file.name, type: read.mimeType, ...pages, ...(from === undefined ? {} : { from }) };
    const note = isCut ? "[only the beginning: the rest does not fit]" : undefined;
    return { line: label(file, read, "its text follows"), document: fence("attached-document", text, attributes, note) };
  }
}

const failures: Readonly<Record<Extract<ReadFile, { is: "failed" }>["why"], string>> = {
  "too-large": "too large to be fetched",
  "not-the-file": "a web page came instead of the file, so it could not be fetched",
  unreadable: "it could not be read: empty, damaged, protected, or pictures of text",
  "not-heard": "nothing could be understood",
  "not-fetched": "it could not be fetched",
};

function label(file: Attachment, known: { readonly mimeType?: string; readonly size?: number }, state: string): string {
  const mimeType = known.mimeType ?? file.mimeType;
  const size = known.size ?? file.size;
  const parts = [
    quoteName(file.name),
    ...(mimeType === undefined ? [] : [quoteName(mimeType)]),
    ...(size === undefined ? [] : [sizeText(size)]),
  ];
  return `[attached ${file.kind}: ${parts.join(", ")}; ${state}]`;
}

/** For people and the model: `340 KB`, `23.8 MB`. */
export function sizeText(bytes: number): string {
  const kilobytes = bytes / kilobyte;
  if (kilobytes < 1_000) return `${Math.max(1, Math.round(kilobytes))} KB`;
  return `${Number((kilobytes / kilobyte).toFixed(1))} MB`;
}

function wholeCharacters(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/u, "");
}
