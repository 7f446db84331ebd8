/**
 * `npm run bench`: the built gateway in a process of its own against emulators and a model that answers at once. Prints
 * what was measured, whatever it is. Options: `--short`, `--seconds N`, `--chats 1,50`, `--only start|latency|throughput|soak`,
 * `--json`, `--write` (docs/performance.md), `--main FILE` (another build), `--cpu-prof DIR`.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startDiscordEmulator } from "../support/discord/emulator.js";
import { SlackEmulator } from "../support/slack/emulator.js";
import { burst, newPeople, pause, startLoad, talk, type Load } from "./load.js";
import { cpuMs, endGateway, rssMb, startGateway, type Started } from "./process.js";
import { level, levelLines, machine, markdown, startLine, type Figures, type LevelFigures, type StartFigures } from "./report.js";

const { values: options } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    seconds: { type: "string" },
    chats: { type: "string", default: "1,50,500" },
    only: { type: "string", multiple: true },
    main: { type: "string", default: fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url)) },
    "cpu-prof": { type: "string" },
  },
});
const seconds = Number(options.seconds ?? (options.short ? 5 : 30));
const home = mkdtempSync(join(tmpdir(), "mneme-bench-"));
const profiling = options["cpu-prof"] === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options["cpu-prof"]}`];
const unpaced = fileURLToPath(new URL("unpaced-main.ts", import.meta.url));
const idleAfterMs = 5_000;
const soakChats = 500;
const mb = 2 ** 20;

const say = (...lines: readonly string[]): void => {
  if (!options.json) process.stdout.write(`${lines.join("\n")}\n`);
};
const wanted = (part: string): boolean => options.only === undefined || options.only.includes(part);
let complaints = 0;

function settings({ telegram, model }: Load, data: string): Record<string, string> {
  return {
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_API_ROOT: telegram.url,
    OPENAI_BASE_URL: model.url,
    MNEME_MODEL: "scripted",
    MNEME_DATA_DIR: join(home, data),
    MNEME_ACCESS_MODE: "open",
    MNEME_HTTP_PORT: "0",
    MNEME__turns__perPersonPer10Min: "100000",
  };
}

async function end(started: Started): Promise<void> {
  // One is expected: that access is open.
  complaints += Math.max(0, started.complaints.length - 1);
  for (const line of started.complaints.slice(1, 4)) say(`  logged: ${line}`);
  await endGateway(started.child);
}

/** The median of three starts in a fresh data folder; memory of the last one. */
async function start(env: (data: string) => Record<string, string>, platforms: number): Promise<StartFigures> {
  const starts: Started[] = [];
  let idleRssMb = Number.NaN;
  for (const round of [1, 2, 3]) {
    const started = await startGateway([...profiling, options.main, "start"], env(`start-${platforms}-${round}`), platforms);
    starts.push(started);
    if (round === 3) {
      await pause(idleAfterMs);
      idleRssMb = rssMb(started.child);
    }
    await end(started);
  }
  const middle = (values: number[]): number => values.toSorted((a, b) => a - b)[1] ?? Number.NaN;
  const figures = {
    platforms,
    startMs: middle(starts.map((one) => one.startMs)),
    startCpuMs: middle(starts.map((one) => one.startCpuMs)),
    idleRssMb,
  };
  say(startLine(figures));
  return figures;
}

async function starts(load: Load): Promise<StartFigures[]> {
  const alone = await start((data) => settings(load, data), 1);
  const discord = await startDiscordEmulator();
  const slack = await new SlackEmulator().start();
  try {
    const all = {
      DISCORD_BOT_TOKEN: discord.token,
      DISCORD_API_URL: discord.apiUrl,
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.apiUrl,
    };
    return [alone, await start((data) => ({ ...settings(load, data), ...all }), 3)];
  } finally {
    await Promise.all([discord.stop(), slack.stop()]);
  }
}

async function latency(load: Load): Promise<LevelFigures[]> {
  const started = await startGateway([...profiling, options.main, "start"], settings(load, "latency"), 1);
  const levels: LevelFigures[] = [];
  for (const chats of options.chats.split(",").map(Number)) {
    let before = cpuMs(started.child);
    const samples = await talk(load, chats, seconds, () => (before = cpuMs(started.child)));
    levels.push(level(chats, samples, cpuMs(started.child) - before));
    say("", ...levelLines(levels.at(-1) as LevelFigures));
    load.forget();
  }
  await end(started);
  return levels;
}

async function startUnpaced(load: Load, data: string): Promise<Started> {
  return startGateway([...profiling, "--expose-gc", "--import", "tsx", unpaced], settings(load, data), 1);
}

/** How many messages a second the program itself manages when the platform sets no pace. */
async function throughput(load: Load): Promise<NonNullable<Figures["throughput"]>> {
  const started = await startUnpaced(load, "fast");
  const people = newPeople(load, 500, 9_000_000);
  await burst(load, people, 1, "first");
  const rounds = options.short ? 2 : 6;
  const before = cpuMs(started.child);
  const took = await burst(load, people, rounds, "burst");
  const messages = people.length * rounds;
  const figures = { perSecond: messages / took, cpuMsPerMessage: (cpuMs(started.child) - before) / messages };
  say("", `500 chats ask at the same moment, platform pace switched off: ${figures.perSecond.toFixed(0)} messages/s`);
  say(`  CPU time of the gateway per message  ${figures.cpuMsPerMessage.toFixed(2)} ms`);
  await end(started);
  return figures;
}

/** Whether memory grows with the number of messages: many new people all along, as a public bot has. */
async function soak(load: Load): Promise<NonNullable<Figures["soak"]>> {
  const started = await startUnpaced(load, "soak");
  const rounds = options.short ? 10 : 40;
  const seen: { heapMb: number; rssMb: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // Half of them come back, half are new.
    const known = newPeople(load, soakChats / 2, 20_000_000);
    const fresh = newPeople(load, soakChats / 2, 30_000_000 + round * soakChats);
    await burst(load, [...known, ...fresh], 1, `soak-${round}`);
    if ((round + 1) % (rounds / 10) !== 0) continue;
    seen.push({ heapMb: (await started.heapBytes()) / mb, rssMb: rssMb(started.child) });
    const last = seen.at(-1);
    say(`  ${(round + 1) * soakChats} messages: heap ${last?.heapMb.toFixed(1)} MB, RSS ${last?.rssMb.toFixed(0)} MB`);
  }
  await end(started);
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined) throw new RangeError("nothing was measured");
  return { messages: rounds * soakChats, heapMb: [first.heapMb, last.heapMb], rssMb: [first.rssMb, last.rssMb] };
}

const load = await startLoad();
try {
  const where = machine();
  say(where);
  const figures: Figures = {
    at: new Date().toISOString().slice(0, 10),
    machine: where,
    starts: wanted("start") ? await starts(load) : [],
    levels: wanted("latency") ? await latency(load) : [],
    ...(wanted("throughput") ? { throughput: await throughput(load) } : {}),
    ...(wanted("soak") && (!options.short || options.only !== undefined) ? { soak: await soak(load) } : {}),
    complaints,
  };
  if (options.json) process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
  if (options.write) writeFileSync(new URL("../../docs/performance.md", import.meta.url), markdown(figures));
} finally {
  await load.stop();
  rmSync(home, { recursive: true, force: true });
}
