/**
 * Settings of the models that answer when the main one cannot: part of the schema (config/schema.ts), kept here for length.
 * Each stands on its own server or on the main one's.
 */
import { z } from "zod";
import { secret, webUrl } from "./fields.js";

const fallback = z.strictObject({
  id: z.string().min(1).describe("Name of the model as its server calls it."),
  baseUrl: webUrl().optional().describe("Its server; without it model.baseUrl."),
  apiKey: secret().describe("Its key; without it model.apiKey (only on the same server)."),
  headers: z.record(z.string(), z.string()).optional().describe("Extra HTTP headers; without it model.headers (only on the same server)."),
});

export const fallbacks = z
  .array(fallback)
  .max(10)
  .default([])
  .describe(
    "Models asked in this order when the main one is limited (429), broken (5xx), silent or out of reach; never for a request it refuses. One that failed rests for half a minute or longer.",
  )
  .meta({ examples: [[{ id: "other-model", baseUrl: "https://openrouter.ai/api/v1", apiKey: "key" }]] });
