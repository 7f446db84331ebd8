/** Files that people sent: getFile, then the bytes with a running size check. The address holds the bot token, so no error here may quote it. */
import { GatewayError } from "../../src/domain/errors.js";
import type { Attachment } from "../../src/domain/message.js";
import type { Download } from "../../src/ports/platform-adapter.js";
import type { BotApi } from "./api.js";
import { saysBadRequest } from "./failures.js";
import { fileIdOf } from "./media.js";

/** What Telegram's own servers hand out to bots (core.telegram.org/bots/api#getfile); a self-hosted server refuses by itself. */
const cloudLimitBytes = 20 * 1024 * 1024;

export interface DownloadDeps {
  readonly api: BotApi;
  /** True for Telegram's own servers, which have a limit known beforehand. */
  readonly isCloud: boolean;
  readonly requestMs: number;
}

export async function downloadFile(deps: DownloadDeps, file: Attachment, maxBytes: number, signal: AbortSignal): Promise<Download> {
  const fileId = fileIdOf(file.ref);
  if (fileId === undefined) throw new GatewayError("download.failed", "the attachment is not one of Telegram's");
  const limit = deps.isCloud ? Math.min(maxBytes, cloudLimitBytes) : maxBytes;
  refuseAbove(limit, file.size);
  const path = await filePath(deps, fileId, limit, signal);
  const response = await get(deps, path, signal);
  const size = lengthOf(response);
  refuseAbove(limit, size);
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/html") && file.mimeType !== "text/html") {
    await response.body?.cancel();
    throw new GatewayError("download.wrong-type", "a web page came instead of the file");
  }
  if (response.body === null) throw new GatewayError("download.failed", "the file has no content");
  return { bytes: limited(response.body, limit), mimeType: file.mimeType, size };
}

async function filePath(deps: DownloadDeps, fileId: string, limit: number, signal: AbortSignal): Promise<string> {
  try {
    const found = await deps.api.call("getFile", { file_id: fileId }, { timeoutMs: deps.requestMs, signal });
    refuseAbove(limit, found.file_size);
    if (found.file_path !== undefined) return found.file_path;
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    if (saysBadRequest(error, "file is too big"))
      throw new GatewayError("download.too-large", "Telegram does not hand out files over 20 MB", { cause: error });
    throw new GatewayError("download.failed", "Telegram does not say where the file is", { cause: error });
  }
  throw new GatewayError("download.failed", "Telegram has no path for the file");
}

async function get(deps: DownloadDeps, path: string, signal: AbortSignal): Promise<Response> {
  const headers = AbortSignal.timeout(deps.requestMs);
  let response: Response;
  try {
    // The limit is for the beginning only: reading on is bounded by the caller's signal.
    response = await fetchUntilHeaders(deps.api.fileUrl(path), signal, headers);
  } catch {
    // The cause is left out: its text may hold the address and with it the token.
    throw new GatewayError("download.failed", "the file server does not answer");
  }
  if (response.ok) return response;
  await response.body?.cancel();
  throw new GatewayError("download.failed", `the file server answers ${response.status}`);
}

async function fetchUntilHeaders(url: URL, signal: AbortSignal, limit: AbortSignal): Promise<Response> {
  const abort = new AbortController();
  const end = (): void => abort.abort();
  signal.addEventListener("abort", end, { once: true });
  limit.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    return await fetch(url, { signal: abort.signal, redirect: "error" });
  } finally {
    limit.removeEventListener("abort", end);
  }
}

function lengthOf(response: Response): number | undefined {
  const given = response.headers.get("content-length");
  return given === null ? undefined : Number(given);
}

function refuseAbove(limit: number, size: number | undefined): void {
  if (size !== undefined && size > limit) {
    throw new GatewayError("download.too-large", `the file has ${size} bytes; at most ${limit} are taken`);
  }
}

async function* limited(body: ReadableStream<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > limit) throw new GatewayError("download.too-large", `the file is larger than ${limit} bytes`);
    yield chunk;
  }
}
