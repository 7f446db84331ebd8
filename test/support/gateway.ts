/**
 * The whole gateway in this process, against emulators and a scripted model: what flow tests start. Everything is the
 * real thing but the addresses of the outside services.
 */
import { onTestFinished } from "vitest";
import { buildAdapters } from "../../adapters/registry.js";
import { loadConfig } from "../../config/load.js";
import { buildGateway } from "../../src/app/build.js";
import type { Gateway } from "../../src/app/gateway.js";
import { createIds, systemClock } from "../../src/app/runtime.js";
import { collectingLogger, type CollectedLog } from "./runtime.js";
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from "./scripted-model.js";
import { startTelegramEmulator, type TelegramEmulator, type TelegramEmulatorOptions } from "./telegram/emulator.js";
import { tempHome, type TempHome } from "./temp-home.js";

export interface World {
  readonly telegram: TelegramEmulator;
  readonly model: ScriptedModel;
  readonly home: TempHome;
}

export interface Running {
  readonly gateway: Gateway;
  readonly log: CollectedLog;
  stop(): Promise<void>;
}

/** Emulator, scripted model and data folder; gone when the test is finished. */
export async function world(
  options: { readonly telegram?: TelegramEmulatorOptions; readonly model?: ScriptedModelOptions } = {},
): Promise<World> {
  const [telegram, model] = await Promise.all([startTelegramEmulator(options.telegram), startScriptedModel(options.model)]);
  onTestFinished(async () => {
    await Promise.all([telegram.stop(), model.stop()]);
  });
  return { telegram, model, home: tempHome() };
}

/** The operator of every test, as a Telegram user id. */
export const operatorId = 1001;

/** Settings as the environment would give them; `overrides` are more such variables. */
export function environmentOf(where: World, overrides: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    TELEGRAM_BOT_TOKEN: where.telegram.token,
    TELEGRAM_API_ROOT: where.telegram.url,
    OPENAI_BASE_URL: where.model.url,
    OPENAI_API_KEY: "sk-test-key-of-the-scripted-model",
    MNEME_MODEL: "scripted",
    MNEME_DATA_DIR: where.home.path("data"),
    MNEME_OPERATORS: `telegram:${operatorId}`,
    MNEME_HTTP_PORT: "0",
    MNEME__telegram__pollTimeoutSeconds: "2",
    ...overrides,
  };
}

/** Builds and starts a gateway; stopped at the end of the test unless it was stopped before. */
export async function startGateway(where: World, overrides: Readonly<Record<string, string>> = {}): Promise<Running> {
  const config = loadConfig({ env: environmentOf(where, overrides), cwd: where.home.dir });
  const log = collectingLogger();
  const deps = { clock: systemClock, logger: log };
  const gateway = await buildGateway({ config, adapters: await buildAdapters(config, deps), ids: createIds(deps), ...deps });
  await gateway.start();
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (stopped) return;
    stopped = true;
    await gateway.stop(2_000);
  };
  onTestFinished(stop);
  return { gateway, log, stop };
}

/** Waits until a condition holds; the error names what was waited for. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 8_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    if (await holds()) return;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
