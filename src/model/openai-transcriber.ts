/**
 * Recordings to text on any server with OpenAI's `POST /audio/transcriptions`. The library is loaded at the first recording; one repeat
 * after a failure that may pass.
 */
import type OpenAI from "openai";
import { GatewayError, errorText } from "../domain/errors.js";
import type { Recording, Transcriber } from "../ports/media.js";

export interface TranscriberSettings {
  /** With `/v1` where the server has it. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly model: string;
  readonly headers?: { readonly [name: string]: string };
}

/** Of one try; the caller's signal ends it earlier. */
const timeoutMs = 90_000;

export class OpenAiTranscriber implements Transcriber {
  readonly #settings: TranscriberSettings;
  readonly #redact: (text: string) => string;
  #client: Promise<{ readonly client: OpenAI; readonly toFile: typeof OpenAI.toFile }> | undefined;

  constructor(settings: TranscriberSettings, deps: { readonly redact: (text: string) => string }) {
    this.#settings = settings;
    this.#redact = deps.redact;
  }

  async transcribe(recording: Recording, signal: AbortSignal): Promise<string> {
    this.#client ??= this.#connect();
    const { client, toFile } = await this.#client;
    let answer: unknown;
    try {
      const file = await toFile(recording.bytes, recording.name, { type: recording.mimeType });
      answer = await client.audio.transcriptions.create({ file, model: this.#settings.model }, { signal });
    } catch (error) {
      throw new GatewayError("download.failed", `the recording was not transcribed: ${this.#redact(errorText(error)).slice(0, 300)}`);
    }
    const text: unknown = typeof answer === "object" && answer !== null && "text" in answer ? answer.text : undefined;
    if (typeof text !== "string") throw new GatewayError("download.failed", "the transcription server answered without a text");
    return text;
  }

  async #connect(): Promise<{ readonly client: OpenAI; readonly toFile: typeof OpenAI.toFile }> {
    const { OpenAI: Client, toFile } = await import("openai");
    const { apiKey, baseUrl, headers } = this.#settings;
    const hasKey = apiKey !== undefined && apiKey !== "";
    // Everything the library would otherwise read from the environment is given, so that only our settings count.
    const client = new Client({
      apiKey: hasKey ? apiKey : "none",
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      baseURL: baseUrl,
      maxRetries: 1,
      timeout: timeoutMs,
      logLevel: "off",
      defaultHeaders: { ...(hasKey ? {} : { Authorization: null }), ...headers },
    });
    return { client, toFile };
  }
}
