/** `mneme start` as a process: what it says without settings, and that trouble outside does not stop it. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runCli, startCli, type RunningCli } from "../support/cli.js";
import { environmentOf, until, world, type World } from "../support/gateway.js";
import { tempHome } from "../support/temp-home.js";

const timeoutMs = 60_000;

async function running(where: World, overrides: Readonly<Record<string, string>> = {}): Promise<RunningCli> {
  const cli = startCli(["start"], { cwd: where.home.dir, env: environmentOf(where, overrides) });
  await until("the gateway runs", () => cli.out().includes("the gateway is running"), 30_000);
  return cli;
}

describe("mneme start", { timeout: timeoutMs }, () => {
  it("says in a few lines what to set when nothing is set, and fails", async () => {
    const { code, out, err } = await runCli(["start"], { cwd: tempHome().dir });

    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toContain("MNEME_MODEL");
    expect(err).toContain("OPENAI_API_KEY");
    expect(err).toContain("TELEGRAM_BOT_TOKEN");
    expect(err.split("\n").length).toBeLessThan(8);
  });

  it("names line and column of broken YAML, without a stack", async () => {
    const home = tempHome();
    writeFileSync(home.path("mneme.yaml"), "model:\n  id: [a\n");

    const { code, err } = await runCli(["start"], { cwd: home.dir });

    expect(code).toBe(2);
    expect(err).toMatch(/mneme\.yaml is not valid YAML, line \d+, column \d+/);
    expect(err).not.toContain("    at ");
  });

  it("names a wrong key and what is allowed, and never the value of a secret", async () => {
    const env = { MNEME__access__mode: "everybody", TELEGRAM_BOT_TOKEN: "123456:secret-of-the-bot" };

    const { code, err } = await runCli(["start"], { cwd: tempHome().dir, env });

    expect(code).toBe(2);
    expect(err).toContain("access.mode");
    expect(err).toContain("pairing");
    expect(err).not.toContain("secret-of-the-bot");
  });

  it("JQ-08: ends within 5 s after SIGTERM when idle, with code 0", async () => {
    const where = await world();
    const cli = await running(where);
    const askedAt = Date.now();

    cli.child.kill("SIGTERM");
    const { code, out } = await cli.finished;

    expect(code).toBe(0);
    expect(Date.now() - askedAt).toBeLessThan(5_000);
    expect(
      out
        .trim()
        .split("\n")
        .every((line) => typeof JSON.parse(line) === "object"),
    ).toBe(true);
  });

  it("keeps running with a token that Telegram refuses, says which setting, and shows no token", async () => {
    const where = await world();
    const token = "987654:a-token-that-nobody-knows";
    const cli = await running(where, { TELEGRAM_BOT_TOKEN: token });

    expect(cli.out()).toContain("TELEGRAM_BOT_TOKEN");
    expect(cli.child.exitCode).toBeNull();
    cli.child.kill("SIGTERM");
    const { code, out, err } = await cli.finished;
    expect(code).toBe(0);
    expect(out + err).not.toContain("a-token-that-nobody-knows");
  });

  it("starts with a model that cannot be reached, and tells the person who asks", async () => {
    const where = await world();
    await running(where, { OPENAI_BASE_URL: "http://127.0.0.1:2/v1" });
    where.telegram.person(1001);

    where.telegram.say(1001, "hello");
    const [sent] = await where.telegram.waitSent(1, 20_000);

    expect(sent?.message.text).toMatch(/\w/);
    expect(sent?.message.text).not.toContain("127.0.0.1");
  });

  it("refuses a data folder that another gateway uses", async () => {
    const where = await world();
    await running(where);

    const { code, err } = await runCli(["start"], { cwd: where.home.dir, env: environmentOf(where) });

    expect(code).toBe(1);
    expect(err).toContain("Another gateway is running with the data folder");
  });
});

describe("the command line", { timeout: timeoutMs }, () => {
  it("proposes the command that was meant and ends with 2", async () => {
    const { code, err } = await runCli(["statis"], { cwd: tempHome().dir });

    expect(code).toBe(2);
    expect(err).toContain("Did you mean status?");
  });

  it("refuses an unknown option with 2 and prints its version with 0", async () => {
    const cwd = tempHome().dir;

    const [wrong, version] = await Promise.all([runCli(["start", "--fast"], { cwd }), runCli(["--version"], { cwd })]);

    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain("--fast");
    expect(version).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string });
  });

  it("init without a terminal says what it would need", async () => {
    const { code, err } = await runCli(["init", "--yes"], { cwd: tempHome().dir });

    expect(code).toBe(2);
    expect(err).toContain("MNEME_MODEL");
  });
});
