/** Background work on Redis with a worker of its own: whatever dies, no reply waits, no job is lost, every effect is once. */
import { readFileSync, readdirSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { operatorId, until, world, type World } from "../support/gateway.js";
import { spawnGateway, spawnWorker } from "../support/gateway-process.js";
import { missingRedis, startRedis, type RedisServer } from "../support/redis-server.js";
import { messageText, type WireRequest } from "../support/scripted-model.js";

const skipped = missingRedis();
const saves = {
  calls: [{ name: "memory", arguments: { action: "add", target: "user", content: "Plays the cello.", evidence: "I play the cello" } }],
};
let redis: RedisServer | undefined;

afterEach(async () => {
  await redis?.remove();
  redis = undefined;
});

function isReview(request: WireRequest): boolean {
  return messageText(request.messages.findLast((message) => message.role === "user")).startsWith("[Review.");
}

function settings(server: RedisServer): Record<string, string> {
  return { REDIS_URL: server.url, MNEME__learning__idleSeconds: "0", MNEME__turns__joinMs: "0", MNEME__memory__nudgeInterval: "2" };
}

async function prepare(): Promise<{ readonly where: World; readonly server: RedisServer; readonly vars: Record<string, string> }> {
  const server = await startRedis();
  redis = server;
  const where = await world();
  where.telegram.person(operatorId);
  where.model.answerWith((request) => {
    if (!isReview(request)) return "fine";
    return request.messages.at(-1)?.role === "tool" ? "NOTHING" : saves;
  });
  return { where, server, vars: settings(server) };
}

async function say(where: World, text: string): Promise<number> {
  const before = replies(where);
  const began = Date.now();
  where.telegram.say(operatorId, text);
  await until("the reply", () => replies(where) > before);
  return Date.now() - began;
}

function replies(where: World): number {
  return where.telegram.sent.filter((stored) => stored.message.text === "fine").length;
}

function notices(where: World): number {
  return where.telegram.sent.filter((stored) => stored.message.text === "💾 Memory: Plays the cello.").length;
}

function stored(where: World): number {
  const [person] = readdirSync(where.home.path("data", "people"));
  return readFileSync(where.home.path("data", "people", person ?? "", "USER.md"), "utf8").split("Plays the cello.").length - 1;
}

describe.skipIf(skipped !== undefined)("jobs on Redis", () => {
  it("lets a worker review and the gateway say what was saved", async () => {
    const { where, vars } = await prepare();
    await spawnGateway(where, vars);
    await spawnWorker(where, vars);

    await say(where, "I play the cello");
    await say(where, "and you?");
    await until("the notice", () => notices(where) === 1, 15_000);

    expect(stored(where)).toBe(1);
  });

  it("answers without delay while Redis is down, and the review runs when it is back", async () => {
    const { where, server, vars } = await prepare();
    await spawnGateway(where, vars);
    await say(where, "hello");
    await server.stop();

    const took = await say(where, "I play the cello");
    expect(took).toBeLessThan(3_000);
    await server.start();
    await spawnWorker(where, vars);

    await until("the notice", () => notices(where) === 1, 20_000);
    expect(stored(where)).toBe(1);
  });

  it("does a job again whose worker was killed in it, with one effect", async () => {
    const { where, vars } = await prepare();
    let killed: Promise<void> | undefined;
    let first = true;
    await spawnGateway(where, vars);
    const victim = await spawnWorker(where, vars);
    where.model.answerWith((request) => {
      if (!isReview(request)) return "fine";
      if (request.messages.at(-1)?.role !== "tool") return saves;
      if (first) {
        first = false;
        killed = victim.kill();
      }
      return "NOTHING";
    });

    await say(where, "I play the cello");
    await say(where, "and you?");
    await until("the kill", () => killed !== undefined, 15_000);
    await killed;
    await spawnWorker(where, vars);

    await until("the notice", () => notices(where) === 1, 60_000);
    expect(stored(where)).toBe(1);
  }, 90_000);
});
