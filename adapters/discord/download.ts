/**
 * Opens a file that came in. Files are fetched from Discord's own file hosts (or the configured API's host) without any
 * token, and no redirect is followed; an expired link is renewed once by reading the message again.
 */
import { GatewayError } from "../../src/domain/errors.js";
import type { Attachment } from "../../src/domain/message.js";
import type { Download } from "../../src/ports/platform-adapter.js";
import type { Api } from "./api.js";
import { type FileRef, readFileRef } from "./attachments.js";
import { listOf, textOf } from "./fields.js";

const fileHosts: ReadonlySet<string> = new Set(["cdn.discordapp.com", "media.discordapp.net"]);

export interface DownloadDeps {
  /** Undefined while not connected: then an expired link cannot be renewed. */
  readonly api: Api | undefined;
  readonly apiUrl: string;
  /** Epoch ms. */
  readonly now: number;
}

/** Rejects with `download.too-large`, `download.wrong-type` or `download.failed`; the size is checked while reading too. */
export async function openFile(deps: DownloadDeps, attachment: Attachment, maxBytes: number, signal: AbortSignal): Promise<Download> {
  const tooLarge = (): GatewayError => new GatewayError("download.too-large", `larger than ${maxBytes} bytes`);
  if ((attachment.size ?? 0) > maxBytes) throw tooLarge();
  const ref = readFileRef(attachment.ref);
  if (ref === undefined) throw new GatewayError("download.failed", "the attachment's reference is not one of Discord's");
  const response = await fetchFresh(deps, ref, signal);
  if (!response.ok || response.body === null) throw new GatewayError("download.failed", `HTTP ${response.status}`);
  const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type === "text/html" && attachment.mimeType !== "text/html")
    throw new GatewayError("download.wrong-type", "a web page came instead of the file");
  const length = Number(response.headers.get("content-length") ?? Number.NaN);
  if (length > maxBytes) {
    await response.body.cancel();
    throw tooLarge();
  }
  return {
    bytes: bounded(response.body, maxBytes, tooLarge),
    mimeType: attachment.mimeType ?? type,
    size: Number.isNaN(length) ? attachment.size : length,
  };
}

/** The file by its own link, or by a fresh one when that has expired. */
async function fetchFresh(deps: DownloadDeps, ref: FileRef, signal: AbortSignal): Promise<Response> {
  if (!hasExpired(ref.url, deps.now)) {
    const response = await fetchFile(ref.url, deps.apiUrl, signal);
    if (response.status !== 404 && response.status !== 403) return response;
    await response.body?.cancel();
  }
  return fetchFile(await renewedUrl(deps.api, ref, signal), deps.apiUrl, signal);
}

async function fetchFile(address: string, apiUrl: string, signal: AbortSignal): Promise<Response> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const trusted = url !== undefined && ((url.protocol === "https:" && fileHosts.has(url.host)) || url.host === new URL(apiUrl).host);
  if (!trusted) throw new GatewayError("download.failed", "the file is not on one of Discord's hosts");
  try {
    return await fetch(url, { redirect: "error", signal });
  } catch (error) {
    throw new GatewayError("download.failed", "the file could not be fetched", { cause: error });
  }
}

async function renewedUrl(api: Api | undefined, ref: FileRef, signal: AbortSignal): Promise<string> {
  const { id, channelId, messageId } = ref;
  if (api === undefined || id === undefined || channelId === undefined || messageId === undefined) {
    throw new GatewayError("download.failed", "the link has expired and cannot be renewed");
  }
  try {
    const message = await api.message(channelId, messageId, signal);
    const snapshots = listOf(message, "message_snapshots").map((snapshot) => snapshot["message"]);
    const files = [message, ...snapshots].flatMap((holder) =>
      typeof holder === "object" && holder !== null ? listOf(holder as Record<string, unknown>, "attachments") : [],
    );
    const url = textOf(files.find((file) => textOf(file, "id") === id) ?? {}, "url");
    if (url !== undefined) return url;
  } catch (error) {
    throw new GatewayError("download.failed", "the message with the file could not be read", { cause: error });
  }
  throw new GatewayError("download.failed", "the file is no longer attached to its message");
}

/** Links carry the end of their life as `ex`, in hexadecimal Unix seconds. */
function hasExpired(address: string, now: number): boolean {
  const ends = URL.canParse(address) ? new URL(address).searchParams.get("ex") : null;
  return ends !== null && /^[0-9a-f]+$/i.test(ends) && Number.parseInt(ends, 16) * 1_000 <= now;
}

async function* bounded(body: ReadableStream<Uint8Array>, maxBytes: number, tooLarge: () => GatewayError): AsyncGenerator<Uint8Array> {
  let read = 0;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw new GatewayError("download.failed", "the file broke off", { cause: error });
      });
      if (done) return;
      read += value.byteLength;
      if (read > maxBytes) throw tooLarge();
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the stream may have failed already; nothing is left to end then
  }
}
