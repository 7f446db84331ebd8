/**
 * One file that came in -> what the model can read of it. The size is looked at before anything is fetched, the content's own bytes say
 * what it is, and every failure is a value: a file can spoil neither its message nor the turn.
 */
import { GatewayError, errorText } from "../domain/errors.js";
import type { Attachment } from "../domain/message.js";
import type { MediaReader, OpenFile, ReadFile, Transcriber } from "../ports/media.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { fileType, utf16Of, type FileType } from "./file-type.js";
import type { MediaFiles } from "./media-files.js";
import { PdfReader } from "./pdf-text.js";

export interface MediaReaderDeps {
  readonly files: MediaFiles;
  /** Absent: recordings are only named. */
  readonly transcriber: Transcriber | undefined;
  /** Largest file that is fetched, in bytes. */
  readonly maxBytes: number;
  /** Longest text of one document, in characters. */
  readonly maxChars: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One file from the first request to its text, in milliseconds. */
const limitMs = 120_000;
/** Kinds of content nothing can be made of, however they are called: not worth a download. */
const opaque = /^(?:video\/|font\/|application\/(?:zip|gzip|x-7z|x-rar|vnd\.rar|x-tar|x-msdownload|vnd\.android|java-archive|x-tgsticker))/;

export function createMediaReader(deps: MediaReaderDeps): MediaReader {
  const pdf = new PdfReader();
  return {
    async read(file, owner, open, signal) {
      const size = file.size === undefined ? {} : { size: file.size };
      if ((file.size ?? 0) > deps.maxBytes) return { is: "failed", why: "too-large", ...size, limit: deps.maxBytes };
      if (!isWorthFetching(file, deps.transcriber !== undefined)) return named(file.mimeType, file.size);
      const limit = new AbortController();
      const stop = (): void => limit.abort(signal.reason);
      const cancel = deps.clock.after(limitMs, () => limit.abort(new Error(`not read within ${limitMs} ms`)));
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      try {
        return await fetchAndRead({ ...deps, pdf }, file, owner, open, limit.signal);
      } finally {
        cancel();
        signal.removeEventListener("abort", stop);
      }
    },
  };
}

function isWorthFetching({ kind, mimeType = "" }: Attachment, canHear: boolean): boolean {
  const isSound = kind === "voice" || kind === "audio" || mimeType.startsWith("audio/");
  if (isSound) return canHear;
  if (kind === "video" || opaque.test(mimeType)) return false;
  return kind !== "sticker" || mimeType.startsWith("image/");
}

type Reading = MediaReaderDeps & { readonly pdf: PdfReader };

async function fetchAndRead(deps: Reading, file: Attachment, owner: string, open: OpenFile, signal: AbortSignal): Promise<ReadFile> {
  let path: string;
  try {
    const download = await open(deps.maxBytes, signal);
    path = await deps.files.store(download.bytes, { owner, maxBytes: deps.maxBytes, signal });
  } catch (error) {
    deps.logger.warn({ name: file.name, error: errorText(error) }, "a file that came in was not fetched");
    return notFetched(error, file, deps.maxBytes);
  }
  let type: FileType | undefined;
  let read: ReadFile;
  try {
    const { head, size } = await deps.files.look(path);
    type = fileType(head, file);
    read = await readAs(deps, { file, path, type, head, size }, signal);
  } catch (error) {
    deps.logger.warn({ name: file.name, type: type?.mimeType, error: errorText(error) }, "a file that came in could not be read");
    read = { is: "failed", why: type?.as === "sound" ? "not-heard" : "unreadable" };
  }
  // An image is shown again with every request; of the rest nothing is needed any more.
  if (read.is !== "image") await discard(deps, path);
  return read;
}

async function discard({ files, logger }: Reading, path: string): Promise<void> {
  try {
    await files.remove(path);
  } catch (error) {
    logger.warn({ path, error: errorText(error) }, "a file that was read could not be removed; it goes with its day");
  }
}

interface Stored {
  readonly file: Attachment;
  readonly path: string;
  readonly type: FileType;
  readonly head: Uint8Array;
  readonly size: number;
}

async function readAs(deps: Reading, { file, path, type, head, size }: Stored, signal: AbortSignal): Promise<ReadFile> {
  if (size === 0) return { is: "failed", why: "unreadable", size };
  switch (type.as) {
    case "image":
      return { is: "image", image: { type: "image", mimeType: type.mimeType, file: path }, size };
    case "sound":
      return hear(deps, { path, type, size }, signal);
    case "pdf": {
      const { text, pages, isCut } = await deps.pdf.read(deps.files.path(path), deps.maxChars, signal);
      return text.trim() === ""
        ? { is: "failed", why: "unreadable", size }
        : { is: "document", text, isCut, pages, mimeType: type.mimeType };
    }
    case "text":
      return readText(deps, path, type, head, size);
    case "page":
      deps.logger.warn({ name: file.name }, "a web page came instead of a file (is a permission missing?)");
      return { is: "failed", why: "not-the-file" };
    case "other":
      return named(type.mimeType === "application/octet-stream" ? file.mimeType : type.mimeType, size);
    default:
      return type.as satisfies never;
  }
}

async function hear(deps: Reading, { path, type, size }: Pick<Stored, "path" | "type" | "size">, signal: AbortSignal): Promise<ReadFile> {
  if (deps.transcriber === undefined) return named(type.mimeType, size);
  const recording = { bytes: await deps.files.all(path), name: `recording.${type.ending}`, mimeType: type.mimeType };
  const text = (await deps.transcriber.transcribe(recording, signal)).trim().slice(0, deps.maxChars);
  return text === "" ? { is: "failed", why: "not-heard", size } : { is: "speech", text };
}

async function readText(deps: Reading, path: string, type: FileType, head: Uint8Array, size: number): Promise<ReadFile> {
  // A character has at most four bytes; one more tells whether there is a rest.
  const wanted = deps.maxChars * 4 + 4;
  const bytes = await deps.files.start(path, wanted);
  const text = new TextDecoder(utf16Of(head) ?? "utf-8", { fatal: true }).decode(bytes, { stream: size > wanted });
  const isCut = text.length > deps.maxChars || size > wanted;
  return { is: "document", text: text.slice(0, deps.maxChars), isCut, mimeType: type.mimeType };
}

function notFetched(error: unknown, file: Attachment, maxBytes: number): ReadFile {
  const code = error instanceof GatewayError ? error.code : undefined;
  const size = file.size === undefined ? {} : { size: file.size };
  if (code === "download.too-large") {
    // A platform may allow less than we do; then its own limit is not known here.
    return { is: "failed", why: "too-large", ...size, ...(file.size !== undefined && file.size <= maxBytes ? {} : { limit: maxBytes }) };
  }
  return { is: "failed", why: code === "download.wrong-type" ? "not-the-file" : "not-fetched", ...size };
}

function named(mimeType: string | undefined, size: number | undefined): ReadFile {
  return { is: "named", ...(mimeType === undefined ? {} : { mimeType }), ...(size === undefined ? {} : { size }) };
}
