/**
 * `npm run demo`: one gateway on all three platforms, against emulators and a scripted model, as a short story a person can read.
 * Everything between the emulators is the real thing: client libraries on the wire, database, memory files.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAdapters } from "../../adapters/registry.js";
import { loadConfig } from "../../config/load.js";
import { buildGateway } from "../../src/app/build.js";
import type { Gateway } from "../../src/app/gateway.js";
import { createIds, systemClock } from "../../src/app/runtime.js";
import { startDiscordEmulator, type DiscordEmulator } from "../support/discord/emulator.js";
import { collectingLogger } from "../support/runtime.js";
import { messageText, startScriptedModel, type ScriptedModel, type ScriptedReply, type WireRequest } from "../support/scripted-model.js";
import { SlackEmulator } from "../support/slack/emulator.js";
import { startTelegramEmulator, type TelegramEmulator } from "../support/telegram/emulator.js";

const telegramAmy = 1001;
const preference = "Prefers tables over lists.";
const groupRule = "This channel wants prices as tables.";
const limitMs = 15_000;

interface Stage {
  readonly where: string;
  readonly saves: string;
  say(text: string): void;
  /** What the bot said there so far. */
  heard(): readonly string[];
}

const print = (line = ""): void => void process.stdout.write(`${line}\n`);

/** The model's part: saves what holds "from now on", and answers as the prompt tells it. */
function script(request: WireRequest): ScriptedReply | string {
  const message = messageText(request.messages.findLast((one) => one.role === "user"));
  // In a channel the message is headed by its author, and what was said there earlier may stand before it.
  const said = message.trim().split("\n").at(-1) ?? "";
  const prompt = messageText(request.messages[0]);
  if (request.messages.at(-1)?.role === "tool") return "Got it: tables from now on.";
  if (said.includes("from now on")) {
    const group = message.startsWith("[");
    const evidence = "from now on, tables please";
    return {
      calls: [
        {
          name: "memory",
          arguments: { action: "add", target: group ? "memory" : "user", content: group ? groupRule : preference, evidence },
        },
      ],
    };
  }
  return prompt.includes(preference) || prompt.includes(groupRule)
    ? "| fruit | price |\n|---|---|\n| apple | 2 |\n| pear | 3 |"
    : "- apple: 2\n- pear: 3";
}

async function main(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "mneme-demo-"));
  const [telegram, discord, slack, model] = await Promise.all([
    startTelegramEmulator(),
    startDiscordEmulator(),
    new SlackEmulator().start(),
    startScriptedModel({ answer: script }),
  ]);
  telegram.person(telegramAmy, { first_name: "Amy" });
  const gateway = await startGateway(home, { telegram, discord, slack, model });
  print("One gateway; Amy writes to it on three platforms. Emulators and a scripted model; everything else is real.");
  let held = true;
  try {
    for (const stage of stages(telegram, discord, slack)) held = (await play(stage, model, home)) && held;
  } finally {
    await gateway.stop(1_000);
    await Promise.all([telegram.stop(), discord.stop(), slack.stop(), model.stop()]);
    rmSync(home, { recursive: true, force: true });
  }
  print(`\nThe preference held in the new session on every platform: ${held}`);
  if (!held) process.exitCode = 1;
}

interface Outside {
  readonly telegram: TelegramEmulator;
  readonly discord: DiscordEmulator;
  readonly slack: SlackEmulator;
  readonly model: ScriptedModel;
}

async function startGateway(home: string, { telegram, discord, slack, model }: Outside): Promise<Gateway> {
  const config = loadConfig({
    cwd: home,
    env: {
      TELEGRAM_BOT_TOKEN: telegram.token,
      TELEGRAM_API_ROOT: telegram.url,
      DISCORD_BOT_TOKEN: discord.token,
      DISCORD_API_URL: discord.apiUrl,
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.apiUrl,
      OPENAI_BASE_URL: model.url,
      MNEME_MODEL: "scripted",
      MNEME_DATA_DIR: join(home, "data"),
      MNEME_OPERATORS: `telegram:${telegramAmy},discord:${discord.world.amy.id},slack:U0AMY`,
      MNEME_HTTP_PORT: "0",
    },
  });
  const deps = { clock: systemClock, logger: collectingLogger() };
  const gateway = await buildGateway({ config, adapters: await buildAdapters(config, deps), ids: createIds(deps), ...deps });
  await gateway.start();
  return gateway;
}

function stages(telegram: TelegramEmulator, discord: DiscordEmulator, slack: SlackEmulator): Stage[] {
  return [
    {
      where: "a direct message on Telegram",
      saves: preference,
      say: (text) => void telegram.say(telegramAmy, text),
      heard: () => telegram.sent.map((stored) => stored.message.text ?? ""),
    },
    {
      where: "a mention in Discord",
      saves: groupRule,
      say: (text) => void discord.say({ in: discord.world.group, text: `<@${discord.world.bot.id}> ${text}` }),
      heard: () => discord.sent().map((message) => message.content),
    },
    {
      where: "a direct message in Slack",
      saves: preference,
      say: (text) => void slack.say({ channel: "D0AMY", user: "U0AMY", text }),
      heard: () => slack.sent().map((message) => message.text ?? ""),
    },
  ];
}

/** A question, a preference, a new session, the question again. True when the new session's prompt held what was saved and the answer was a table. */
async function play(stage: Stage, model: ScriptedModel, home: string): Promise<boolean> {
  print(`\n== ${stage.where}`);
  const ask = async (text: string): Promise<void> => {
    const before = stage.heard().length;
    print(`  Amy   ${text}`);
    stage.say(text);
    const end = Date.now() + limitMs;
    while (stage.heard().length === before) {
      if (Date.now() > end) throw new Error(`no answer on ${stage.where} within ${limitMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    print(`  mneme ${(stage.heard().at(-1) ?? "").trim().split("\n").join("\n        ")}`);
  };
  await ask("what do apples and pears cost?");
  const prompt = messageText(model.requests.at(-1)?.body.messages[0]);
  await ask("from now on, tables please");
  print(
    `  (the running session's prompt is unchanged to the byte: ${messageText(model.requests.at(-1)?.body.messages[0]) === prompt}; on disk: ${saved(home)})`,
  );
  await ask(stage.where.includes("Slack") ? "!new" : "/new");
  await ask("what do apples and pears cost?");
  const inPrompt = messageText(model.requests.at(-1)?.body.messages[0]).includes(stage.saves);
  return inPrompt && (stage.heard().at(-1) ?? "").includes("apple | 2");
}

/** Every memory file there is now, in one line. */
function saved(home: string): string {
  const files = ["people", "spaces"].flatMap((kind) => memoryFiles(join(home, "data", kind)));
  return files.map((file) => readFileSync(file, "utf8").trim()).join(" | ");
}

function memoryFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => join(entry.parentPath, entry.name));
}

await main();
