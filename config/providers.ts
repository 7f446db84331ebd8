/**
 * Settings of the external memory services. A service is on when memory.provider names it; the rest of its branch is then checked.
 */
import { z } from "zod";
import { count, secret, webUrl } from "./fields.js";

export const providers = z.strictObject({
  prefetchTimeoutMs: count(1500, 50, 30_000).describe("Longest wait for recall before a model call, where no warm result is there."),
  syncAfterMs: count(600_000, 0, 86_400_000).describe(
    "A finished turn is sent when the next one is finished, or after this time; until then /undo reaches it here alone.",
  ),
  callTimeoutMs: count(30_000, 1000, 300_000).describe("Limit of one call in the background or by a tool."),
});

export const honcho = z.strictObject({
  apiKey: secret()
    .describe("Key for Honcho; a server of your own may need none. Better in the environment: HONCHO_API_KEY.")
    .meta({ examples: ["key"] }),
  baseUrl: webUrl().default("https://api.honcho.dev").describe("Hosted Honcho, or the address of your own server. HONCHO_BASE_URL."),
  workspace: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/, "1 to 100 letters, digits, _ or -")
    .default("mneme")
    .describe("Workspace there; one per bot."),
  contextEvery: count(1, 1, 1000).describe("User turns between two refreshes of what is known."),
  dialecticEvery: count(3, 1, 1000).describe("User turns between two considered answers; each costs model calls at Honcho."),
  dialecticDepth: count(1, 1, 3).describe("Passes of a considered answer: 1 asks, 2 looks for gaps, 3 settles contradictions."),
});

export const supermemory = z.strictObject({
  apiKey: secret()
    .describe("Key for Supermemory. Better in the environment: SUPERMEMORY_API_KEY.")
    .meta({ examples: ["key"] }),
  baseUrl: webUrl().default("https://api.supermemory.ai").describe("Address of the service. SUPERMEMORY_BASE_URL."),
});
