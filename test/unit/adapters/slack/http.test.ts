/** Events over HTTP: signed, answered only when stored, repeated otherwise. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../../support/adapter-io.js";
import { signed } from "../../../support/slack/event-source.js";
import { slackRig, type SlackRig } from "../../../support/slack/rig.js";

let rig: SlackRig;
let url: string;
beforeEach(async () => {
  rig = await slackRig({ redeliverMs: 3_000, settings: { mode: "http", appToken: undefined } });
  await rig.adapter.start(rig.io);
  url = `${rig.io.url()}/slack/events`;
  rig.slack.useHttp(url);
});
afterEach(() => rig.close());

const post = (body: string, headers: Record<string, string>): Promise<Response> =>
  fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });

describe("events over HTTP", () => {
  it("answers the address check with its challenge", async () => {
    const body = JSON.stringify({ type: "url_verification", challenge: "c-42", token: "t" });

    const response = await post(body, signed(rig.slack.signingSecret, body));

    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ challenge: "c-42" });
  });

  it("refuses a request that is not signed, signed with another secret, or old", async () => {
    const body = JSON.stringify({
      type: "event_callback",
      team_id: "T0HOME",
      event: { type: "message", channel: "D0AMY", user: "U0AMY", ts: "1.000001", text: "forged" },
    });
    const old = Math.floor(Date.now() / 1000) - 600;

    for (const headers of [{}, signed("wrong", body), signed(rig.slack.signingSecret, body, old)]) {
      expect((await post(body, headers)).status).toBe(401);
    }
    expect((await fetch(url)).status).toBe(405);
    expect(rig.io.events).toEqual([]);
  });

  it("takes messages, commands and presses; the mention's two events have one key", async () => {
    rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "<@U0BOT> hi" });
    rig.slack.slash({ channel: "D0AMY", user: "U0AMY", text: "status" });
    const sent = await rig.adapter.send(
      { platform: "slack", chatId: "D0AMY" },
      { kind: "plain", text: "?", buttons: [{ label: "Yes", data: "y" }] },
      { deliveryId: "d", signal: new AbortController().signal },
    );
    rig.slack.press({ channel: "D0AMY", ts: sent.messageId, user: "U0AMY", value: "y" });

    await rig.slack.waitFor(() => rig.slack.acks().length === 4, "all answered with 200");

    expect(
      new Set(
        rig.io
          .messages()
          .filter((each) => each.command === undefined)
          .map((each) => each.key),
      ).size,
    ).toBe(1);
    expect(rig.io.messages().find((each) => each.command?.name === "status")).toBeDefined();
    expect(rig.io.events.find((each) => each.kind === "button")).toMatchObject({ data: "y" });
  });

  it("DL-12: holds the 200 until the event is stored", async () => {
    const release = rig.io.hold();
    rig.slack.say({ channel: "D0AMY", user: "U0AMY", text: "hi" });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(rig.slack.acks()).toEqual([]);

    release();
    await rig.slack.waitFor(() => rig.slack.acks().length === 1, "answered");
  });

  it("DL-11: an event that could not be stored is repeated by Slack and then handled", async () => {
    rig.io.refuse(true);
    rig.slack.say({ channel: "D0AMY", user: "U0AMY", text: "hi" });
    await until(() => rig.io.refused.length === 1, "refused once");
    rig.io.refuse(false);

    await rig.slack.waitFor(() => rig.slack.acks().length === 1, "answered at a repeat");

    expect(rig.io.messages()).toMatchObject([{ text: "hi" }]);
    expect(rig.slack.acks()[0]?.attempts).toBeGreaterThan(1);
  });

  it("silence is no sign of a lost connection", () => {
    expect(rig.adapter.health()).toMatchObject({ state: "connected", lastAliveAt: undefined });
  });

  it("nothing is taken after a stop", async () => {
    await rig.adapter.stop();
    const body = "{}";

    expect((await post(body, signed(rig.slack.signingSecret, body))).status).toBe(404);
    expect(rig.adapter.health().state).toBe("stopped");
  });
});
