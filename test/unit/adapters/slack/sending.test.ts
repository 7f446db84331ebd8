/** What goes out: routes, forms, limits, reactions, files, and what each failure means. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Route } from "../../../../src/domain/message.js";
import { until } from "../../../support/adapter-io.js";
import { pingsIn } from "../../../support/slack/limits.js";
import { slackRig, type SlackRig } from "../../../support/slack/rig.js";

let rig: SlackRig;
let attempt = 0;
beforeEach(async () => {
  rig = await slackRig();
});
afterEach(() => rig.close());

const never = (): AbortSignal => new AbortController().signal;
const options = (): { deliveryId: string; signal: AbortSignal } => ({ deliveryId: `d${(attempt += 1)}`, signal: never() });
const dm: Route = { platform: "slack", chatId: "D0AMY" };
const plain = (text: string) => ({ kind: "plain", text }) as const;
const part = (markdown: string) => {
  const [first] = rig.adapter.render(markdown);
  if (first === undefined) throw new Error("nothing rendered");
  return { kind: "part", part: first } as const;
};

describe("sending", () => {
  it("FM-11: bold beside CJK, a table and code go out as Slack's own Markdown", async () => {
    await rig.adapter.send(dm, part("**重要**说明\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`**not this**`"), options());

    const block = rig.slack.sent()[0]?.blocks?.[0];
    expect(block).toMatchObject({ type: "markdown" });
    expect(String(block?.["text"])).toContain("**重要**");
    expect(String(block?.["text"])).toContain("`**not this**`");
  });

  it("FM-12: a long answer is cut so that no message's blocks are too long together", async () => {
    const parts = rig.adapter.render(`${"word ".repeat(1_400)}\n\n${"more ".repeat(1_400)}`);

    for (const each of parts) await rig.adapter.send(dm, { kind: "part", part: each }, options());

    expect(rig.slack.sent()).toHaveLength(parts.length);
  });

  it("nothing in a plain text is markup or a ping", async () => {
    await rig.adapter.send(dm, plain("<!here> <@U0AMY> & *stars*"), options());

    const sent = rig.slack.sent()[0];
    expect(pingsIn(sent?.text ?? "")).toEqual([]);
    expect(sent?.text).toMatch(/^&lt;\u200b?!here&gt; .* &amp; \*stars\*$/);
    expect(sent?.args).toMatchObject({ mrkdwn: "false", unfurl_links: "false", unfurl_media: "false" });
  });

  it("DL-17: a route with a thread posts in the thread", async () => {
    const { ts } = rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "hi" });

    const sent = await rig.adapter.send({ platform: "slack", chatId: "C0GENERAL", threadId: ts }, plain("here"), options());

    expect(rig.slack.callsOf("chat.postMessage")[0]?.args["thread_ts"]).toBe(ts);
    expect(sent.threadId).toBe(ts);
  });

  it("DL-27: refused blocks are one attempt, reported as refused markup, and the plain form arrives", async () => {
    const message = part("# A header\n\ntext");
    rig.slack.fail("chat.postMessage", { error: "invalid_blocks" });

    await expect(rig.adapter.send(dm, message, options())).rejects.toMatchObject({ code: "delivery.markup-refused" });
    await rig.adapter.send(dm, plain(message.part.plain), options());

    expect(rig.slack.callsOf("chat.postMessage")).toHaveLength(2);
    expect(rig.slack.sent()[0]?.text).toContain("A header");
  });

  it("DL-25: a rate limit on edits is reported at once and holds back no answer", async () => {
    const sent = await rig.adapter.send(dm, plain("draft"), options());
    rig.slack.fail("chat.update", { retryAfter: 10, times: 3 });
    const from = Date.now();

    const edits = [1, 2, 3].map((count) => rig.adapter.edit(sent, plain(`draft ${count}`), never()));
    const results = await Promise.allSettled(edits);
    await rig.adapter.send(dm, plain("final"), options());

    expect(Date.now() - from).toBeLessThan(4_000);
    expect(
      results.every((result) => result.status === "rejected" && (result.reason as { retryAfterMs?: number }).retryAfterMs === 10_000),
    ).toBe(true);
    expect(rig.slack.sent().at(-1)?.text).toBe("final");
  });

  it("an edit replaces the blocks, also where the text is longer than an edit's text may be", async () => {
    const long = part(`**start** ${"很长的文字 ".repeat(1_500)}`);
    const sent = await rig.adapter.send(dm, part("**draft**"), options());

    await rig.adapter.edit(sent, long, never());
    expect(String(rig.slack.sent()[0]?.blocks?.[0]?.["text"])).toContain("**start**");
    await rig.adapter.edit(sent, plain("short again"), never());
    expect(rig.slack.sent()[0]).toMatchObject({ text: "short again", blocks: [] });
    await rig.adapter.edit(sent, plain("x".repeat(9_000)), never());
    const shown = rig.slack
      .sent()[0]
      ?.blocks?.map((block) => (block["text"] as { text: string }).text)
      .join("");
    expect(shown).toBe("x".repeat(9_000));
  });

  it("a plain text that Slack would show as several messages stands in blocks", async () => {
    await rig.adapter.send(dm, plain("line of text\n".repeat(800)), options());

    const sent = rig.slack.sent()[0];
    expect(sent?.text.length).toBeLessThanOrEqual(4_000);
    expect(sent?.blocks?.map((block) => (block["text"] as { text: string }).text.length).every((length) => length <= 3_000)).toBe(true);
    expect(
      sent?.blocks
        ?.map((block) => (block["text"] as { text: string }).text)
        .join("\n")
        .match(/line of text/g),
    ).toHaveLength(800);
  });

  it("buttons stand under the text, whatever form the text has", async () => {
    const buttons = [
      { label: "Yes", data: "y" },
      { label: "x".repeat(100), data: "n" },
    ];

    await rig.adapter.send(dm, { ...part("**sure?**"), buttons }, options());
    await rig.adapter.send(dm, { ...plain("a < b?"), buttons }, options());

    const [first, second] = rig.slack.sent();
    expect(first?.blocks?.map((block) => block["type"])).toEqual(["markdown", "actions"]);
    expect(second?.blocks).toMatchObject([{ type: "section", text: { type: "plain_text", text: "a < b?" } }, { type: "actions" }]);
  });

  it("nothing listens: certainly not sent, and the next one arrives", async () => {
    await rig.slack.close();

    await expect(rig.adapter.send(dm, plain("one"), options())).rejects.toMatchObject({ code: "delivery.not-sent" });
    await rig.slack.reopen();
    await rig.adapter.send(dm, plain("two"), options());

    expect(rig.slack.sent().map((message) => message.text)).toEqual(["two"]);
  });

  it.each([
    ["a hang-up before the effect", { hangup: "before" }, "delivery.unknown"],
    ["fatal_error", { error: "fatal_error" }, "delivery.unknown"],
    ["missing_scope", { error: "missing_scope", more: { needed: "chat:write" } }, "delivery.not-sent"],
    ["not_in_channel", { error: "not_in_channel" }, "delivery.chat-gone"],
    ["an HTML page with status 200", { html: true, status: 200 }, "delivery.unknown"],
    ["a 429 in HTML without Retry-After", { html: true, status: 429 }, "delivery.rate-limited"],
  ] as const)("%s is %s", async (_name, failure, code) => {
    rig.slack.fail("chat.postMessage", failure);

    await expect(rig.adapter.send(dm, plain("one"), options())).rejects.toMatchObject({ code });
    expect(rig.slack.callsOf("chat.postMessage")).toHaveLength(1);
  });

  it("a call that is called off ends at once and its outcome is unknown", async () => {
    rig.slack.fail("chat.postMessage", { silent: true });
    const abort = new AbortController();
    const sending = rig.adapter.send(dm, plain("one"), { deliveryId: "x", signal: abort.signal });
    await rig.slack.waitFor(() => rig.slack.callsOf("chat.postMessage").length === 1, "the call left");
    const from = Date.now();

    abort.abort();

    await expect(sending).rejects.toMatchObject({ code: "delivery.unknown" });
    expect(Date.now() - from).toBeLessThan(1_000);
  });

  it("a token that Slack refuses while sending is reported to the supervisor once", async () => {
    await rig.adapter.start(rig.io);
    rig.slack.fail("chat.postMessage", { error: "token_revoked", times: 2 });

    for (const text of ["a", "b"])
      await expect(rig.adapter.send(dm, plain(text), options())).rejects.toMatchObject({ code: "delivery.not-sent" });

    expect(rig.io.failures).toMatchObject([{ code: "adapter.auth" }]);
  });
});

describe("finding a message whose answer was lost", () => {
  it("is found by its metadata in a channel and in a thread, and absent when it never arrived", async () => {
    const { ts } = rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "hi" });
    for (const route of [dm, { platform: "slack", chatId: "C0GENERAL", threadId: ts }]) {
      const since = Date.now();
      rig.slack.fail("chat.postMessage", { hangup: "after" });
      await expect(rig.adapter.send(route, plain("once"), { deliveryId: "lost1", signal: never() })).rejects.toMatchObject({
        code: "delivery.unknown",
      });

      expect(await rig.adapter.findSent(route, "lost1", since)).toMatchObject({
        chatId: route.chatId,
        messageId: rig.slack.sent().at(-1)?.ts,
      });
      expect(await rig.adapter.findSent(route, "lost2", since)).toBe("absent");
    }
  });

  it("looks through more than one page", async () => {
    rig.slack.fail("chat.postMessage", { hangup: "after" });
    await rig.adapter.send(dm, plain("once"), { deliveryId: "early", signal: never() }).catch(() => undefined);
    for (let count = 0; count < 450; count += 1)
      rig.slack.workspace.channels
        .get("D0AMY")
        ?.messages.push({ ts: rig.slack.workspace.nextTs(), user: "U0AMY", text: "x", reactions: new Map(), history: [] });

    expect(await rig.adapter.findSent(dm, "early", Date.now())).toMatchObject({ chatId: "D0AMY" });
  });

  it("is unknown when Slack cannot be asked, and when a file of ours could be it", async () => {
    rig.slack.fail("conversations.history", { error: "missing_scope" });
    expect(await rig.adapter.findSent(dm, "any", Date.now())).toBe("unknown");

    await rig.adapter.send(dm, { kind: "file", name: "a.md", mimeType: "text/markdown", content: "x" }, options());
    expect(await rig.adapter.findSent(dm, "any", Date.now())).toBe("unknown");
  });
});

describe("files and removal", () => {
  const file = { kind: "file", name: "answer.md", mimeType: "text/markdown", content: "# Ä", caption: "The **rest**" } as const;

  it("sends a file into the thread with its caption, and removes it again", async () => {
    const { ts } = rig.slack.say({ channel: "C0GENERAL", user: "U0AMY", text: "hi" });

    const sent = await rig.adapter.send({ platform: "slack", chatId: "C0GENERAL", threadId: ts }, file, options());
    expect(rig.slack.sent()[0]).toMatchObject({ threadTs: ts, text: "The *rest*", files: [{ name: "answer.md" }] });
    await rig.adapter.remove(sent, never());

    expect(rig.slack.sent()).toEqual([]);
    await rig.adapter.remove(sent, never());
  });

  it.each([
    ["files.getUploadURLExternal", { hangup: "after" }],
    ["upload", { hangup: "before" }],
    ["upload", { status: 500 }],
  ] as const)("a failure of %s is certainly not sent", async (method, failure) => {
    rig.slack.fail(method, failure);

    await expect(rig.adapter.send(dm, file, options())).rejects.toMatchObject({ code: "delivery.not-sent" });
    expect(rig.slack.sent()).toEqual([]);
  });

  it("a lost answer to the last step is unknown", async () => {
    rig.slack.fail("files.completeUploadExternal", { hangup: "after" });

    await expect(rig.adapter.send(dm, file, options())).rejects.toMatchObject({ code: "delivery.unknown" });
  });
});

describe("signs of life", () => {
  it("DL-24: two messages at once each have their own sign, and each is taken away on its own", async () => {
    const first = rig.slack.say({ channel: "D0AMY", user: "U0AMY", text: "one" }).ts;
    const second = rig.slack.say({ channel: "D0AMY", user: "U0AMY", text: "two" }).ts;
    const on = (ts: string): string[] => [...(rig.slack.workspace.find("D0AMY", ts)?.reactions.keys() ?? [])];
    await rig.adapter.react("D0AMY", first, "⏳", never());
    await rig.adapter.signOfLife({ ...dm, replyTo: second }, never());
    expect([on(first), on(second)]).toEqual([["hourglass_flowing_sand"], ["eyes"]]);

    await rig.adapter.react("D0AMY", first, undefined, never());
    expect([on(first), on(second)]).toEqual([[], ["eyes"]]);
    await rig.adapter.react("D0AMY", second, undefined, never());
    expect(on(second)).toEqual([]);
  });

  it("a second reaction takes the place of the first; after a restart the sign of life can still be taken away", async () => {
    const { ts } = rig.slack.say({ channel: "D0AMY", user: "U0AMY", text: "one" });
    const on = (): string[] => [...(rig.slack.workspace.find("D0AMY", ts)?.reactions.keys() ?? [])];

    await rig.adapter.react("D0AMY", ts, "👀", never());
    await rig.adapter.react("D0AMY", ts, "👀", never());
    await rig.adapter.react("D0AMY", ts, "⏳", never());
    expect(on()).toEqual(["hourglass_flowing_sand"]);
    await rig.adapter.react("D0AMY", ts, "👀", never());
    await rig.another().react("D0AMY", ts, undefined, never());
    expect(on()).toEqual([]);
    await rig.adapter.react("D0AMY", ts, undefined, never());
  });

  it("a command has no message to put a sign on", async () => {
    await rig.adapter.signOfLife(dm, never());
    await expect(rig.adapter.react("D0AMY", "13.37.abc", "👀", never())).rejects.toMatchObject({ code: "delivery.refused" });
    expect(rig.slack.callsOf("reactions.add")).toEqual([]);
  });
});

describe("response addresses", () => {
  it("a command typed where the bot is no member is answered at the command's own address", async () => {
    await rig.adapter.start(rig.io);
    rig.slack.slash({ channel: "C0EMPTY", user: "U0AMY", text: "help" });
    const event = await rig.io.waitFor((each) => each.kind === "message");
    if (event.kind !== "message") throw new Error("no message");

    const sent = await rig.adapter.send(event.route, plain("I can help"), options());

    expect(rig.slack.responses).toMatchObject([{ body: { text: "I can help", response_type: "ephemeral", replace_original: false } }]);
    await rig.adapter.remove(sent, never());
  });

  it("an address that is not Slack's own is never used", async () => {
    const route: Route = {
      platform: "slack",
      chatId: "C0EMPTY",
      hint: { responseUrl: `${rig.slack.elsewhereOrigin}/commands/x`, responseUntil: Date.now() + 60_000 },
    };

    await expect(rig.adapter.send(route, plain("secret"), options())).rejects.toMatchObject({ code: "delivery.chat-gone" });
    expect(rig.slack.elsewhereRequests).toEqual([]);
  });

  it("the answer to a press goes to the person alone", async () => {
    await rig.adapter.start(rig.io);
    const sent = await rig.adapter.send(
      { platform: "slack", chatId: "C0GENERAL" },
      { ...plain("sure?"), buttons: [{ label: "Yes", data: "y" }] },
      options(),
    );
    rig.slack.press({ channel: "C0GENERAL", ts: sent.messageId, user: "U0BOB", value: "y" });
    const press = await rig.io.waitFor((each) => each.kind === "button");
    if (press.kind !== "button") throw new Error("no press");

    await rig.adapter.acknowledge(press, "not yours");

    await until(() => rig.slack.responses.length === 1, "answered");
    expect(rig.slack.responses[0]?.body).toMatchObject({ text: "not yours", response_type: "ephemeral" });
  });
});
