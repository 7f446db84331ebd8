import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../config/load.js";
import { whatIsMissing, enabledPlatforms } from "../../../config/readiness.js";
import { configSchema } from "../../../config/schema.js";
import { leafPaths } from "../../../config/schema-tree.js";
import { isSecret, secretsOf } from "../../../config/secrets.js";

function load(env: Record<string, string>) {
  return loadConfig({ env, cwd: "/nonexistent" });
}

describe("secrets in the settings", () => {
  it("lists each key whose name sounds like a secret", () => {
    const sounding = leafPaths(configSchema).filter((path) => /token$|secret|key$|password/i.test(path));

    expect(sounding.length).toBeGreaterThan(5);
    expect(sounding.filter((path) => !isSecret(path.split(".")))).toEqual([]);
  });

  it("gives the log every secret value to blank out", () => {
    const config = load({
      OPENAI_API_KEY: "sk-1",
      TELEGRAM_BOT_TOKEN: "1:abc",
      REDIS_URL: "redis://user:p%40ss@localhost:6379",
      MNEME__mcp__servers__files__url: "http://localhost:1",
      MNEME__mcp__servers__files__headers__authorization: "Bearer long-enough-token",
      MNEME__mcp__servers__files__env__DEBUG: "1",
    });

    expect(secretsOf(config).sort()).toEqual(["1:abc", "long-enough-token", "p%40ss", "p@ss", "sk-1"]);
  });
});

describe("what is still missing", () => {
  it("names model, key and platform for a bare start, and nothing about platforms for chat", () => {
    expect(whatIsMissing(load({}), "start").map(({ key }) => key)).toEqual(["model.id", "model.apiKey", "telegram.token"]);
    expect(whatIsMissing(load({}), "chat").map(({ key }) => key)).toEqual(["model.id", "model.apiKey"]);
  });

  it("asks for no key where the model's server is one's own", () => {
    const config = load({ MNEME_MODEL: "m", OPENAI_BASE_URL: "http://127.0.0.1:1/v1", TELEGRAM_BOT_TOKEN: "1:a" });

    expect(whatIsMissing(config, "start")).toEqual([]);
    expect(enabledPlatforms(config)).toEqual(["telegram"]);
  });

  it("keeps a platform off that is switched off although its token is there", () => {
    expect(enabledPlatforms(load({ TELEGRAM_BOT_TOKEN: "1:a", MNEME__telegram__enabled: "false" }))).toEqual([]);
  });
});
