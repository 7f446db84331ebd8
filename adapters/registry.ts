/**
 * Platform name → lazy factory: the one file that knows which platforms exist. A new platform is a folder, a branch of
 * the settings and a line here; its client library is loaded only when it is switched on.
 */
import type { GatewayConfig } from "../config/schema.js";
import type { AdapterDeps, PlatformAdapter } from "../src/ports/platform-adapter.js";
import type { TerminalSettings } from "./terminal/adapter.js";

/** Name of the adapter behind `mneme chat`, and of its one account. */
export const terminal = { platform: "terminal", accountId: "local" } as const;

type Build = (config: GatewayConfig, deps: AdapterDeps) => Promise<PlatformAdapter>;

export interface RegistryEntry {
  readonly platform: string;
  /** Undefined when the settings do not switch the platform on. */
  readonly build: (config: GatewayConfig) => Build | undefined;
}

export const registry: readonly RegistryEntry[] = [
  {
    platform: "telegram",
    build: ({ telegram }) => {
      const { token } = telegram;
      if (!telegram.enabled || token === undefined) return undefined;
      return async (_config, deps) => {
        const { createTelegramAdapter } = await import("./telegram/adapter.js");
        return createTelegramAdapter({ ...telegram, token }, deps);
      };
    },
  },
  {
    platform: "discord",
    build: ({ discord }) => {
      const { token } = discord;
      if (!discord.enabled || token === undefined) return undefined;
      return async (_config, deps) => {
        const { createDiscordAdapter } = await import("./discord/adapter.js");
        return createDiscordAdapter({ ...discord, token }, deps);
      };
    },
  },
  {
    platform: "slack",
    build: ({ slack }) => {
      const { botToken } = slack;
      if (!slack.enabled || botToken === undefined) return undefined;
      return async (_config, deps) => {
        const { createSlackAdapter } = await import("./slack/adapter.js");
        return createSlackAdapter({ ...slack, botToken }, deps);
      };
    },
  },
];

/** The adapters that the settings switch on, built but not started. */
export async function buildAdapters(config: GatewayConfig, deps: AdapterDeps): Promise<PlatformAdapter[]> {
  const builds = registry.flatMap((entry) => {
    const build = entry.build(config);
    return build === undefined ? [] : [build];
  });
  return Promise.all(builds.map((build) => build(config, deps)));
}

/** The adapter behind `mneme chat`; it has no settings of its own in the file. */
export async function buildTerminal(settings: TerminalSettings, deps: AdapterDeps): Promise<PlatformAdapter> {
  const { createTerminalAdapter } = await import("./terminal/adapter.js");
  return createTerminalAdapter(settings, deps);
}
