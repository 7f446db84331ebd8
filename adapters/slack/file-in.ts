/**
 * Files that come in. The bot token goes to the configured file host only: not to an address of another host, and not
 * along a redirect to one. Slack answers a request it does not accept with a login page and status 200.
 */
import type { Attachment } from "../../src/domain/message.js";
import { AdapterError, errorText } from "../../src/domain/errors.js";
import type { Download } from "../../src/ports/platform-adapter.js";
import type { Clock } from "../../src/ports/runtime.js";
import type { SlackApi } from "./api.js";
import { fileRef, urlOf } from "./attachments.js";
import { fieldsOf } from "./fields.js";

export interface FileDeps {
  readonly api: SlackApi;
  /** `host` or `host:port`. */
  readonly fileHost: string;
  readonly clock: Clock;
  /** Limit without a byte. */
  readonly idleMs: number;
}

const maxRedirects = 3;

/** Opens a file that came in. Rejects with `download.*` before the first byte is handed on, or while reading when it grows too large. */
export async function openFile(deps: FileDeps, attachment: Attachment, maxBytes: number, signal: AbortSignal): Promise<Download> {
  const ref = fileRef(attachment.ref);
  if (ref === undefined) throw new AdapterError("download.failed", "not a file of this platform");
  if (ref.external === true) throw new AdapterError("download.failed", "the file lies with another service and is not fetched");
  if (attachment.size !== undefined && attachment.size > maxBytes) throw tooLarge(maxBytes);
  const idle = new IdleLimit(deps.clock, deps.idleMs);
  try {
    const url = ref.url ?? (await askForUrl(deps.api, ref.fileId, signal));
    idle.touch();
    const response = await fetchFile(deps, url, AbortSignal.any([signal, idle.signal]));
    return await opened(response, attachment, maxBytes, idle);
  } catch (error) {
    throw failed("the file could not be fetched", error);
  } finally {
    idle.end();
  }
}

/** Looks at the headers and the first bytes. */
async function opened(response: Response, attachment: Attachment, maxBytes: number, idle: IdleLimit): Promise<Download> {
  const mimeType = response.headers.get("content-type")?.split(";")[0]?.trim();
  const announced = response.headers.get("content-length");
  const size = announced === null ? undefined : Number(announced);
  const declaredHtml = /^(text\/html|application\/xhtml\+xml)$/.test(attachment.mimeType ?? "");
  if (mimeType === "text/html" && !(declaredHtml && isTheFile(response, size, attachment.size))) throw await discard(response, wrongType());
  if (size !== undefined && size > maxBytes) throw await discard(response, tooLarge(maxBytes));
  if (response.body === null) throw new AdapterError("download.failed", "the answer has no body");
  const chunks: Reader = response.body.getReader();
  idle.touch();
  const first = await chunks.read();
  if (!declaredHtml && first.value !== undefined && looksLikeHtml(first.value)) {
    await chunks.cancel();
    throw wrongType();
  }
  return { bytes: read(chunks, first, maxBytes, idle), mimeType, size };
}

interface Chunk {
  readonly done: boolean;
  readonly value?: Uint8Array | undefined;
}

interface Reader {
  read(): Promise<Chunk>;
  cancel(): Promise<void>;
}

/** The limit without a byte runs only while a byte is waited for: a slow reader may take its time. */
async function* read(chunks: Reader, first: Chunk, maxBytes: number, idle: IdleLimit): AsyncGenerator<Uint8Array> {
  let total = 0;
  let chunk = first;
  try {
    while (!chunk.done && chunk.value !== undefined) {
      total += chunk.value.byteLength;
      if (total > maxBytes) throw tooLarge(maxBytes);
      yield chunk.value;
      idle.touch();
      chunk = await chunks.read();
      idle.end();
    }
  } catch (error) {
    throw failed("the download broke off", error);
  } finally {
    idle.end();
    chunks.cancel().catch(() => undefined); // ended already: nothing is left to cancel
  }
}

function failed(what: string, error: unknown): AdapterError {
  return error instanceof AdapterError ? error : new AdapterError("download.failed", `${what}: ${errorText(error)}`, { cause: error });
}

async function askForUrl(api: SlackApi, fileId: string, signal: AbortSignal): Promise<string> {
  const answer = await api.call("files.info", { file: fileId }, signal);
  const { url } = urlOf(fieldsOf(answer, "file"));
  if (url === undefined) throw new AdapterError("download.failed", "Slack gives no address for this file");
  return url;
}

/** Follows redirects within the file host only; each request is checked before the token is added. */
async function fetchFile(deps: FileDeps, start: string, signal: AbortSignal): Promise<Response> {
  let url = start;
  for (let hop = 0; hop <= maxRedirects; hop += 1) {
    if (!isFileHost(url, deps.fileHost)) {
      // A redirect away from the file host is what Slack does when it wants a login.
      throw hop === 0
        ? new AdapterError("download.failed", "the file's address is not on slack.fileHost; the bot token is not sent there")
        : wrongType();
    }
    const response = await fetch(url, { headers: { authorization: `Bearer ${deps.api.token}` }, redirect: "manual", signal });
    const location = response.headers.get("location");
    if (response.status >= 300 && response.status < 400 && location !== null) {
      await response.body?.cancel();
      url = new URL(location, url).toString();
      continue;
    }
    if (response.status !== 200)
      throw await discard(response, new AdapterError("download.failed", `the file host answered ${response.status}`));
    return response;
  }
  throw new AdapterError("download.failed", "too many redirects");
}

/** https on exactly this host; plain http on this machine only (proxies and tests). */
function isFileHost(address: string, fileHost: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  const local = ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  return url.host === fileHost.toLowerCase() && url.username === "" && (url.protocol === "https:" || (url.protocol === "http:" && local));
}

/** Tells a page that somebody uploaded from the login page: it has the size that was said, or is sent as an attachment. */
function isTheFile(response: Response, size: number | undefined, said: number | undefined): boolean {
  return response.headers.get("content-disposition")?.startsWith("attachment") === true || (size !== undefined && size === said);
}

function looksLikeHtml(bytes: Uint8Array): boolean {
  const start = new TextDecoder("utf-8", { fatal: false })
    .decode(bytes.subarray(0, 512))
    .replace(/^\uFEFF/, "")
    .trimStart()
    .toLowerCase();
  return start.startsWith("<!doctype html") || start.startsWith("<html");
}

function tooLarge(maxBytes: number): AdapterError {
  return new AdapterError("download.too-large", `the file is larger than ${maxBytes} bytes`);
}

function wrongType(): AdapterError {
  return new AdapterError(
    "download.wrong-type",
    "Slack sent a login page instead of the file: the app probably lacks the scope files:read; add it and reinstall the app",
  );
}

async function discard(response: Response, error: AdapterError): Promise<AdapterError> {
  await response.body?.cancel();
  return error;
}

/** Aborts when nothing came for a while: from `touch` until the next one or `end`. */
class IdleLimit {
  readonly #abort = new AbortController();
  readonly #clock: Clock;
  readonly #ms: number;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  touch(): void {
    this.#cancel();
    this.#cancel = this.#clock.after(this.#ms, () => this.#abort.abort(new Error(`no data for ${this.#ms} ms`)));
  }

  end(): void {
    this.#cancel();
  }
}
