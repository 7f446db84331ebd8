/** Settings of the files that come in: part of the schema (config/schema.ts), kept here for length. */
import { z } from "zod";
import { count, secret, webUrl } from "./fields.js";

const transcribe = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .optional()
      .describe("Model that writes down voice messages and recordings (POST /audio/transcriptions). Without it they are only named.")
      .meta({ examples: ["whisper-1"] }),
    baseUrl: webUrl()
      .optional()
      .describe("Its server; without it model.baseUrl.")
      .meta({ examples: ["http://127.0.0.1:8000/v1"] }),
    apiKey: secret()
      .describe("Its key; without it model.apiKey (only on the same server).")
      .meta({ examples: ["key"] }),
  })
  .refine(({ model, baseUrl, apiKey }) => model !== undefined || (baseUrl === undefined && apiKey === undefined), {
    path: ["model"],
    message: "is needed when media.transcribe.baseUrl or media.transcribe.apiKey is set",
  });

export const media = z.strictObject({
  maxBytes: count(20 * 1024 * 1024, 1024, 2 * 1024 * 1024 * 1024).describe(
    "Largest file that is fetched; a larger one is refused with a word to the person. Telegram hands out at most 20 MB itself.",
  ),
  keepDays: count(7, 1, 3650).describe(
    "Images that came in are deleted after this many days and then no longer shown to the model. Other files are deleted as soon as they are read; their text stays in the conversation.",
  ),
  transcribe: transcribe.prefault({}).describe("Voice to text, on any OpenAI-compatible server."),
});
