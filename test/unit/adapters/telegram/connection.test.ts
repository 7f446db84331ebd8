import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TelegramAdapter } from "../../../../adapters/telegram/adapter.js";
import type { Timings } from "../../../../adapters/telegram/intake.js";
import type { TelegramSettings } from "../../../../config/schema.js";
import { adapterDeps, recordingIo, until, type RecordingIo } from "../../../support/adapter-io.js";
import { startTelegramEmulator, type TelegramEmulator, type TelegramEmulatorOptions } from "../../../support/telegram/emulator.js";

const timings: Timings = { requestMs: 400, pollMarginMs: 200, backoffMs: 30, backoffMaxMs: 200, webhookCheckMs: 80, confirmMs: 500 };
const amy = 501;

let emulator: TelegramEmulator;
let io: RecordingIo;
let deps: ReturnType<typeof adapterDeps>;
let adapters: TelegramAdapter[];

beforeEach(async () => {
  await open({});
});

afterEach(async () => {
  for (const adapter of adapters) await adapter.stop();
  await emulator.stop();
  await io.close();
});

async function open(options: TelegramEmulatorOptions): Promise<void> {
  emulator = await startTelegramEmulator(options);
  emulator.person(amy, { first_name: "Amy" });
  io = recordingIo();
  deps = adapterDeps();
  adapters = [];
}

function make(settings: Partial<TelegramSettings> = {}): TelegramAdapter {
  const adapter = new TelegramAdapter({
    ...deps,
    settings: { token: emulator.token, enabled: true, apiRoot: emulator.url, mode: "polling", pollTimeoutSeconds: 1, ...settings },
    timings,
  });
  adapters.push(adapter);
  return adapter;
}

const polls = () => emulator.calls.filter((call) => call.method === "getUpdates");

