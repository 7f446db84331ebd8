/** SIGTERM to a real process in the middle of everything: it ends in time, and the next start finishes what it had to leave. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it, onTestFailed } from "vitest";
import { startCli, type RunningCli } from "../support/cli.js";
import { countRows, environmentOf, operatorId, quiet, textsIn, until, world, type World } from "../support/gateway.js";
import { messageText, type WireRequest } from "../support/scripted-model.js";

const saves = {
  calls: [{ name: "memory", arguments: { action: "add", target: "user", content: "Plays the cello.", evidence: "I play the cello" } }],
};

const settings = {
  MNEME_OPERATORS: `telegram:${operatorId}`,
  MNEME__turns__joinMs: "0",
  MNEME__learning__idleSeconds: "0",
  MNEME__memory__nudgeInterval: "1",
};

async function start(where: World): Promise<RunningCli> {
  const cli = startCli(["start"], { cwd: where.home.dir, env: environmentOf(where, settings) });
  onTestFailed(() => void process.stderr.write(cli.out().slice(-4_000) + cli.err()));
  await until("the gateway runs", () => cli.out().includes("the gateway is running"), 30_000);
  return cli;
}

const lastUser = (request: WireRequest): string => messageText(request.messages.findLast((message) => message.role === "user"));
const isReview = (request: WireRequest): boolean => lastUser(request).startsWith("[Review.");

function facts(where: World): string {
  const people = where.home.path("data", "people");
  if (!existsSync(people)) return "";
  return readdirSync(people)
    .map((person) => readFileSync(`${people}/${person}/USER.md`, "utf8"))
    .join("");
}

describe("SIGTERM", () => {
  it("RC-10: ends within 25 s though an answer, two waiting messages and a job hang; all of them are done after the start, once", async () => {
    const where = await world();
    where.telegram.person(operatorId);
    where.model.answerWith((request) => (lastUser(request).includes("cello") && !isReview(request) ? "fine" : { fault: { kind: "hang" } }));
    const first = await start(where);
    where.telegram.say(operatorId, "I play the cello");
    await until(
      "the first answer and its review",
      () => textsIn(where).length === 1 && where.model.requests.some(({ body }) => isReview(body)),
    );
    where.telegram.say(operatorId, "one");
    await until("a turn that hangs", () => countRows(where, "select count(*) n from turns where state = 'running'") === 1);
    where.telegram.say(operatorId, "two");
    where.telegram.say(operatorId, "three");
    await until("waiting messages", () => countRows(where, "select count(*) n from inbox where state <> 'done'") === 3);

    const askedAt = Date.now();
    first.child.kill("SIGTERM");
    const { code } = await first.finished;
    const tookMs = Date.now() - askedAt;
    where.model.answerWith((request) => {
      if (!isReview(request)) return "fine";
      return request.messages.at(-1)?.role === "tool" || facts(where).includes("cello") ? "NOTHING" : saves;
    });
    const second = await start(where);
    await quiet(where, 20_000);
    await until("the review's fact", () => facts(where).includes("cello"), 90_000);
    await quiet(where, 20_000);
    second.child.kill("SIGTERM");
    const end = await second.finished;

    expect(tookMs).toBeLessThan(25_000);
    expect([code, end.code]).toEqual([0, 0]);
    // "cello"; then "one", taken up again; then "two" and "three", which waited together.
    expect(textsIn(where).filter((text) => text === "fine")).toHaveLength(3);
    expect(facts(where).split("Plays the cello.")).toHaveLength(2);
    expect(countRows(where, "select count(*) n from inbox where disposition in ('answered', 'joined')")).toBe(4);
  }, 180_000);
});
