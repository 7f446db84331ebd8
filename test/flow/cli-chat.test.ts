/** `mneme chat` with piped input: the bot without any platform account. */
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runCli, startCli } from "../support/cli.js";
import { environmentOf, until, world, type World } from "../support/gateway.js";

const timeoutMs = 60_000;
/** A port that nobody listens on; one that was just closed could be another test's by now. */
const unreachableModel = { OPENAI_BASE_URL: "http://127.0.0.1:2/v1" };

function chatEnvironment(where: World): Record<string, string> {
  const { TELEGRAM_BOT_TOKEN: _token, MNEME_OPERATORS: _operators, ...rest } = environmentOf(where);
  return rest;
}

describe("mneme chat in a pipe", { timeout: timeoutMs }, () => {
  it("prints the answer and nothing else, and ends with 0", async () => {
    const where = await world();
    where.model.push("Hello to you.");

    const { code, out, err } = await runCli(["chat"], { cwd: where.home.dir, env: chatEnvironment(where), input: "hello\n" });

    expect({ code, out, err }).toEqual({ code: 0, out: "Hello to you.\n", err: "" });
  });

  it("lets the person at the terminal use operators' commands", async () => {
    const where = await world();

    const { code, out } = await runCli(["chat"], { cwd: where.home.dir, env: chatEnvironment(where), input: "/approve ABCDEFGH\n" });

    expect(code).toBe(0);
    expect(out).not.toContain("operators");
    expect(out).toMatch(/code/i);
  });

  it("remembers in the next run what it was told in this one", async () => {
    const where = await world();
    const run = { cwd: where.home.dir, env: chatEnvironment(where) };
    const call = { name: "memory", arguments: { action: "add", target: "user", content: "Is called Amy.", evidence: "My name is Amy" } };
    where.model.push({ calls: [call] }, "Noted.", "You are Amy.");

    await runCli(["chat"], { ...run, input: "My name is Amy, remember that.\n" });
    const { out } = await runCli(["chat"], { ...run, input: "/new\nWho am I?\n" });

    const people = where.home.path("data", "people");
    expect(readFileSync(`${people}/${readdirSync(people)[0] ?? ""}/USER.md`, "utf8")).toContain("Is called Amy.");
    expect(out).toContain("You are Amy.");
    expect(where.model.requests.at(-1)?.raw).toContain("Is called Amy.");
  });

  it("ends with 1 after saying so when the model fails", async () => {
    const where = await world();

    const { code, out } = await runCli(["chat"], {
      cwd: where.home.dir,
      env: { ...chatEnvironment(where), ...unreachableModel },
      input: "hello\n",
    });

    expect(code).toBe(1);
    expect(out.trim()).not.toBe("");
  });

  it("says so when a gateway uses the data folder", async () => {
    const where = await world();
    const gateway = startCli(["start"], { cwd: where.home.dir, env: environmentOf(where) });
    await until("the gateway runs", () => gateway.out().includes("the gateway is running"), 30_000);

    const { code, err } = await runCli(["chat"], { cwd: where.home.dir, env: chatEnvironment(where), input: "hello\n" });

    expect(code).toBe(1);
    expect(err).toContain("Another gateway is running with the data folder");
  });
});
