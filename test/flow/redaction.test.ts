/**
 * Secrets planted wherever one can be: tokens, keys, headers, URLs, servers that echo what they were sent. A real gateway runs into every
 * failure that quotes them; then all it has written and said is searched for them.
 */
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFailed, onTestFinished } from "vitest";
import { runCli, startCli } from "../support/cli.js";
import { environmentOf, fullWorld, operatorId, textsIn, until } from "../support/gateway.js";

/** Marks that are found again whatever stands around them. */
const planted = {
  modelKey: "sk-planted-model-key-4711abcdef",
  modelHeader: "planted-header-secret-0815",
  auxKey: "planted-aux-key-without-a-shape",
  redisPassword: "planted-redis-password-99",
  mcpEnv: "planted-mcp-env-value-77",
  mcpHeader: "planted-mcp-header-value-55",
  signing: "planted0signing0secret0000000001",
  webhook: "planted_webhook_secret_1",
};

/** A server that answers everything with 401 and repeats key, headers and body, as badly written ones do. */
async function echoing(): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const said = `Incorrect API key provided. You sent ${JSON.stringify(request.headers)} to ${request.url ?? ""}: ${body.slice(0, 200)}`;
      response.writeHead(401, { "content-type": "application/json", "x-echo": request.headers.authorization ?? "" });
      response.end(JSON.stringify({ error: { message: said, code: "invalid_api_key", type: "auth" } }));
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Every file below a folder as text. */
function filesBelow(folder: string): { readonly path: string; readonly text: string }[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => join(folder, path))
    .filter((path) => statSync(path).isFile())
    .map((path) => ({ path, text: readFileSync(path, "latin1") }));
}

describe("secrets", () => {
  it("appear in no log line, no chat, no health, no metric, no file and no command's output", async () => {
    const where = await fullWorld();
    const echo = await echoing();
    where.telegram.person(operatorId);
    const secrets = [...Object.values(planted), where.telegram.token, where.discord.token, where.slack.botToken, where.slack.appToken];
    writeFileSync(
      where.home.path("mneme.yaml"),
      JSON.stringify({
        model: { headers: { "X-Planted": planted.modelHeader }, aux: { id: "small", baseUrl: `${echo}/v1`, apiKey: planted.auxKey } },
        mcp: {
          servers: {
            local: {
              command: process.execPath,
              args: ["-e", "console.error(process.env.PLANTED); process.exit(1)"],
              env: { PLANTED: planted.mcpEnv },
            },
            far: { url: `${echo}/mcp`, headers: { Authorization: `Bearer ${planted.mcpHeader}` } },
          },
        },
        telegram: { webhookSecret: planted.webhook },
      }),
    );
    const env = environmentOf(where, {
      OPENAI_BASE_URL: `${echo}/v1`,
      OPENAI_API_KEY: planted.modelKey,
      SLACK_SIGNING_SECRET: planted.signing,
      REDIS_URL: `redis://:${planted.redisPassword}@127.0.0.1:1`,
      MNEME_LOG_LEVEL: "debug",
    });
    const options = { cwd: where.home.dir, env };

    const cli = startCli(["start"], options);
    onTestFailed(() => void process.stderr.write(cli.out().slice(-8_000) + cli.err()));
    await until("the gateway runs", () => cli.out().includes("the gateway is running"), 40_000);
    // Calls fail with the token in their address, with the connection cut, and with an answer that names it.
    where.telegram.fail("getUpdates", { hangUp: "before", times: 2 });
    where.telegram.fail("sendMessage", { status: 400, description: `Bad Request: bot${where.telegram.token} may not`, times: 1 });
    where.telegram.say(operatorId, "hello");
    where.telegram.say(operatorId, "/status");
    where.discord.say({ in: where.discord.world.dm, text: "hello" });
    where.slack.fail("chat.postMessage", { error: "invalid_auth", more: { needed: where.slack.botToken } });
    where.slack.say({ channel: "D0AMY", user: "U0AMY", text: "hello" });
    await until("the failure is told on Telegram and Discord", () => textsIn(where).length > 0 && where.discord.sent().length > 0, 30_000);
    const port = /"port":(\d+),"msg":"health and metrics/.exec(cli.out())?.[1] ?? "";
    const pages = await Promise.all(["healthz", "metrics"].map(async (page) => (await fetch(`http://127.0.0.1:${port}/${page}`)).text()));
    const commands = await Promise.all(
      [["doctor"], ["doctor", "--json"], ["status", "--json"], ["inbox"], ["jobs", "list"]].map((args) => runCli(args, options)),
    );
    cli.child.kill("SIGTERM");
    const ended = await cli.finished;
    const broken = await runCli(["--verbose", "start"], {
      ...options,
      env: { ...env, MNEME__access__mode: "wrong", MNEME__http__port: planted.modelKey },
    });

    const shown = {
      log: ended.out,
      errors: ended.err,
      telegram: textsIn(where).join("\n"),
      discord: where.discord
        .sent()
        .map((message) => message.content)
        .join("\n"),
      slack: JSON.stringify(where.slack.sent()),
      healthz: pages[0],
      metrics: pages[1],
      ...Object.fromEntries(commands.map(({ out, err }, index) => [`command ${index}`, out + err])),
      ...Object.fromEntries(filesBelow(where.home.path("data")).map(({ path, text }) => [path, text])),
    };
    const found = Object.entries(shown).flatMap(([place, text]) =>
      secrets.filter((secret) => text?.includes(secret)).map((secret) => `${place}: ${secret}`),
    );

    // Both failures were really met: the log speaks of them.
    expect(shown.log).toMatch(/Incorrect API key|model\.auth|refuses the key/i);
    expect(shown.log).toContain("[redacted]");
    expect(shown.telegram).not.toBe("");
    expect(found).toEqual([]);
    expect(broken.code).toBe(2);
    expect(broken.err).not.toContain(planted.modelKey);
  }, 120_000);
});
