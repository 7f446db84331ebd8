/** Earlier messages, the names in them, and the doctor. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { neededScopes } from "../../../../adapters/slack/check.js";
import { Directory } from "../../../../adapters/slack/directory.js";
import { DeliveryError } from "../../../../src/domain/errors.js";
import type { ChatRef } from "../../../../src/domain/message.js";
import { collectingLogger } from "../../../support/runtime.js";
import { slackRig, type SlackRig } from "../../../support/slack/rig.js";

let rig: SlackRig;
beforeEach(async () => {
  rig = await slackRig();
});
afterEach(() => rig.close());

const channel: ChatRef = { id: "C0GENERAL", kind: "group" };

describe("history", () => {
  it("gives the messages of a thread before one, oldest first, with names", async () => {
    const root = rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "question for <@U0BOB> &amp; all" }).ts;
    rig.slack.say({ channel: "C0GENERAL", user: "U0BOT", text: "an answer", threadTs: root });
    rig.slack.say({ channel: "C0GENERAL", user: "U0BOB", text: "more", threadTs: root });
    rig.slack.say({ channel: "C0GENERAL", user: "U0BOB", text: "elsewhere" });
    const last = rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "now", threadTs: root }).ts;

    const all = await rig.adapter.history(channel, root, last, 10);
    const two = await rig.adapter.history(channel, root, last, 2);

    expect(all.map(({ author, text }) => [author, text])).toEqual([
      ["Amy", "question for @Bob Brown (U0BOB) & all"],
      ["U0BOT", "an answer"],
      ["Bob Brown", "more"],
    ]);
    expect(all[1]?.fromSelf).toBe(true);
    expect(two.map(({ text }) => text)).toEqual(["an answer", "more"]);
  });

  it("a mention that opens its own thread has the channel before it", async () => {
    rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "one" });
    rig.slack.say({ channel: "C0GENERAL", user: "U0BOB", text: "two" });
    const mention = rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hm?" }).ts;

    expect((await rig.adapter.history(channel, mention, mention, 10)).map(({ text }) => text)).toEqual(["one", "two"]);
  });

  it("keeps the end of a long thread", async () => {
    const root = rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "root" }).ts;
    for (let count = 0; count < 450; count += 1) {
      rig.slack.workspace.channels.get("C0GENERAL")?.messages.push({
        ts: rig.slack.workspace.nextTs(),
        user: "U0BOB",
        text: `m${count}`,
        threadTs: root,
        reactions: new Map(),
        history: [],
      });
    }

    const last = await rig.adapter.history(channel, root, rig.slack.workspace.nextTs(), 3);

    expect(last.map(({ text }) => text)).toEqual(["m447", "m448", "m449"]);
  });

  it("a failure is an error and not an empty history", async () => {
    rig.slack.scopes.delete("channels:history");

    await expect(rig.adapter.history(channel, undefined, rig.slack.workspace.nextTs(), 3)).rejects.toBeInstanceOf(DeliveryError);
  });

  it("says that nobody can write in an archived channel", async () => {
    expect(await rig.adapter.writable(channel, undefined)).toBe(true);
    const general = rig.slack.workspace.channels.get("C0GENERAL");
    if (general !== undefined) general.archived = true;

    expect(await rig.adapter.writable(channel, undefined)).toBe(false);
  });
});

describe("names", () => {
  it("are bounded, expire, and survive a failing look-up as the old name", async () => {
    let now = 0;
    let failing = false;
    const asked: string[] = [];
    const directory = new Directory({
      call: (_method, args) => {
        asked.push(String(args["user"]));
        return failing
          ? Promise.reject(new DeliveryError("delivery.unknown", "down"))
          : Promise.resolve({ user: { id: args["user"], name: `n${String(args["user"])}` } });
      },
      clock: { now: () => now, after: () => () => undefined },
      logger: collectingLogger(),
      capacity: 2,
      ttlMs: 100,
      failedTtlMs: 10,
    });
    const load = (...people: string[]): Promise<void> => directory.load({ people, channels: [] }, 1_000);

    await load("U1", "U2", "U3");
    expect([directory.person("U1"), directory.person("U3")?.name]).toEqual([undefined, "nU3"]);
    await load("U3");
    expect(asked).toEqual(["U1", "U2", "U3"]);
    now = 200;
    failing = true;
    await load("U3");
    expect(directory.person("U3")?.name).toBe("nU3");
    await load("U3", "B0BOT", "x");
    expect(asked).toEqual(["U1", "U2", "U3", "U3"]);
  });
});

describe("the doctor", () => {
  it("OP-02: names each missing scope, what does not work without it, and how to mend it", async () => {
    rig.slack.scopes.delete("app_mentions:read");
    rig.slack.scopes.delete("files:read");

    const findings = await rig.adapter.check();

    expect(findings.find((finding) => finding.subject.includes("app_mentions:read"))).toMatchObject({
      level: "error",
      message: expect.stringContaining("app_mention") as string,
      remedy: expect.stringContaining("reinstall the app") as string,
    });
    expect(findings.find((finding) => finding.subject.includes("files:read"))).toMatchObject({ level: "warning" });
    expect(findings.filter((finding) => finding.level === "ok").map((finding) => finding.subject)).toEqual([
      "slack.botToken",
      "slack.appToken",
    ]);
  });

  it("OP-02: tells a refused app token, a missing one and a network that is down apart", async () => {
    const appToken = async (adapter: SlackRig["adapter"]): Promise<string | undefined> =>
      (await adapter.check()).find((finding) => finding.subject === "slack.appToken")?.message;
    expect(await appToken(rig.another({ appToken: "xapp-wrong" }))).toContain("invalid_auth");
    expect(await appToken(rig.another({ appToken: undefined }))).toBe("missing");
    rig.slack.appScopes = new Set();
    expect(await appToken(rig.adapter)).toContain("connections:write");

    await rig.slack.close();
    const findings = await rig.adapter.check();
    expect(findings.every((finding) => finding.level === "error" && finding.remedy?.includes("network") === true)).toBe(true);
    await rig.slack.reopen();
  });

  it("OP-02: over HTTP it asks for the signing secret instead", async () => {
    const findings = await rig.another({ mode: "http", signingSecret: undefined }).check();

    expect(findings.at(-1)).toMatchObject({ level: "error", subject: "slack.signingSecret" });
  });

  it("OP-02: the manifest asks for exactly the scopes that are needed and for the events that come with them", () => {
    const manifest = parse(readFileSync(join(import.meta.dirname, "../../../../config/slack-app-manifest.yaml"), "utf8")) as {
      oauth_config: { scopes: { bot: string[] } };
      settings: { event_subscriptions: { bot_events: string[] } };
    };
    const events = Object.values(neededScopes).flatMap((scope) => scope.events ?? []);

    expect(manifest.oauth_config.scopes.bot.toSorted()).toEqual(Object.keys(neededScopes).toSorted());
    expect(manifest.settings.event_subscriptions.bot_events).toEqual(expect.arrayContaining([...new Set(events)]));
  });
});
