/** Socket Mode: acknowledgement after storing, redelivery, and connections that end in every way. */
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../../support/adapter-io.js";
import { slackRig, type RigOptions, type SlackRig } from "../../../support/slack/rig.js";

let rig: SlackRig | undefined;
const open = async (options: RigOptions = {}): Promise<SlackRig> => {
  rig = await slackRig(options);
  return rig;
};
const started = async (options: RigOptions = {}): Promise<SlackRig> => {
  const made = await open(options);
  await made.adapter.start(made.io);
  return made;
};

afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

describe("acknowledging", () => {
  it("DL-09: a mention that arrives as two events 40 ms apart has one key", async () => {
    const { slack, io } = await started();

    slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hi", mentionGapMs: 40 });
    await slack.waitFor(() => slack.acks().length === 2, "both events acknowledged");

    const [first, second] = io.messages();
    expect(first?.key).toBe(second?.key);
    expect(second).toEqual(first);
    expect(new Set(slack.acks().map((ack) => ack.id)).size).toBe(2);
  });

  it("IN-08: a mention with a file has the file in both its events", async () => {
    const { slack, io } = await started();
    const files = [slack.addFile("a.png", "image/png", Buffer.from("x"))];

    slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> see file", subtype: "file_share", files });
    await slack.waitFor(() => slack.acks().length === 2, "both events acknowledged");

    const [first, second] = io.messages();
    expect(first).toMatchObject({ text: "see file", addressed: "mention", attachments: [{ name: "a.png" }] });
    expect(second).toEqual(first);
  });

  it("DL-12: acknowledges as soon as the event is stored, within a second, and not before", async () => {
    const { slack, io } = await started({ redeliverMs: 3_000 });
    const release = io.hold();

    slack.say({ channel: "D0AMY", user: "U0AMY", text: "hi" });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(slack.acks()).toEqual([]);
    release();
    await slack.waitFor(() => slack.acks().length === 1, "acknowledged");

    expect(io.messages()).toHaveLength(1);
    expect(slack.acks()[0]?.latencyMs).toBeLessThan(1_000);
    expect(slack.acks()[0]?.attempts).toBe(1);
  });

  it("DL-11: an event whose first delivery failed is handled when it is sent again", async () => {
    const { slack, io } = await started();
    io.refuse(true);
    const { ts } = slack.say({ channel: "D0AMY", user: "U0AMY", text: "hi" });
    await until(() => io.refused.length === 1, "refused once");
    io.refuse(false);

    await slack.waitFor(() => slack.acks().length === 1, "acknowledged at a repeat");

    expect(io.messages()).toMatchObject([{ messageId: ts }]);
    expect(slack.acks()[0]?.attempts).toBeGreaterThan(1);
  });

  it("DL-12: names that cannot be looked up in time hold up nothing", async () => {
    const { slack, io } = await started({ redeliverMs: 3_000, timing: { namesMs: 200 } });
    slack.fail("users.info", { silent: true, times: 3 });

    slack.say({ channel: "D0AMY", user: "U0AMY", text: "hi" });
    await slack.waitFor(() => slack.acks().length === 1, "acknowledged");

    expect(slack.acks()[0]?.latencyMs).toBeLessThan(1_000);
    expect(io.messages()[0]?.account.displayName).toBe("U0AMY");
  });

  it("keeps the order of a channel, also when the first speaker's name takes longer to look up", async () => {
    const { slack, io } = await started({ redeliverMs: 3_000 });
    slack.say({ channel: "C0GENERAL", user: "U0BOB", text: "known by now" });
    await io.waitFor((event) => event.kind === "message");
    slack.fail("users.info", { delayMs: 200 });

    slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "first" });
    slack.say({ channel: "C0GENERAL", user: "U0BOB", text: "second" });
    await until(() => io.messages().length === 3, "all three");

    expect(io.messages().map((each) => each.text)).toEqual(["known by now", "first", "second"]);
    expect(io.messages()[1]?.account.displayName).toBe("Amy");
  });

  it("looks a person up once for many messages", async () => {
    const { slack, io } = await started();
    for (let count = 0; count < 5; count += 1) slack.say({ channel: "D0AMY", user: "U0AMY", text: `hi ${count}` });

    await until(() => io.messages().length === 5, "five messages");

    expect(slack.callsOf("users.info")).toHaveLength(1);
    expect(io.messages().map((each) => each.text)).toEqual(["hi 0", "hi 1", "hi 2", "hi 3", "hi 4"]);
  });

  it("acknowledges commands and presses of buttons after storing them", async () => {
    const { slack, io } = await started();

    slack.slash({ channel: "C0GENERAL", user: "U0BOB", text: "stop" });
    await slack.waitFor(() => slack.acks().length === 1, "acknowledged");

    expect(io.messages()).toMatchObject([{ command: { name: "stop" }, account: { id: "U0BOB", displayName: "Bob Brown" } }]);
  });

  it("SE-09: the follow-up in the thread of a mention has the mention's thread", async () => {
    const { slack, io, adapter } = await started();
    const { ts } = slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hi" });
    const first = await io.waitFor((event) => event.kind === "message");
    if (first.kind !== "message") throw new Error("no message");
    await adapter.send(first.route, { kind: "plain", text: "hello" }, { deliveryId: "d1", signal: new AbortController().signal });

    slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "and then?", threadTs: ts });
    const second = await io.waitFor((event) => event.kind === "message" && event.text === "and then?");

    expect(second.threadId).toBe(first.threadId);
    expect(slack.sent().at(-1)?.threadTs).toBe(ts);
  });
});

