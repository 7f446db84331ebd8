/** A running adapter against its emulator, for tests of what only Discord has. Waits are shortened, nothing else. */
import { DiscordAdapter } from "../../../../adapters/discord/adapter.js";
import { standardTimings, type Timings } from "../../../../adapters/discord/timings.js";
import type { Route } from "../../../../src/domain/message.js";
import type { AdapterDeps, SendOptions } from "../../../../src/ports/platform-adapter.js";
import { adapterDeps, recordingIo, type RecordingIo } from "../../../support/adapter-io.js";
import { startDiscordEmulator, type DiscordEmulator, type EmulatorOptions } from "../../../support/discord/emulator.js";

export interface Rig {
  readonly emulator: DiscordEmulator;
  readonly adapter: DiscordAdapter;
  readonly io: RecordingIo;
  readonly deps: ReturnType<typeof adapterDeps>;
  /** Another adapter with the same settings: the program after a restart. */
  readonly again: (deps?: AdapterDeps) => DiscordAdapter;
  readonly route: (chatId: string, more?: Partial<Route>) => Route;
  readonly options: (deliveryId: string) => SendOptions;
  readonly close: () => Promise<void>;
}

export async function rig(
  options: EmulatorOptions & { readonly thread?: "never" | "auto"; readonly timings?: Partial<Timings> } = {},
): Promise<Rig> {
  const emulator = await startDiscordEmulator({ heartbeatMs: 250, ...options });
  const timings: Timings = {
    ...standardTimings,
    requestMs: 800,
    startMs: 4_000,
    sessionMs: 4_000,
    reconnectMs: 10,
    loginMs: 50,
    reconnectMaxMs: 50,
    catchUpMs: 2_000,
    ...options.timings,
  };
  const deps = adapterDeps();
  const made: DiscordAdapter[] = [];
  const make = (own: AdapterDeps = deps): DiscordAdapter => {
    const adapter = new DiscordAdapter({
      settings: { token: emulator.token, enabled: true, apiUrl: emulator.apiUrl, thread: options.thread ?? "never" },
      deps: own,
      timings,
    });
    made.push(adapter);
    return adapter;
  };
  const io = recordingIo();
  return {
    emulator,
    adapter: make(),
    io,
    deps,
    again: make,
    route: (chatId, more = {}) => ({ platform: "discord", chatId, ...more }),
    options: (deliveryId) => ({ deliveryId, signal: new AbortController().signal }),
    async close() {
      for (const adapter of made) await adapter.stop();
      await emulator.stop();
      await io.close();
    },
  };
}
