/** Long and rich answers, measured on the wire of all three platforms. */
import { describe, expect, it } from "vitest";
import { fullWorld, operatorId, quiet, startGateway, textsIn, until, type FullWorld } from "../support/gateway.js";

const fence = "```";

/** About 5,000 characters: a table, nested lists, links and a long code block. */
function rich(): { readonly text: string; readonly words: readonly string[] } {
  const code = Array.from({ length: 78 }, (_, index) => `def step_${index}(x):  # keep **this** & <that>`);
  const list = Array.from(
    { length: 20 },
    (_, index) => `- item ${index}\n  - inner ${index} with [a link ${index}](https://example.org/page/${index}?a=1&b=2)`,
  );
  const table = ["| name | value |", "| --- | --- |", ...Array.from({ length: 12 }, (_, index) => `| row ${index} | ${index * 37} |`)];
  const text = [
    "# The heading",
    "",
    "Some **bold** and *soft* words.",
    "",
    ...table,
    "",
    ...list,
    "",
    `${fence}python`,
    ...code,
    fence,
    "",
    "The end, really.",
  ].join("\n");
  const words = [
    "The heading",
    "The end, really.",
    ...code,
    ...Array.from({ length: 20 }, (_, index) => `inner ${index}`),
    ...Array.from({ length: 12 }, (_, index) => `row ${index}`),
  ];
  return { text, words };
}

async function started(): Promise<FullWorld> {
  const where = await fullWorld();
  where.telegram.person(operatorId);
  await startGateway(where);
  return where;
}

/** The code lines must be there in order and unbroken; parts may cut between them only. */
function complete(parts: readonly string[], words: readonly string[]): void {
  const all = parts.join("\n");
  const missing = words.filter((word) => !all.includes(word));
  expect(missing).toEqual([]);
}

describe("a 5,000-character answer with a table, nested lists, links and a long code block", () => {
  it("FM-02, FM-04: arrives complete on Telegram in parts within 4096 units whose entities fit their text", async () => {
    const where = await started();
    const { text, words } = rich();
    expect(text.length).toBeGreaterThan(4_900);
    where.model.push(text);

    where.telegram.say(operatorId, "write a lot");
    await until("the end", () => textsIn(where).join("").includes("The end, really."), 15_000);
    await quiet(where);

    const messages = where.telegram.sent.map((stored) => stored.message);
    expect(messages.length).toBeGreaterThanOrEqual(2);
    for (const message of messages) {
      expect(message.text?.length).toBeLessThanOrEqual(4_096);
      expect(message.entities?.length ?? 0).toBeLessThanOrEqual(100);
      for (const entity of message.entities ?? []) expect(entity.offset + entity.length).toBeLessThanOrEqual(message.text?.length ?? 0);
    }
    complete(
      messages.map((message) => message.text ?? ""),
      words,
    );
    const links = messages.flatMap((message) => message.entities ?? []).filter((entity) => entity.type === "text_link");
    expect(new Set(links.map((link) => link.url)).size).toBe(20);
    const pres = messages
      .flatMap((message) => message.entities ?? [])
      .filter((entity) => entity.type === "pre" && entity.language === "python");
    expect(pres.length).toBeGreaterThanOrEqual(1);
    expect(where.telegram.calls.filter((call) => call.outcome === 400)).toEqual([]);
  });

  it("FM-01, FM-02: arrives complete on Discord in parts within 2000 characters, fences balanced in each", async () => {
    const where = await started();
    const { discord } = where;
    const { text, words } = rich();
    where.model.push(text);

    discord.say({ in: discord.world.dm, text: "write a lot" });
    await discord.waitFor(() => discord.sent().some((message) => message.content.includes("The end, really.")), "the end", 20_000);
    await quiet(where);

    const parts = discord.sent().map((message) => message.content);
    expect(parts.length).toBeGreaterThanOrEqual(3);
    for (const part of parts) {
      expect(part.length).toBeLessThanOrEqual(2_000);
      expect((part.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
    complete(parts, words);
    for (let index = 0; index < 20; index += 1) expect(parts.join("\n")).toContain(`https://example.org/page/${index}?a=1&b=2`);
  });

  it("FM-11, FM-12: arrives complete in Slack within the limits of its blocks", async () => {
    const where = await started();
    const { slack } = where;
    const { text, words } = rich();
    where.model.push(text);

    slack.say({ channel: "D0AMY", user: "U0AMY", text: "write a lot" });
    await slack.waitFor(() => JSON.stringify(slack.sent()).includes("The end, really."), "the end", 20_000);
    await quiet(where);

    const blocks = slack.sent().map((message) => (message.blocks ?? []).map((block) => String(block["text"])).join("\n"));
    for (const part of blocks) {
      expect(part.length).toBeLessThanOrEqual(12_000);
      expect((part.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
    complete(blocks, words);
    expect(slack.callsOf("chat.postMessage").length).toBe(slack.sent().length);
  });

  it("FM-05, FM-07: marks, emoji and no spaces at all are split without loss", async () => {
    const where = await started();
    const text = "!".repeat(4_095) + "\u{1F600}".repeat(1_500);
    where.model.push(text);

    where.telegram.say(operatorId, "odd");
    await until("all of it", () => textsIn(where).join("").length === text.length, 15_000);

    expect(textsIn(where).join("")).toBe(text);
    expect(textsIn(where).every((part) => part.length <= 4_096 && !/[\ud800-\udbff]$/.test(part) && !/^[\udc00-\udfff]/.test(part))).toBe(
      true,
    );
  });
});
