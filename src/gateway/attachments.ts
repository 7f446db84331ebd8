/**
 * The files of a turn: fetched and read after the gate, once per turn however often its message is put together, and what the person
 * is told of those that could not be read. Never fails a turn.
 */
import type { Attachment, InboundMessage } from "../domain/message.js";
import type { MediaReader, ReadFile } from "../ports/media.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { quoteName } from "../safety/fence.js";
import { text, type Language } from "../words/catalogue.js";
import { sizeText } from "./attached.js";
import type { Channel } from "./channels.js";
import { startSignOfLife } from "./sign-of-life.js";

export interface AttachmentsDeps {
  readonly media: MediaReader;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long "typing…" may be shown while files are read, in milliseconds. */
  readonly maxMs: number;
}

/** Files of one turn that are read; further ones are only named. */
const maxFiles = 20;
/** Files of one turn that are fetched at the same time. */
const atOnce = 4;

export class Attachments {
  readonly #deps: AttachmentsDeps;
  /** Of the messages that are still held by a turn: it is put together again when something joins it. */
  readonly #read = new WeakMap<Attachment, ReadFile>();

  constructor(deps: AttachmentsDeps) {
    this.#deps = deps;
  }

  /** Reads the files of these messages and of those they reply to. Ends soon after the signal, with what is read by then. */
  async read(
    messages: readonly InboundMessage[],
    from: { readonly channel: Channel; readonly owner: string },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Attachment, ReadFile>> {
    const files = filesOf(messages).slice(0, maxFiles);
    const left = files.filter((file) => !this.#read.has(file));
    const route = messages.at(-1)?.route;
    if (left.length > 0 && route !== undefined) {
      const { clock, logger, maxMs } = this.#deps;
      const endSign = startSignOfLife({ channel: from.channel, route, clock, logger, maxMs });
      try {
        await Promise.all(Array.from({ length: atOnce }, () => this.#readAll(left, from, signal)));
      } finally {
        endSign();
      }
    }
    return new Map(files.flatMap((file) => pairOf(file, this.#read.get(file))));
  }

  async #readAll(
    left: Attachment[],
    { channel, owner }: { readonly channel: Channel; readonly owner: string },
    signal: AbortSignal,
  ): Promise<void> {
    for (let file = left.shift(); file !== undefined && !signal.aborted; file = left.shift()) {
      const current = file;
      const read = await this.#deps.media.read(
        current,
        owner,
        (maxBytes, until) => channel.adapter.download(current, maxBytes, until),
        signal,
      );
      // What an abort broke off says nothing about the file: it is read again if the turn goes on.
      if (!signal.aborted || read.is !== "failed") this.#read.set(current, read);
    }
  }

  /** One line per file that was read in vain, for the person. Empty for a turn that an earlier process began. */
  lines(messages: readonly InboundMessage[], language: Language): string[] {
    return filesOf(messages).flatMap((file) => {
      const read = this.#read.get(file);
      return read?.is === "failed" ? [lineFor(file, read, language)] : [];
    });
  }
}

function filesOf(messages: readonly InboundMessage[]): Attachment[] {
  return messages.flatMap((message) => [...(message.replyTo?.attachments ?? []), ...message.attachments]);
}

function pairOf(file: Attachment, read: ReadFile | undefined): [Attachment, ReadFile][] {
  return read === undefined ? [] : [[file, read]];
}

function lineFor(file: Attachment, read: Extract<ReadFile, { is: "failed" }>, language: Language): string {
  const name = quoteName(file.name);
  const size = read.size ?? file.size;
  switch (read.why) {
    case "too-large":
      return read.limit === undefined || size === undefined
        ? text(language, "file.too-large-there", { name })
        : text(language, "file.too-large", { name, size: sizeText(size), limit: sizeText(read.limit) });
    case "unreadable":
      return text(language, "file.unread", { name });
    case "not-heard":
      return text(language, "file.not-heard", { name });
    case "not-the-file":
    case "not-fetched":
      return text(language, "file.not-fetched", { name });
    default:
      return read.why satisfies never;
  }
}
