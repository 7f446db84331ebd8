/** The loader with real files in a temporary folder: what an operator writes, and what the program says to it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../config/load.js";
import type { GatewayConfig } from "../../../config/schema.js";
import { ConfigError } from "../../../src/domain/errors.js";
import { createRedactor } from "../../../src/safety/redact.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mneme-config-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function load(
  yaml: string | undefined,
  env: Record<string, string> = {},
  options: { configFile?: string; dataDir?: string } = {},
): GatewayConfig {
  if (yaml !== undefined) writeFileSync(join(folder, "mneme.yaml"), yaml);
  return loadConfig({ ...options, env, cwd: folder });
}

function complaint(yaml: string | undefined, env: Record<string, string> = {}): string {
  try {
    load(yaml, env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }
  throw new Error("the settings were accepted");
}

describe("loading the settings", () => {
  it("gives every setting its default when nothing is set", () => {
    const config = load(undefined);

    expect(config.agent).toMatchObject({ name: "mneme", maxIterations: 60, promptCacheMinutes: 60, idleTimeoutMs: 120_000 });
    expect(config.access).toMatchObject({ mode: "pairing", operators: [], users: [], groups: [], bots: [] });
    expect(config.memory).toMatchObject({ userCharLimit: 1375, memoryCharLimit: 2200, nudgeInterval: 10, flushMinTurns: 6 });
    expect(config.turns).toEqual({ concurrency: 256, perPerson: 4, perPersonPer10Min: 30, timeoutMs: 600_000, joinMs: 1500 });
    expect(config.data.dir).toBe(join(folder, "data"));
    expect(config.timezone).not.toBe("system");
  });

  it("takes a file whose sections are all commented out", () => {
    expect(load("agent:\n  # name: x\nmodel:\n").agent.name).toBe("mneme");
  });

  it("keeps what is in the file and lets the environment win", () => {
    const config = load("model:\n  id: from-file\n  baseUrl: http://127.0.0.1:1/v1\n", { MNEME_MODEL: "from-env" });

    expect(config.model).toMatchObject({ id: "from-env", baseUrl: "http://127.0.0.1:1/v1" });
  });

  it.each([
    ["OPENAI_API_KEY", "k", (c: GatewayConfig) => c.model.apiKey],
    ["OPENAI_BASE_URL", "http://localhost:9/v1", (c: GatewayConfig) => c.model.baseUrl],
    ["MNEME_MODEL", "m", (c: GatewayConfig) => c.model.id],
    ["TELEGRAM_BOT_TOKEN", "1:a", (c: GatewayConfig) => c.telegram.token],
    ["TELEGRAM_API_ROOT", "http://localhost:9", (c: GatewayConfig) => c.telegram.apiRoot],
    ["DISCORD_BOT_TOKEN", "d", (c: GatewayConfig) => c.discord.token],
    ["DISCORD_API_URL", "http://localhost:9/api", (c: GatewayConfig) => c.discord.apiUrl],
    ["SLACK_APP_TOKEN", "xapp", (c: GatewayConfig) => c.slack.appToken],
    ["SLACK_SIGNING_SECRET", "s", (c: GatewayConfig) => c.slack.signingSecret],
    ["SLACK_API_URL", "http://localhost:9/api/", (c: GatewayConfig) => c.slack.apiUrl],
    ["REDIS_URL", "redis://localhost:6379/1", (c: GatewayConfig) => c.redis.url],
    ["MNEME_ACCESS_MODE", "open", (c: GatewayConfig) => c.access.mode],
    ["MNEME_LOG_LEVEL", "debug", (c: GatewayConfig) => c.log.level],
    ["MNEME_DATA_DIR", "/var/lib/mneme", (c: GatewayConfig) => c.data.dir],
    ["MNEME__agent__name", "007", (c: GatewayConfig) => c.agent.name],
    ["MNEME__MODEL__AUX__ID", "small", (c: GatewayConfig) => c.model.aux.id],
  ])("reads %s", (variable, value, pick) => {
    expect(pick(load(undefined, { [variable]: value }))).toBe(value);
  });

  it("reads numbers, switches and lists from the environment", () => {
    const config = load(undefined, {
      MNEME_HTTP_PORT: "0",
      MNEME__memory__enabled: "false",
      MNEME_OPERATORS: "telegram:1, discord:123456789012345678",
      MNEME__learning__notices: "off",
    });

    expect(config.http.port).toBe(0);
    expect(config.memory.enabled).toBe(false);
    expect(config.access.operators).toEqual(["telegram:1", "discord:123456789012345678"]);
    expect(config.learning.notices).toBe("off");
  });

  it("turns a Slack pair of tokens on through the environment alone", () => {
    expect(load(undefined, { SLACK_BOT_TOKEN: "xoxb-1", SLACK_APP_TOKEN: "xapp-1" }).slack).toMatchObject({
      botToken: "xoxb-1",
      mode: "socket",
    });
  });

  it("treats an empty variable as not set", () => {
    expect(load(undefined, { TELEGRAM_BOT_TOKEN: "", MNEME_MODEL: " " }).telegram.token).toBeUndefined();
  });

  it("reads .env, and lets a real variable win over it", () => {
    writeFileSync(join(folder, ".env"), "export MNEME_MODEL=\"from env file\" # note\nOPENAI_API_KEY='a b'\nMNEME_LOG_LEVEL=warn\n");

    const config = load(undefined, { MNEME_LOG_LEVEL: "error" });

    expect(config.model).toMatchObject({ id: "from env file", apiKey: "a b" });
    expect(config.log.level).toBe("error");
  });

  it("says so when the file named by --config is not there", () => {
    expect(() => load(undefined, {}, { configFile: "other.yaml" })).toThrow(/other\.yaml does not exist/);
    expect(complaint(undefined, { MNEME_CONFIG: "named.yaml" })).toContain("named.yaml does not exist");
  });

  it("lets --data win over file and environment", () => {
    expect(load("data:\n  dir: a\n", { MNEME_DATA_DIR: "b" }, { dataDir: "c" }).data.dir).toBe(join(folder, "c"));
  });

  it("gives settings that nobody can change afterwards", () => {
    const config = load("mcp:\n  servers:\n    files:\n      command: run\n");

    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.mcp.servers["files"]?.args)).toBe(true);
    expect(() => {
      (config.agent as { name: string }).name = "x";
    }).toThrow(TypeError);
  });

  it("keeps ids to the digit, quoted or not, whatever their length", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.boolean(), (id, quoted) => {
        const entry = quoted ? `"discord:${id}"` : `discord:${id}`;
        const config = load(`access:\n  users:\n    - ${entry}\n    - discord: ${id}\n  operators: [${entry}]\nmodel:\n  id: ${id}\n`);

        expect(config.access.users).toEqual([`discord:${id}`, `discord:${id}`]);
        expect(config.access.operators).toEqual([`discord:${id}`]);
        expect(config.model.id).toBe(String(id));
      }),
      { numRuns: 30 },
    );
  });
});

describe("wrong settings", () => {
  it("names every wrong key at once, with its value and what is allowed", () => {
    const message = complaint("access:\n  mode: openn\nturns:\n  concurrency: 0\nlog:\n  level: 3\ntimezone: Mars/Olympus\n");

    expect(message).toContain('access.mode: "openn" is not allowed. Allowed: pairing, allowlist, open.');
    expect(message).toContain("turns.concurrency: 0 is not allowed. Allowed: at least 1.");
    expect(message).toContain('log.level: "3" is not allowed. Allowed: debug, info, warn, error.');
    expect(message).toContain('timezone: "Mars/Olympus" is not allowed. Allowed: an IANA time zone');
  });

  it.each([
    ["sessions:\n  bussyMode: queue\n", "sessions.bussyMode: no such setting. Did you mean sessions.busyMode?"],
    ["telegramm:\n  token: x\n", "telegramm: no such setting. Did you mean telegram?"],
    ["agent:\n  baseUrl: http://x\n", "agent.baseUrl: no such setting. Did you mean model.baseUrl?"],
    ["http:\n  zzzzzz: 1\n", "http.zzzzzz: no such setting. Allowed here: host, port."],
  ])("suggests the right key for %j", (yaml, expected) => {
    expect(complaint(yaml)).toContain(expected);
  });

  it("names the variable that a wrong value came from", () => {
    expect(complaint(undefined, { MNEME_HTTP_PORT: "99999" })).toContain(
      "http.port (from MNEME_HTTP_PORT): 99999 is not allowed. Allowed: at most 65535.",
    );
    expect(complaint(undefined, { MNEME_OPERATORS: "someone" })).toContain(
      'access.operators.0 (from MNEME_OPERATORS): "someone" is not allowed. Allowed: written "platform:id"',
    );
  });

  it("refuses variables that name no setting", () => {
    expect(complaint(undefined, { MNEME__agent__nam: "x" })).toContain(
      "MNEME__agent__nam: names no setting. Did you mean MNEME__agent__name?",
    );
    expect(complaint(undefined, { MNEME_OPERATOR: "telegram:1" })).toContain("Did you mean MNEME_OPERATORS?");
    expect(load(undefined, { MNEME_SOMETHING_ELSE: "1" }).agent.name).toBe("mneme");
  });

  it("never shows a secret", () => {
    const message = complaint("telegram:\n  token: [hunter2]\n  mode: webhook\n  webhookSecret: hunter2!\nredis:\n  url: hunter2\n");

    expect(message).not.toContain("hunter2");
    expect(message).toContain("telegram.webhookSecret: *** (the value is a secret) is not allowed. Allowed: 1 to 256 letters");
  });

  it.each([
    ["telegram:\n  token: 1:a\n  mode: webhook\n", ["telegram.webhookUrl: is needed when", "telegram.webhookSecret: is needed when"]],
    ["slack:\n  botToken: x\n", ["slack.appToken: is needed when slack.mode is socket"]],
    ["slack:\n  botToken: x\n  mode: http\n", ["slack.signingSecret: is needed when slack.mode is http"]],
    ["memory:\n  provider: honcho\n", ["honcho.apiKey: is needed when memory.provider is honcho"]],
    ["memory:\n  provider: supermemory\n", ["supermemory.apiKey: is needed when"]],
    ["model:\n  aux:\n    baseUrl: http://x\n", ["model.aux.id: is needed when"]],
    ["mcp:\n  servers:\n    a: {}\n", ["mcp.servers.a: needs either command"]],
    ["mcp:\n  servers:\n    a: {command: x, url: 'http://x'}\n", ["mcp.servers.a: needs either command"]],
    ["mcp:\n  servers:\n    Bad_Name: {command: x}\n", ["mcp.servers.Bad_Name"]],
  ])("checks settings against each other: %j", (yaml, expected) => {
    const message = complaint(yaml);

    for (const part of expected) expect(message).toContain(part);
    // What follows the name of a secret must not look like one: the line is printed through the redactor.
    expect(createRedactor({ secrets: [] }).text(message)).toBe(message);
  });

  it.each([
    ["a: [1\n", "is not valid YAML, line"],
    ["a: 1\na: 2\n", "is not valid YAML, line 2"],
    ["just words\n", 'must hold "section:" lines'],
    ["- 1\n", 'must hold "section:" lines'],
  ])("says where %j is broken", (yaml, expected) => {
    expect(complaint(yaml)).toContain(expected);
  });

  it("refuses an alias bomb instead of filling the memory", () => {
    const bomb = [
      "a: &a [x,x,x,x,x,x,x,x,x]",
      ...["b", "c", "d", "e", "f"].map((name, index) => {
        const before = "abcde"[index];
        return `${name}: &${name} [${Array<string>(9).fill(`*${before}`).join(",")}]`;
      }),
    ].join("\n");

    expect(complaint(bomb)).toContain("mneme.yaml");
  });
});
