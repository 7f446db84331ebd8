/**
 * The whole gateway in this process, against emulators and a scripted model: what flow tests start. Everything is the
 * real thing but the addresses of the outside services.
 */
import { onTestFinished } from "vitest";
import SqliteDriver from "better-sqlite3";
import { buildAdapters } from "../../adapters/registry.js";
import { TelegramAdapter } from "../../adapters/telegram/adapter.js";
import { defaultTimings } from "../../adapters/telegram/intake.js";
import { loadConfig } from "../../config/load.js";
import { buildGateway } from "../../src/app/build.js";
import type { Gateway } from "../../src/app/gateway.js";
import { createIds, systemClock } from "../../src/app/runtime.js";
import { collectingLogger, type CollectedLog } from "./runtime.js";
import { messageText, startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from "./scripted-model.js";
import { startDiscordEmulator, type DiscordEmulator, type EmulatorOptions as DiscordEmulatorOptions } from "./discord/emulator.js";
import { SlackEmulator, type EmulatorOptions as SlackEmulatorOptions } from "./slack/emulator.js";
import { startTelegramEmulator, type TelegramEmulator, type TelegramEmulatorOptions } from "./telegram/emulator.js";
import { tempHome, type TempHome } from "./temp-home.js";

export interface World {
  readonly telegram: TelegramEmulator;
  readonly model: ScriptedModel;
  readonly home: TempHome;
  /** Present where the test asked for them; the gateway then runs these platforms too. */
  readonly discord?: DiscordEmulator;
  readonly slack?: SlackEmulator;
}

/** All three platforms. */
export interface FullWorld extends World {
  readonly discord: DiscordEmulator;
  readonly slack: SlackEmulator;
}

export interface WorldOptions {
  readonly telegram?: TelegramEmulatorOptions;
  readonly model?: ScriptedModelOptions;
}

export interface Running {
  readonly gateway: Gateway;
  readonly log: CollectedLog;
  stop(): Promise<void>;
}

/** Emulator, scripted model and data folder; gone when the test is finished. */
export async function world(options: WorldOptions = {}): Promise<World> {
  const [telegram, model] = await Promise.all([startTelegramEmulator(options.telegram), startScriptedModel(options.model)]);
  onTestFinished(async () => {
    await Promise.all([telegram.stop(), model.stop()]);
  });
  return { telegram, model, home: tempHome() };
}

/** The same with Discord and Slack beside Telegram. */
export async function fullWorld(
  options: WorldOptions & { readonly discord?: DiscordEmulatorOptions; readonly slack?: SlackEmulatorOptions } = {},
): Promise<FullWorld> {
  const [base, discord, slack] = await Promise.all([
    world(options),
    startDiscordEmulator(options.discord),
    new SlackEmulator({ redeliverMs: 500, ...options.slack }).start(),
  ]);
  onTestFinished(async () => {
    await Promise.all([discord.stop(), slack.stop()]);
  });
  return { ...base, discord, slack };
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
    MNEME_HTTP_PORT: "0",
    MNEME__telegram__pollTimeoutSeconds: "2",
    ...otherPlatforms(where),
    ...overrides,
  };
}

/** Amy is the operator on Discord and Slack too. */
function otherPlatforms({ discord, slack }: World): Record<string, string> {
  const operators = [
    `telegram:${operatorId}`,
    ...(discord === undefined ? [] : [`discord:${discord.world.amy.id}`]),
    ...(slack === undefined ? [] : ["slack:U0AMY"]),
  ];
  return {
    MNEME_OPERATORS: operators.join(","),
    ...(discord === undefined ? {} : { DISCORD_BOT_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl }),
    ...(slack === undefined
      ? {}
      : {
          SLACK_BOT_TOKEN: slack.botToken,
          SLACK_APP_TOKEN: slack.appToken,
          SLACK_API_URL: slack.apiUrl,
          MNEME__slack__fileHost: slack.fileHost,
        }),
  };
}

/** Telegram with short waits, for tests in which calls hang or the connection goes away. */
export const quickTelegram: typeof buildAdapters = async (config, deps) => {
  const { token } = config.telegram;
  if (token === undefined) return [];
  const timings = { ...defaultTimings, requestMs: 1_000, pollMarginMs: 500, backoffMs: 100, backoffMaxMs: 500 };
  return [new TelegramAdapter({ settings: { ...config.telegram, token }, ...deps, timings })];
};

/** Builds and starts a gateway; stopped at the end of the test unless it was stopped before. */
export async function startGateway(
  where: World,
  overrides: Readonly<Record<string, string>> = {},
  adapters: typeof buildAdapters = buildAdapters,
): Promise<Running> {
  const config = loadConfig({ env: environmentOf(where, overrides), cwd: where.home.dir });
  const log = collectingLogger();
  const deps = { clock: systemClock, logger: log };
  const gateway = await buildGateway({ config, adapters: await adapters(config, deps), ids: createIds(deps), ...deps });
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

/** What the bot said in a Telegram chat (or in all), oldest first, as the chats show it now. */
export function textsIn(where: World, chatId?: number): string[] {
  return where.telegram.sent
    .filter((stored) => chatId === undefined || stored.message.chat.id === chatId)
    .map((stored) => stored.message.text ?? stored.message.caption ?? "");
}

/** One number from the database, read beside the gateway. */
export function countRows(where: World, sql: string): number {
  const db = new SqliteDriver(where.home.path("data", "mneme.db"), { readonly: true });
  try {
    return (db.prepare(sql).get() as { n: number }).n;
  } finally {
    db.close();
  }
}

/** Waits until nothing is on its way any more: inbox, turns and outbox are empty. */
export async function quiet(where: World, timeoutMs?: number): Promise<void> {
  const open = `select (select count(*) from inbox where state <> 'done') + (select count(*) from turns where state = 'running')
    + (select count(*) from outbox where state in ('waiting', 'sending')) n`;
  await until("nothing on its way", () => countRows(where, open) === 0, timeoutMs);
}

/** The last message of a request, as the model saw it. */
export function lastOf(where: World, n = -1): string {
  const request = where.model.requests.at(n > 0 ? n - 1 : n);
  return messageText(request?.body.messages.findLast((message) => message.role === "user"));
}
