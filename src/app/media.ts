/** Settings → how files that came in are read: where they are kept, and who writes recordings down. A key goes only to the server it was given for. */
import type { GatewayConfig } from "../../config/schema.js";
import { Attachments } from "../gateway/attachments.js";
import type { MediaFiles } from "../media/media-files.js";
import { createMediaReader } from "../media/media-reader.js";
import { OpenAiTranscriber } from "../model/openai-transcriber.js";
import type { Clock, Logger } from "../ports/runtime.js";

export interface AttachmentDeps {
  readonly config: GatewayConfig;
  readonly files: MediaFiles;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly redact: (text: string) => string;
}

/** One document, in characters; a small window takes less (`documentChars`). */
const longestDocument = 40_000;
const charactersPerToken = 4;

/** Characters of all documents of one message: a quarter of the window, at most two long ones. */
export function documentChars(contextTokens: number): number {
  return Math.min(2 * longestDocument, (contextTokens * charactersPerToken) / 4);
}

export function buildAttachments({ config, files, clock, logger, redact }: AttachmentDeps): Attachments {
  const media = createMediaReader({
    files,
    transcriber: transcriberOf(config, redact),
    maxBytes: config.media.maxBytes,
    maxChars: longestDocument,
    clock,
    logger,
  });
  return new Attachments({ media, clock, logger, maxMs: config.turns.timeoutMs });
}

function transcriberOf({ media, model }: GatewayConfig, redact: (text: string) => string): OpenAiTranscriber | undefined {
  const { model: name, baseUrl = model.baseUrl, apiKey: own } = media.transcribe;
  if (name === undefined) return undefined;
  const isSame = baseUrl === model.baseUrl;
  const apiKey = own ?? (isSame ? model.apiKey : undefined);
  const headers = isSame ? { headers: model.headers } : {};
  return new OpenAiTranscriber({ baseUrl, model: name, ...headers, ...(apiKey === undefined ? {} : { apiKey }) }, { redact });
}