describe("the connection", () => {
  it("RC-09: a disconnect message before hello leads to a new connection and no crash", async () => {
    const { slack, io, adapter } = await open();
    slack.source.openings.push("disconnect-before-hello");

    await adapter.start(io);
    slack.say({ channel: "D0AMY", user: "U0AMY", text: "hi" });
    await io.waitFor((event) => event.kind === "message");

    expect(slack.source.connections).toBe(2);
    expect(adapter.health().state).toBe("connected");
  });

  it.each(["warning", "refresh_requested"] as const)("RC-09: when Slack asks for a new connection (%s) nothing is lost", async (reason) => {
    const { slack, io, adapter } = await started();

    slack.source.disconnectMessage(reason);
    slack.say({ channel: "D0AMY", user: "U0AMY", text: "meanwhile" });
    await io.waitFor((event) => event.kind === "message" && event.text === "meanwhile");
    await slack.waitFor(() => slack.source.sockets.size === 1 && slack.source.connections >= 2, "one new connection");
    await until(() => adapter.health().state === "connected", "connected");

    expect(io.failures).toEqual([]);
  });

  it("RC-09: connections that Slack ends again and again are not opened in haste", async () => {
    const { slack, adapter, io } = await open({ timing: { reconnectMs: { first: 100, longest: 10_000 } } });
    slack.source.openings.push(...Array.from({ length: 50 }, () => "disconnect-after-hello" as const));
    await adapter.start(io);

    await new Promise((resolve) => setTimeout(resolve, 600));

    expect(slack.source.connections).toBeGreaterThanOrEqual(2);
    expect(slack.source.connections).toBeLessThanOrEqual(5);
  });

  it("says so when Socket Mode is turned off in the app's settings", async () => {
    const { slack, io } = await started();

    slack.source.disconnectMessage("link_disabled");
    await until(() => io.failures.length === 1, "reported");

    expect(io.failures[0]).toMatchObject({ code: "adapter.setup", message: expect.stringContaining("Socket Mode") as string });
  });

  it("RC-09: survives that Slack cannot be reached at all for a while", async () => {
    const { slack, io, adapter, log } = await started();

    await slack.close();
    await until(() => log.lines.filter((line) => line.message === "could not connect to Slack again").length >= 2, "two attempts failed");
    expect(adapter.health().state).toBe("reconnecting");
    await slack.reopen();
    await until(() => adapter.health().state === "connected", "connected again");
    slack.say({ channel: "D0AMY", user: "U0AMY", text: "back" });
    await io.waitFor((event) => event.kind === "message" && event.text === "back");

    expect(io.failures).toEqual([]);
  });

  it("a socket that never says hello is given up", async () => {
    const { slack, io, adapter } = await open({ timing: { helloMs: 200 } });
    slack.source.openings.push("no-hello", "no-hello", "no-hello");

    await expect(adapter.start(io)).rejects.toMatchObject({ code: "adapter.lost" });
    await slack.waitFor(() => slack.source.sockets.size === 0, "no socket left");

    expect(adapter.health().state).toBe("stopped");
  });

  it("RC-09: a socket that is open but silent is replaced by the adapter's own watch", async () => {
    const { slack, io } = await started({ timing: { pongMs: 60_000, aliveMs: 400 } });
    slack.source.silence();

    await slack.waitFor(() => slack.source.connections >= 2, "a second connection");
    slack.say({ channel: "D0AMY", user: "U0AMY", text: "again" });
    await io.waitFor((event) => event.kind === "message" && event.text === "again");
  });

  it("pongs count as signs of life", async () => {
    const { adapter } = await started({ timing: { pongMs: 300 } });
    const before = adapter.health().lastAliveAt ?? 0;

    await until(() => (adapter.health().lastAliveAt ?? 0) > before + 100, "a later sign of life");
  });

  it("a refused app token ends the start and names the setting", async () => {
    const { slack, io, another } = await open();

    await expect(another({ appToken: "xapp-wrong" }).start(io)).rejects.toMatchObject({
      code: "adapter.auth",
      message: expect.stringContaining("slack.appToken") as string,
    });
    slack.appScopes = new Set();
    await expect(another().start(io)).rejects.toMatchObject({
      code: "adapter.setup",
      message: expect.stringContaining("connections:write") as string,
    });
  });

  it("tells the supervisor when the app token is refused later on", async () => {
    const { slack, io } = await started();
    slack.fail("apps.connections.open", { error: "invalid_auth", times: 5 });

    slack.source.cut();
    await until(() => io.failures.length === 1, "reported");

    expect(io.failures[0]).toMatchObject({ code: "adapter.auth" });
  });

  it("tells the supervisor once when the app is removed from the workspace", async () => {
    const { slack, io } = await started();

    slack.event({ type: "tokens_revoked", tokens: { bot: ["U0BOT"] } });
    slack.event({ type: "app_uninstalled" });
    await slack.waitFor(() => slack.acks().length === 2, "acknowledged");

    expect(io.failures).toHaveLength(1);
  });

  it("RC-13: a stop while connecting leaves no socket behind", async () => {
    const { slack, io, adapter } = await open();
    slack.fail("apps.connections.open", { delayMs: 150 });
    const starting = adapter.start(io).catch((error: unknown) => error);
    await slack.waitFor(() => slack.callsOf("apps.connections.open").length === 1, "connecting");

    await adapter.stop();
    await expect(starting).resolves.toMatchObject({ code: "adapter.lost" });
    await new Promise((resolve) => setTimeout(resolve, 300));

    expect(slack.source.sockets.size).toBe(0);
    expect(adapter.health().state).toBe("stopped");
  });

  it("RC-13: a stop closes the socket", async () => {
    const { slack, adapter } = await started();

    await adapter.stop();

    await slack.waitFor(() => slack.source.sockets.size === 0, "closed");
  });
});