describe("polling", () => {
  it("asks for its kinds of updates by name", async () => {
    await make().start(io);
    emulator.say(amy, "hi");
    await io.waitFor(() => true);

    expect(polls()[0]?.params).toMatchObject({
      timeout: 1,
      limit: 100,
      allowed_updates: ["message", "edited_message", "callback_query", "my_chat_member"],
    });
    expect([...emulator.updates.allowed]).toHaveLength(4);
  });

  it("stores a batch in one delivery and moves the offset only afterwards", async () => {
    emulator.say(amy, "one");
    emulator.say(amy, "two");
    const release = io.hold();
    await make().start(io);
    await emulator.waitFor(() => polls().length === 1);

    expect(emulator.updates.pending).toHaveLength(2);
    release();
    await until(() => emulator.updates.pending.length === 0, "the batch is confirmed");
    expect(io.batches.map((batch) => batch.length)).toEqual([2]);
    await emulator.waitFor(() => polls().some((call) => call.params["offset"] === 100_003));
  });

  it("confirms a stored batch when it stops, so that the next start does not get it again", async () => {
    const adapter = make();
    await adapter.start(io);
    emulator.say(amy, "one");
    await io.waitFor(() => true);
    await adapter.stop();

    expect(emulator.updates.pending).toEqual([]);
  });

  it("does not confirm a batch that could not be stored, and stores it when that works again", async () => {
    io.refuse(true);
    await make().start(io);
    emulator.say(amy, "one");
    await until(() => io.refused.length > 1, "two refusals");
    expect(emulator.updates.pending).toHaveLength(1);

    io.refuse(false);
    await io.waitFor((event) => event.kind === "message" && event.text === "one");
    await until(() => emulator.updates.pending.length === 0, "confirmed");
  });

  it("goes past a batch in which nothing concerns us", async () => {
    await make().start(io);
    emulator.inject({ message: { message_id: 1, chat: null } });
    await until(() => emulator.updates.pending.length === 0, "confirmed");

    expect(io.events).toEqual([]);
  });

  it("RC-01: cuts a poll that hangs and makes a new one; health tells meanwhile", async () => {
    const adapter = make();
    await adapter.start(io);
    await emulator.waitFor(() => emulator.updates.polled);
    emulator.fail("getUpdates", { times: 1, never: "before" });
    await emulator.waitFor(({ calls }) => calls.some((call) => call.outcome === "never"), 3_000);
    const before = adapter.health().lastAliveAt ?? 0;

    emulator.say(amy, "anyone?");
    await io.waitFor((event) => event.kind === "message", 3_000);

    expect(adapter.health().lastAliveAt).toBeGreaterThan(before);
    expect(io.failures).toEqual([]);
  });

  it("OP-06: while polls hang, the age of the last one grows past the limit and the state is not connected", async () => {
    const adapter = make({ pollTimeoutSeconds: 0 });
    await adapter.start(io);
    emulator.fail("getUpdates", { never: "before" });

    await until(() => {
      const { lastAliveAt = 0, aliveWithinMs, state } = adapter.health();
      return state === "reconnecting" && Date.now() - lastAliveAt > aliveWithinMs;
    }, "health is red");
  });

  it("RC-11: on 409 it backs off, explains, and works again by itself", async () => {
    emulator.fail("getUpdates", {
      times: 3,
      status: 409,
      description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    });
    const adapter = make();
    await adapter.start(io);
    await until(() => adapter.health().detail?.includes("another program polls") === true, "the reason is named");
    expect(adapter.health().state).toBe("reconnecting");

    emulator.say(amy, "hi");
    await io.waitFor((event) => event.kind === "message");

    expect(adapter.health().state).toBe("connected");
    expect(adapter.health().detail).toBeUndefined();
    expect(io.failures).toEqual([]);
    expect(deps.logger.lines.filter((line) => line.level === "warn")).toHaveLength(1);
  });

  it("RC-11: names the webhook that another program has set", async () => {
    const adapter = make();
    await adapter.start(io);
    emulator.updates.setWebhook({ url: "https://other.example.test/hook" }, true);

    await until(() => adapter.health().detail?.includes("other.example.test") === true, "the webhook is named");
  });

  it("removes a webhook at the start and keeps what waits there", async () => {
    emulator.updates.setWebhook({ url: "http://127.0.0.1:9/hook" }, true);
    emulator.say(amy, "waiting");

    await make().start(io);

    await io.waitFor((event) => event.kind === "message" && event.text === "waiting");
    expect(emulator.updates.webhook).toBeUndefined();
  });

  it.each([
    ["a 5xx of Telegram", { status: 502, description: "Bad Gateway" }],
    ["an HTML page", { html502: "before" as const }],
    ["a cut connection", { hangUp: "before" as const }],
    ["a rate limit", { status: 429, description: "Too Many Requests: retry after 0", parameters: { retry_after: 0 } }],
  ])("goes on after %s", async (_name, plan) => {
    emulator.fail("getUpdates", { times: 2, ...plan });
    const adapter = make();
    await adapter.start(io);
    emulator.say(amy, "hi");

    await io.waitFor((event) => event.kind === "message");
    expect(io.failures).toEqual([]);
    expect(adapter.health().state).toBe("connected");
  });

  it("gives up openly when the token is revoked while it runs", async () => {
    const adapter = make();
    await adapter.start(io);
    emulator.fail("getUpdates", { status: 401, description: "Unauthorized" });
    emulator.say(amy, "wake up the poll");

    await until(() => io.failures.length === 1, "the supervisor is told");
    expect(io.failures[0]).toMatchObject({ code: "adapter.auth" });
    expect(adapter.health().state).toBe("failed");
    const count = polls().length;
    await adapter.stop();
    expect(polls().filter((call) => call.outcome !== 200).length).toBeLessThanOrEqual(count);
  });

  it("RC-13: starting twice connects once", async () => {
    const adapter = make();
    await Promise.all([adapter.start(io), adapter.start(io)]);
    await adapter.start(io);

    expect(emulator.calls.filter((call) => call.method === "getMe")).toHaveLength(1);
  });

  it("stopping while it starts ends the start, and nothing is polled afterwards", async () => {
    emulator.fail("getMe", { times: 1, delayMs: 100 });
    const adapter = make();
    const starting = adapter.start(io);
    await adapter.stop();

    await expect(starting).rejects.toMatchObject({ code: "adapter.lost" });
    expect(adapter.health().state).toBe("stopped");
    await adapter.start(io);
    await emulator.waitFor(() => emulator.updates.polled);
    expect(emulator.calls.filter((call) => call.method === "deleteWebhook")).toHaveLength(1);
  });

  it("a server that cannot be reached ends the start with a retryable error", async () => {
    const adapter = make({ apiRoot: "http://127.0.0.1:9" });

    await expect(adapter.start(io)).rejects.toMatchObject({ code: "adapter.lost", retryable: true });
    expect(adapter.health().state).toBe("stopped");
  });

  it("does not mix with a second adapter of the same token for good: both go on, each act is stored", async () => {
    const other = recordingIo();
    const [first, second] = [make(), make()];
    await first.start(io);
    await second.start(other);
    emulator.say(amy, "who gets it?");

    await until(() => io.events.length + other.events.length > 0, "one of them has it");
    expect([...io.failures, ...other.failures]).toEqual([]);
  });
});

