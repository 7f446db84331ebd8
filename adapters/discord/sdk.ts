/**
 * Loads discord.js on first use: importing it takes about a third of a second, which a gateway without Discord must not
 * pay. Every other file takes the loaded module as a value and imports only its types.
 */
import { createRequire } from "node:module";

export type Sdk = typeof import("discord.js");

/** With `require`, because it is CommonJS: for an import Node first parses each of its 400 files for names, a sixth of the time. */
export function loadSdk(): Promise<Sdk> {
  return new Promise((resolve) => resolve(createRequire(import.meta.url)("discord.js") as Sdk));
}
