/**
 * `npm run bench:reviews`: does a review delay a reply? Two gateways side by side, one with a review due after every turn and a model that
 * takes its time over reviews, one without; the same people ask both in turn, so that the machine's moods hit both alike.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtMain } from "../support/built.js";
import { messageText, startScriptedModel, type ScriptedModel } from "../support/scripted-model.js";
import { startTelegramEmulator, type TelegramEmulator } from "../support/telegram/emulator.js";
import { endGateway, startGateway, type Started } from "./process.js";

const rounds = process.argv.includes("--short") ? 20 : 120;
const people = 20;
const reviewMs = 2_000;
const gapMs = 150;

interface Side {
  readonly telegram: TelegramEmulator;
  readonly model: ScriptedModel;
  readonly started: Started;
  reviews: number;
  readonly latencies: number[];
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function openSide(home: string, name: string, nudgeInterval: number): Promise<Side> {
  const telegram = await startTelegramEmulator();
  const counts = { reviews: 0 };
  const model = await startScriptedModel({
    answer: (request) => {
      const isReview = messageText(request.messages.findLast((message) => message.role === "user")).startsWith("[Review.");
      if (!isReview) return "fine";
      counts.reviews += 1;
      return { text: "NOTHING", headDelayMs: reviewMs };
    },
  });
  const env = {
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_API_ROOT: telegram.url,
    OPENAI_BASE_URL: model.url,
    MNEME_MODEL: "scripted",
    MNEME_DATA_DIR: join(home, name),
    MNEME_ACCESS_MODE: "open",
    MNEME_HTTP_PORT: "0",
    MNEME__turns__perPersonPer10Min: "100000",
    MNEME__learning__idleSeconds: "0",
    MNEME__memory__nudgeInterval: String(nudgeInterval),
  };
  for (let id = 1; id <= people; id += 1) telegram.person(id);
  const started = await startGateway([await builtMain(), "start"], env, 1);
  return {
    telegram,
    model,
    started,
    latencies: [],
    get reviews() {
      return counts.reviews;
    },
  };
}

async function ask(side: Side, round: number): Promise<number> {
  const before = side.telegram.sent.length;
  const began = performance.now();
  side.telegram.say(1 + (round % people), `question ${round}`);
  await side.telegram.waitSent(before + 1, 20_000);
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function run(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "mneme-bench-"));
  const [without, reviewed] = [await openSide(home, "without", 0), await openSide(home, "with", 1)];
  try {
    // The first words of each person build a session: not what is compared.
    for (let round = 0; round < people * 2; round += 1) for (const side of [without, reviewed]) await ask(side, round);
    for (let round = 0; round < rounds; round += 1) {
      const order = round % 2 === 0 ? [without, reviewed] : [reviewed, without];
      for (const side of order) side.latencies.push(await ask(side, round));
      await new Promise((resolve) => setTimeout(resolve, gapMs));
    }
    const [plain, busy] = [median(without.latencies), median(reviewed.latencies)];
    print(`${rounds} replies each, one after the other; a review takes ${reviewMs} ms of the model and is due after every turn`);
    print(`  without reviews  p50 ${plain.toFixed(1)} ms`);
    print(`  with reviews     p50 ${busy.toFixed(1)} ms   (${reviewed.reviews} reviews ran)`);
    print(`  difference       ${(((busy - plain) / plain) * 100).toFixed(1)} %`);
  } finally {
    await Promise.all([without, reviewed].map((side) => endGateway(side.started.child)));
    await Promise.all([without, reviewed].flatMap((side) => [side.telegram.stop(), side.model.stop()]));
    rmSync(home, { recursive: true, force: true });
  }
}

await run();