describe("webhook", () => {
  const secret = "s3cret_token-for-tests";

  /** Mounts first, so that the address is known before Telegram is told. */
  async function start(): Promise<TelegramAdapter> {
    const unmount = await io.http.mount("/warm-up", () => undefined);
    unmount();
    const adapter = make({ mode: "webhook", webhookUrl: `${io.url()}/telegram`, webhookSecret: secret });
    await adapter.start(io);
    return adapter;
  }

  it("takes updates with the secret and answers 200 only when they are stored", async () => {
    await start();
    const release = io.hold();
    emulator.say(amy, "by webhook");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(emulator.updates.deliveries).toEqual([]);
    release();

    await io.waitFor((event) => event.kind === "message" && event.text === "by webhook");
    await until(() => emulator.updates.deliveries.length === 1, "the answer");
    expect(emulator.updates.deliveries[0]?.status).toBe(200);
    expect(emulator.updates.pending).toEqual([]);
  });

  it("answers 503 when an update could not be stored, and gets it again", async () => {
    await start();
    io.refuse(true);
    emulator.say(amy, "again please");
    await until(() => emulator.updates.deliveries.length > 0, "a refusal");
    expect(emulator.updates.deliveries[0]?.status).toBe(503);
    io.refuse(false);

    await io.waitFor((event) => event.kind === "message" && event.text === "again please");
  });

  it("refuses calls without the right secret, by another method, or that are no JSON", async () => {
    await start();
    const url = `${io.url()}/telegram`;
    const body = JSON.stringify({
      update_id: 1,
      message: {
        message_id: 1,
        date: 1,
        chat: { id: amy, type: "private" },
        from: { id: amy, is_bot: false, first_name: "Mallory" },
        text: "hi",
      },
    });
    const post = async (headers: Record<string, string>, content = body): Promise<number> =>
      (await fetch(url, { method: "POST", headers, body: content })).status;

    expect(await post({})).toBe(403);
    expect(await post({ "x-telegram-bot-api-secret-token": "wrong" })).toBe(403);
    expect(await post({ "x-telegram-bot-api-secret-token": secret }, "{no json")).toBe(400);
    expect((await fetch(url)).status).toBe(405);
    expect(io.events).toEqual([]);
    expect(await post({ "x-telegram-bot-api-secret-token": secret })).toBe(200);
  });

  it("sets itself again when another program took it away", async () => {
    const adapter = await start();
    emulator.updates.deleteWebhook({});

    await until(() => emulator.updates.webhook !== undefined, "the webhook is back");
    expect(adapter.health().state).toBe("connected");
  });

  it("keeps the registration when it stops, and delivers what came meanwhile after the next start", async () => {
    const adapter = await start();
    await adapter.stop();
    emulator.say(amy, "while you were away");
    await until(() => emulator.updates.deliveries.some((each) => each.status === 404), "nobody there");
    await adapter.start(io);

    await io.waitFor((event) => event.kind === "message" && event.text === "while you were away");
  });

  it("names the missing settings", async () => {
    await expect(make({ mode: "webhook" }).start(io)).rejects.toMatchObject({ code: "adapter.setup" });
  });
});

describe("the doctor", () => {
  it("OP-01: warns of privacy mode with the remedy, and so does the start", async () => {
    await emulator.stop();
    await open({ privacy: true });
    const adapter = make();
    const finding = (await adapter.check()).find((each) => each.subject === "privacy mode");
    await adapter.start(io);

    expect(finding).toMatchObject({ level: "warning" });
    expect(finding?.remedy).toContain("/setprivacy");
    expect(finding?.remedy).toContain("add it again");
    expect(deps.logger.lines.some((line) => line.level === "warn" && line.message.includes("Privacy mode"))).toBe(true);
  });

  it("warns of a webhook that belongs to somebody else", async () => {
    emulator.updates.setWebhook({ url: "https://other.example.test/hook" }, true);
    const finding = (await make().check()).find((each) => each.subject === "webhook");

    expect(finding).toMatchObject({ level: "warning" });
    expect(finding?.message).toContain("other.example.test");
    expect(emulator.updates.webhook).toBeDefined();
  });

  it("tells a refused token from a server that cannot be reached", async () => {
    const [refused] = await make({ token: "1:wrong" }).check();
    const [unreachable] = await make({ apiRoot: "http://127.0.0.1:9" }).check();

    expect(refused?.remedy).toContain("TELEGRAM_BOT_TOKEN");
    expect(unreachable?.remedy).toContain("TELEGRAM_API_ROOT");
  });
});
