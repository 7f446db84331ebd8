/**
 * The running adapters by platform name, each with its send budget. Delivery, previews and signs of life reach a
 * platform through here and nowhere else.
 */
import type { PlatformAdapter } from "../ports/platform-adapter.js";
import { commandText } from "../words/catalogue.js";
import { Pacing } from "./pacing.js";

export interface Channel {
  readonly adapter: PlatformAdapter;
  readonly pacing: Pacing;
}

export class Channels {
  readonly #channels = new Map<string, Channel>();

  constructor(deps: { readonly adapters: readonly PlatformAdapter[]; readonly now: () => number }) {
    for (const adapter of deps.adapters) {
      this.#channels.set(adapter.platform, { adapter, pacing: new Pacing({ pace: adapter.capabilities.pace, now: deps.now }) });
    }
  }

  /** Undefined when the platform is not configured (any more). */
  get(platform: string): Channel | undefined {
    return this.#channels.get(platform);
  }

  /** How a command is written on a platform. */
  commandText(platform: string, command: string): string {
    return commandText(this.#channels.get(platform)?.adapter.capabilities.commandForm ?? "/{command}", command);
  }

  all(): readonly Channel[] {
    return [...this.#channels.values()];
  }
}
