/**
 * Connections that fail without saying so, on all three platforms at once: health turns red and names the platform, the adapter comes back
 * by itself, and the other platforms go on answering. Waits are shortened; a table checks that the real ones keep to a minute.
 */
import { describe, expect, it } from "vitest";
import { DiscordAdapter } from "../../adapters/discord/adapter.js";
import { standardTimings } from "../../adapters/discord/timings.js";
import type { buildAdapters } from "../../adapters/registry.js";
import { SlackAdapter } from "../../adapters/slack/adapter.js";
import { usualTiming } from "../../adapters/slack/timing.js";
import { TelegramAdapter } from "../../adapters/telegram/adapter.js";
import { defaultTimings } from "../../adapters/telegram/intake.js";
import { configSchema } from "../../config/schema.js";
import type { PlatformAdapter } from "../../src/ports/platform-adapter.js";
import { fullWorld, operatorId, startGateway, textsIn, until, type FullWorld, type Running } from "../support/gateway.js";

/** The three adapters with waits of a second or so. */
const quick: typeof buildAdapters = (config, deps) => {
  const { telegram, discord, slack } = config;
  const adapters: PlatformAdapter[] = [];
  if (telegram.token !== undefined) {
    const timings = { ...defaultTimings, requestMs: 1_000, pollMarginMs: 500, backoffMs: 100, backoffMaxMs: 300 };
    adapters.push(new TelegramAdapter({ settings: { ...telegram, token: telegram.token }, ...deps, timings }));
  }
  if (discord.token !== undefined) {
    const timings = { ...standardTimings, aliveWithinMs: 900, reconnectMs: 50, loginMs: 50, closeMs: 300, dialMs: 300 };
    adapters.push(new DiscordAdapter({ settings: { ...discord, token: discord.token }, deps, timings }));
  }
  if (slack.botToken !== undefined) {
    const timing = { ...usualTiming, pongMs: 400, aliveMs: 1_500, reconnectMs: { first: 100, longest: 500 } };
    adapters.push(new SlackAdapter({ ...slack, botToken: slack.botToken }, deps, timing));
  }
  return Promise.resolve(adapters);
};

interface Health {
  readonly status: string;
  readonly problems: readonly { readonly subject: string }[];
}

async function health({ gateway }: Running): Promise<{ readonly code: number; readonly subjects: string[] }> {
  const response = await fetch(`http://127.0.0.1:${gateway.parts.http.port}/healthz`);
  const { problems } = (await response.json()) as Health;
  return { code: response.status, subjects: problems.map(({ subject }) => subject) };
}

/** Health answers 503 and blames this platform alone. */
const red = async (running: Running, platform: string): Promise<boolean> => {
  const { code, subjects } = await health(running);
  return code === 503 && subjects.length === 1 && subjects[0] === `platform ${platform}`;
};
const green = async (running: Running): Promise<boolean> => (await health(running)).code === 200;

async function started(): Promise<{ readonly where: FullWorld; readonly running: Running }> {
  const where = await fullWorld({ model: { answer: () => "Answer." }, discord: { heartbeatMs: 300 } });
  where.telegram.person(operatorId);
  const running = await startGateway(where, { MNEME__telegram__pollTimeoutSeconds: "1" }, quick);
  await until("all are connected", () => green(running));
  return { where, running };
}

/** What each platform shows of the bot's answers. */
const answers = ({ telegram, discord, slack }: FullWorld): { telegram: number; discord: number; slack: number } => ({
  telegram: telegram.sent.length,
  discord: discord.sent().length,
  slack: slack.sent().length,
});

const say = {
  telegram: ({ telegram }: FullWorld) => void telegram.say(operatorId, "hello"),
  discord: ({ discord }: FullWorld) => void discord.say({ in: discord.world.dm, text: "hello" }),
  slack: ({ slack }: FullWorld) => void slack.say({ channel: "D0AMY", user: "U0AMY", text: "hello" }),
};
type Name = keyof typeof say;

/** Asks on each of these platforms and waits for one more answer there. */
async function answered(where: FullWorld, names: readonly Name[]): Promise<void> {
  const before = answers(where);
  for (const name of names) say[name](where);
  await until(`answers on ${names.join(" and ")}`, () => names.every((name) => answers(where)[name] === before[name] + 1), 15_000);
}

const restartsOf = ({ gateway }: Running, platform: string): number =>
  gateway.parts.supervisor.states().find((state) => state.platform === platform)?.restarts ?? 0;

describe("a connection that dies without a word", () => {
  it("RC-01, OP-06: polls that hang turn health red; Telegram is built anew, Discord and Slack go on", async () => {
    const { where, running } = await started();

    const mend = where.telegram.fail("getUpdates", { never: "before" });
    await until("health blames Telegram", () => red(running, "telegram"), 10_000);
    await answered(where, ["discord", "slack"]);
    await until("the adapter is built anew", () => restartsOf(running, "telegram") > 0, 20_000);
    expect(await red(running, "telegram")).toBe(true);
    mend();
    await until("health is green again", () => green(running), 20_000);
    await answered(where, ["telegram"]);

    expect(textsIn(where, operatorId)).toEqual(["Answer."]);
  }, 60_000);

  it("a Discord socket that falls silent turns health red; it is opened anew, Telegram and Slack go on", async () => {
    const { where, running } = await started();
    const { connections } = where.discord.gateway;

    where.discord.gateway.silence();
    await until("health blames Discord", () => red(running, "discord"), 10_000);
    await answered(where, ["telegram", "slack"]);
    await until("health is green again", () => green(running), 20_000);
    await answered(where, ["discord"]);

    expect(where.discord.gateway.connections).toBeGreaterThan(connections);
  }, 60_000);

  it("a Slack socket that falls silent turns health red; it is opened anew, Telegram and Discord go on", async () => {
    const { where, running } = await started();

    // New connections are refused too, or the adapter is back before anybody can look.
    where.slack.fail("apps.connections.open", { status: 503, html: true, times: 4 });
    where.slack.source.silence();
    await until("health blames Slack", () => red(running, "slack"), 10_000);
    await answered(where, ["telegram", "discord"]);
    await until("health is green again", () => green(running), 20_000);
    await answered(where, ["slack"]);
  }, 60_000);

  it("RC-06: a gateway that closes every resume turns health red until a fresh login, and the others go on", async () => {
    const { where, running } = await started();
    const { gateway } = where.discord;
    const logins = gateway.identifies.length;

    gateway.closeOnResume = true;
    gateway.drop();
    await until("health blames Discord", () => red(running, "discord"), 10_000);
    await answered(where, ["telegram", "slack"]);
    await until("a fresh login", () => gateway.identifies.length > logins, 20_000);
    await until("health is green again", () => green(running), 20_000);
    await answered(where, ["discord"]);
  }, 60_000);
});

describe("the usual waits", () => {
  const settings = configSchema.parse({});

  it("show a dead connection within a minute on every platform", () => {
    const poll = settings.telegram.pollTimeoutSeconds * 1_000 + defaultTimings.pollMarginMs;
    const waits = { telegram: poll, discord: standardTimings.aliveWithinMs, slack: usualTiming.pongMs * 2 };

    expect(Object.entries(waits).filter(([, ms]) => ms > 60_000)).toEqual([]);
  });

  it("are longer than what a healthy connection is silent for", () => {
    // Discord asks for a heartbeat every 41.25 s.
    expect(standardTimings.aliveWithinMs).toBeGreaterThan(41_250 + 5_000);
    expect(defaultTimings.pollMarginMs).toBeGreaterThanOrEqual(5_000);
  });
});
