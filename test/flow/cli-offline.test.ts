/** status, inbox, pair and doctor beside a running gateway, as processes of their own. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runCli, type Finished } from "../support/cli.js";
import { environmentOf, startGateway, world, type World } from "../support/gateway.js";
import { tempHome } from "../support/temp-home.js";

const timeoutMs = 90_000;
const stranger = 2002;

function cli(where: World, args: readonly string[], overrides: Readonly<Record<string, string>> = {}): Promise<Finished> {
  return runCli(args, { cwd: where.home.dir, env: environmentOf(where, overrides) });
}

/** A gateway without an operator, and the code it gave to a stranger. */
async function strangerWaits(where: World): Promise<string> {
  await startGateway(where, { MNEME_OPERATORS: "" });
  where.telegram.person(stranger, { first_name: "Amy\u001b[2J" });
  where.telegram.say(stranger, "let me in");
  const [sent] = await where.telegram.waitSent(1);
  const code = /[2-9A-Z]{8}/.exec(sent?.message.text ?? "")?.[0];
  expect(code).toBeDefined();
  return code ?? "";
}

describe("mneme pair", { timeout: timeoutMs }, () => {
  it("admits the first operator, who is told by the running gateway and then answered", async () => {
    const where = await world();
    const code = await strangerWaits(where);
    const noOperators = { MNEME_OPERATORS: "" };

    const list = await cli(where, ["pair", "list"], noOperators);
    const undecided = await cli(where, ["pair", "approve", code], noOperators);
    const approved = await cli(where, ["pair", "approve", code.toLowerCase(), "--operator"], noOperators);
    await where.telegram.waitSent(2);
    where.model.push("Welcome.");
    where.telegram.say(stranger, "hello");
    const sent = await where.telegram.waitSent(3);

    expect(list.out).toContain(code);
    expect(list.out).not.toContain("\u001b");
    expect(undecided).toMatchObject({ code: 2, err: expect.stringContaining("--operator") as string });
    expect(approved).toMatchObject({ code: 0, out: expect.stringContaining("is admitted as operator") as string });
    expect(sent.map(({ message }) => message.text).at(1)).toContain("/help");
    expect(sent.at(2)?.message.text).toBe("Welcome.");
  });

  it("refuses a code that was used, and locks after five wrong ones", async () => {
    const where = await world();
    const code = await strangerWaits(where);
    await cli(where, ["pair", "approve", code, "--user"]);

    const used = await cli(where, ["pair", "approve", code, "--user"]);
    for (let wrong = 0; wrong < 4; wrong += 1) await cli(where, ["pair", "approve", "WRONGCDE", "--user"]);
    const locked = await cli(where, ["pair", "approve", "WRONGCDE", "--user"]);

    expect(used).toMatchObject({ code: 1, err: expect.stringContaining("There is no such code") as string });
    expect(locked).toMatchObject({ code: 1, err: expect.stringContaining("Too many wrong codes") as string });
  });
});

describe("mneme status and mneme inbox", { timeout: timeoutMs }, () => {
  it("tell whether a gateway runs, when something last came and went, and why there was no answer", async () => {
    const where = await world();
    const running = await startGateway(where);
    where.model.push("Hello.");
    where.telegram.person(1001);
    where.telegram.person(stranger);
    where.telegram.say(1001, "hello");
    await where.telegram.waitSent(1);
    where.telegram.say(stranger, "and me?");
    await where.telegram.waitSent(2);

    const during = JSON.parse((await cli(where, ["status", "--json"])).out) as Record<string, unknown>;
    const rows = JSON.parse((await cli(where, ["inbox", "--json"])).out) as { disposition: string; accountId: string }[];
    const text = await cli(where, ["inbox", "--chat", String(stranger), "--limit", "5"]);
    await running.stop();
    const after = await cli(where, ["status"]);

    expect(during).toMatchObject({
      running: true,
      openTurns: 0,
      codes: 1,
      jobs: { failed: 0 },
      platforms: [
        {
          platform: "telegram",
          open: 0,
          lastEventAt: expect.any(Number) as number,
          lastSentAt: expect.any(Number) as number,
          outbox: { sent: 2 },
        },
      ],
    });
    expect(rows.map(({ disposition, accountId }) => [disposition, accountId])).toEqual([
      ["not-admitted", String(stranger)],
      ["answered", "1001"],
    ]);
    expect(text.out).toContain("not-admitted");
    expect(text.out).not.toContain("and me?");
    expect(text.out).not.toContain("answered");
    expect(after.out).toContain("not running");
  });

  it("say that nothing is stored yet and make no database", async () => {
    const where = await world();

    const status = await cli(where, ["status"]);
    const limit = await cli(where, ["inbox", "--limit", "none"]);

    expect(status).toMatchObject({ code: 1, err: expect.stringContaining("no database") as string });
    expect(limit).toMatchObject({ code: 2, err: expect.stringContaining("--limit") as string });
  });
});

describe("mneme doctor", { timeout: timeoutMs }, () => {
  it("finds a set-up that works in order, also while a gateway runs", async () => {
    const where = await world({ model: { answer: () => "ready" } });
    await startGateway(where);

    const { code, out } = await cli(where, ["doctor"]);

    expect(out).not.toContain("error ");
    expect(out).toMatch(/ok +model: .*answered/);
    expect(out).toMatch(/ok +telegram: token/);
    expect(out).toContain("A gateway is running on it.");
    expect(code).toBe(0);
  });

  it("names what is wrong with its remedy, and shows no secret", async () => {
    const where = await world({ model: { apiKey: "sk-the-right-key-12345" } });
    mkdirSync(where.home.path("data"));
    chmodSync(where.home.path("data"), 0o755);
    const wrong = {
      OPENAI_API_KEY: "sk-a-wrong-key-987654321",
      TELEGRAM_BOT_TOKEN: "987654:wrong-token-of-a-bot",
      REDIS_URL: "redis://:hidden-word@127.0.0.1:1",
    };

    const { code, out, err } = await cli(where, ["doctor", "--json"], wrong);
    const findings = JSON.parse(out) as { level: string; subject: string; remedy?: string }[];

    expect(code).toBe(1);
    expect(
      findings
        .filter(({ level }) => level === "error")
        .map(({ subject }) => subject)
        .sort(),
    ).toEqual(["model", "redis", "telegram: token"]);
    expect(findings.find(({ subject }) => subject === "data folder")).toMatchObject({
      level: "warning",
      remedy: expect.stringContaining("chmod 700") as string,
    });
    expect(findings.every(({ level, remedy }) => level === "ok" || remedy !== undefined)).toBe(true);
    for (const secret of ["wrong-key", "wrong-token", "hidden-word"]) expect(out + err).not.toContain(secret);
  });

  it("ST-08: reports a damaged database instead of failing itself", async () => {
    const home = tempHome();
    mkdirSync(home.path("data"), { mode: 0o700 });
    writeFileSync(home.path("data", "mneme.db"), "this is no database at all, but long enough to be read as one".repeat(50));

    const { code, out } = await runCli(["doctor", "--json"], { cwd: home.dir });

    expect(code).toBe(1);
    expect(JSON.parse(out)).toContainEqual(expect.objectContaining({ level: "error", subject: "database" }));
  });
});
