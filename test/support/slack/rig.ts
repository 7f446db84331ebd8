/** An emulator with an adapter on it and short waiting times, for the adapter's own tests. */
import { SlackAdapter } from "../../../adapters/slack/adapter.js";
import type { Timing } from "../../../adapters/slack/timing.js";
import type { SlackSettings } from "../../../config/schema.js";
import { adapterDeps, recordingIo, type RecordingIo } from "../adapter-io.js";
import type { CollectedLog } from "../runtime.js";
import { SlackEmulator, type EmulatorOptions } from "./emulator.js";

export const quickTiming: Timing = {
  callMs: 1_500,
  namesMs: 300,
  helloMs: 3_000,
  pongMs: 3_000,
  aliveMs: 5_000,
  reconnectMs: { first: 20, longest: 200 },
  closeMs: 200,
  downloadIdleMs: 2_000,
};

export interface SlackRig {
  readonly slack: SlackEmulator;
  readonly io: RecordingIo;
  readonly adapter: SlackAdapter;
  readonly log: CollectedLog;
  /** One more adapter on the same emulator. */
  readonly another: (settings?: Partial<SlackSettings>, timing?: Partial<Timing>) => SlackAdapter;
  close(): Promise<void>;
}

export interface RigOptions extends EmulatorOptions {
  readonly settings?: Partial<SlackSettings>;
  readonly timing?: Partial<Timing>;
}

export async function slackRig(options: RigOptions = {}): Promise<SlackRig> {
  const slack = await new SlackEmulator({ redeliverMs: options.redeliverMs ?? 300, ...options }).start();
  const io = recordingIo();
  const deps = adapterDeps();
  const made: SlackAdapter[] = [];
  const another = (settings: Partial<SlackSettings> = {}, timing: Partial<Timing> = {}): SlackAdapter => {
    const all: SlackSettings = {
      botToken: slack.botToken,
      appToken: slack.appToken,
      signingSecret: slack.signingSecret,
      enabled: true,
      mode: "socket",
      apiUrl: slack.apiUrl,
      fileHost: slack.fileHost,
      ...options.settings,
      ...settings,
    };
    const adapter = new SlackAdapter(all, deps, { ...quickTiming, ...options.timing, ...timing });
    made.push(adapter);
    return adapter;
  };
  return {
    slack,
    io,
    adapter: another(),
    log: deps.logger,
    another,
    async close() {
      for (const adapter of made) await adapter.stop();
      await slack.stop();
      await io.close();
    },
  };
}
