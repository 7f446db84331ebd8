/**
 * `npm run demo`: the gateway against emulators and a scripted model, as a short story a person can read. Everything
 * between the emulators is the real thing: clients on the wire, database, memory files.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAdapters } from "../../adapters/registry.js";
import { loadConfig } from "../../config/load.js";
import { buildGateway } from "../../src/app/build.js";
import { createIds, systemClock } from "../../src/app/runtime.js";
import { collectingLogger } from "../support/runtime.js";
import { messageText, startScriptedModel } from "../support/scripted-model.js";
import { startTelegramEmulator } from "../support/telegram/emulator.js";

const amy = 1001;
const preference = "Prefers tables over lists.";

const print = (line = ""): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "mneme-demo-"));
  const telegram = await startTelegramEmulator();
  const model = await startScriptedModel({
    answer: (request) => {
      const said = messageText(request.messages.at(-1));
      const known = messageText(request.messages[0]).includes(preference);
      if (request.messages.at(-1)?.role === "tool") return "Got it: tables from now on.";
      if (said.includes("from now on")) {
        return { calls: [{ name: "memory", arguments: { action: "add", target: "user", content: preference, evidence: said } }] };
      }
      return known ? "| fruit | price |\n|---|---|\n| apple | 2 |\n| pear | 3 |" : "- apple: 2\n- pear: 3";
    },
  });
  telegram.person(amy, { first_name: "Amy" });
  const config = loadConfig({
    cwd: home,
    env: {
      TELEGRAM_BOT_TOKEN: telegram.token,
      TELEGRAM_API_ROOT: telegram.url,
      OPENAI_BASE_URL: model.url,
      MNEME_MODEL: "scripted",
      MNEME_DATA_DIR: join(home, "data"),
      MNEME_OPERATORS: `telegram:${amy}`,
    },
  });
  const deps = { clock: systemClock, logger: collectingLogger() };
  const gateway = await buildGateway({ config, adapters: await buildAdapters(config, deps), ids: createIds(deps), ...deps });
  await gateway.start();
  print("A person, Amy, writes to the bot on Telegram. Emulator, scripted model; everything else is real.\n");

  let answers = 0;
  const say = async (text: string): Promise<void> => {
    print(`  Amy   ${text}`);
    telegram.say(amy, text);
    answers += 1;
    const sent = await telegram.waitSent(answers);
    print(`  mneme ${(sent.at(-1)?.message.text ?? "").split("\n").join("\n        ")}\n`);
  };
  try {
    await say("what do apples and pears cost?");
    await say("from now on, tables please");
    const person = (await gateway.parts.stores.access.account("telegram", String(amy)))?.personId ?? "";
    print(`  USER.md on disk: ${readFileSync(join(home, "data", "people", person, "USER.md"), "utf8").trim()}`);
    const prompts = model.requests.map((request) => messageText(request.body.messages[0]));
    print(`  The running session's prompt is unchanged to the byte: ${prompts.every((prompt) => prompt === prompts[0])}\n`);
    await say("/new");
    await say("what do apples and pears cost?");
    const held = messageText(model.requests.at(-1)?.body.messages[0]).includes(preference);
    print(`  The new session's prompt holds the preference: ${held}`);
    if (!held) process.exitCode = 1;
  } finally {
    await gateway.stop(1_000);
    await Promise.all([telegram.stop(), model.stop()]);
    rmSync(home, { recursive: true, force: true });
  }
}

await main();
