/**
 * Loads discord.js on first use: importing it takes about a third of a second, which a gateway without Discord must not
 * pay. Every other file takes the loaded module as a value and imports only its types.
 */

export type Sdk = typeof import("discord.js");

export function loadSdk(): Promise<Sdk> {
  return import("discord.js");
}
