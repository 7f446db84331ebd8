/** An answer on its way to Telegram: limits, refusals, outages, doubtful sends, topics, migrations. */
import { describe, expect, it } from "vitest";
import {
  countRows,
  operatorId,
  quickTelegram,
  quiet,
  startGateway,
  textsIn,
  until,
  world,
  type Running,
  type World,
} from "../support/gateway.js";

const groupId = -1_001_000_000_004;

async function started(overrides: Readonly<Record<string, string>> = {}): Promise<World & { readonly running: Running }> {
  const where = await world({ model: { answer: () => "Answer." } });
  where.telegram.person(operatorId);
  where.telegram.group(groupId, "Team");
  const running = await startGateway(where, overrides, quickTelegram);
  return { ...where, running };
}

function sends(where: World): readonly { readonly params: Readonly<Record<string, unknown>>; readonly outcome: unknown }[] {
  return where.telegram.calls.filter((call) => call.method === "sendMessage");
}

describe("limits and refusals", () => {
  it("DL-01: a 429 is waited for, later answers keep their order and arrive once", async () => {
    const where = await started({ MNEME__turns__joinMs: "0" });
    where.model.push("First.", "Second.");
    where.telegram.fail("sendMessage", {
      times: 1,
      status: 429,
      description: "Too Many Requests: retry after 1",
      parameters: { retry_after: 1 },
    });

    where.telegram.say(operatorId, "one");
    await where.model.waitFor(1);
    where.telegram.say(operatorId, "two");
    await where.telegram.waitSent(2);
    await quiet(where);

    expect(textsIn(where)).toEqual(["First.", "Second."]);
    expect(sends(where)).toHaveLength(3);
  });

  it("DL-02: when every edit is refused the full text arrives in the end, without a cursor", async () => {
    const where = await started();
    const text = "This answer is long enough to be shown while it grows, and it has an end.";
    where.model.push({ text, chunkSize: 6, delayMs: 200 });
    where.telegram.fail("editMessageText", {
      status: 429,
      description: "Too Many Requests: retry after 1",
      parameters: { retry_after: 1 },
    });

    where.telegram.say(operatorId, "hello");
    await until("the full text", () => textsIn(where).includes(text), 15_000);
    await quiet(where, 15_000);

    expect(textsIn(where)).toEqual([text]);
  }, 40_000);

  it("DL-03: no edit repeats what is shown already", async () => {
    const where = await started();
    const text = "word ".repeat(500).trim();
    where.model.push({ text, chunkSize: 100, delayMs: 100 });

    where.telegram.say(operatorId, "hello");
    await until("the full text", () => textsIn(where).join("") === text, 15_000);
    await quiet(where);

    const edits = where.telegram.calls.filter((call) => call.method === "editMessageText").map((call) => call.params["text"]);
    expect(edits.length).toBeGreaterThan(0);
    expect(edits.filter((edit, at) => edit === edits[at - 1])).toEqual([]);
  });

  it("FM-08, FM-09: markup that Telegram refuses arrives once as plain text", async () => {
    const where = await started();
    where.model.push("Sure! **Step** 1 - `done`.");
    where.telegram.fail("sendMessage", { times: 1, status: 400, description: "Bad Request: can't parse entities: unsupported start tag" });

    where.telegram.say(operatorId, "hello");
    await where.telegram.waitSent(1);
    await quiet(where);

    expect(textsIn(where)).toEqual(["Sure! Step 1 - done."]);
    expect(sends(where)).toHaveLength(2);
  });

  it("DL-19: a person who blocked the bot is not written to again until they write", async () => {
    const where = await started({ MNEME__turns__joinMs: "0" });
    where.telegram.fail("sendMessage", { times: 1, status: 403, description: "Forbidden: bot was blocked by the user" });
    where.telegram.say(operatorId, "still there?");
    await until("refused", () => countRows(where, "select count(*) n from outbox where state = 'refused'") === 1);
    await quiet(where);
    const before = sends(where).length;

    where.telegram.say(operatorId, "unblocked");
    await until("the answer", () => sends(where).length > before && textsIn(where).length >= 1);
    await quiet(where);

    expect(sends(where).filter((call) => call.outcome === 403)).toHaveLength(1);
    expect(countRows(where, "select count(*) n from chats where unreachable is not null")).toBe(0);
  });

  it("DL-22: a button answer that comes too late does not disturb anything", async () => {
    const where = await started();
    where.telegram.say(operatorId, "hello");
    const [sent] = await where.telegram.waitSent(1);
    where.telegram.fail("answerCallbackQuery", {
      status: 400,
      description: "Bad Request: query is too old and response timeout expired or query ID is invalid",
    });

    where.telegram.press(operatorId, sent?.message.message_id ?? 0, "x", operatorId);
    await where.telegram.waitFor((emulator) => emulator.calls.some((call) => call.method === "answerCallbackQuery"));
    where.telegram.say(operatorId, "next");
    await where.telegram.waitSent(2);
    await quiet(where);

    expect(countRows(where, "select count(*) n from inbox where disposition = 'failed'")).toBe(0);
  });

  it("DL-23: typing ends with the turn, even when the final send never returns", async () => {
    const where = await started();
    where.model.push({ text: "Answer.", headDelayMs: 500 });
    where.telegram.fail("sendMessage", { times: 1, never: "after" });
    where.telegram.say(operatorId, "hello");
    await where.telegram.waitFor((emulator) => emulator.calls.some((call) => call.method === "sendMessage"));
    const typed = (): number => where.telegram.calls.filter((call) => call.method === "sendChatAction").length;
    const during = typed();
    await until("the send was given up", () => countRows(where, "select count(*) n from outbox where state = 'unknown'") === 1);

    expect(during).toBeGreaterThan(0);
    expect(typed()).toBe(during);
  });
});

describe("doubtful sends and outages", () => {
  it.each([
    { how: "is never answered", plan: { never: "after" } as const },
    { how: "is cut off", plan: { hangUp: "after" } as const },
  ])("DL-04: a send that arrives and $how is not repeated; the next answer says so and /again shows it", async ({ plan }) => {
    const where = await started();
    where.model.push("The first answer.", "The second answer.");
    where.telegram.fail("sendMessage", { times: 1, ...plan });

    where.telegram.say(operatorId, "one");
    await until(
      "it is unknown",
      () => where.telegram.sent.length === 1 && countRows(where, "select count(*) n from outbox where state = 'unknown'") === 1,
    );
    where.telegram.say(operatorId, "two");
    await where.telegram.waitSent(2);
    await quiet(where);

    expect(textsIn(where).filter((text) => text === "The first answer.")).toHaveLength(1);
    expect(textsIn(where)[1]).toMatch(/may not have arrived; .*again[\s\S]*The second answer\./);
    expect(where.model.requests.at(-1)?.raw).not.toContain("may not have arrived");

    where.telegram.say(operatorId, "/again");
    await where.telegram.waitSent(3);
    expect(textsIn(where)[2]).toContain("The second answer.");
  });

  it("DL-04: /again shows the doubtful answer itself", async () => {
    const where = await started();
    where.model.push("The first answer.", "The second answer.");
    where.telegram.fail("sendMessage", { times: 1, hangUp: "before" });
    where.telegram.say(operatorId, "one");
    await until("it is unknown", () => where.telegram.calls.some((call) => call.outcome === "hung-up"));
    await quiet(where);

    where.telegram.say(operatorId, "/again");
    await where.telegram.waitSent(1);
    where.telegram.say(operatorId, "two");
    await where.telegram.waitSent(2);

    expect(textsIn(where)).toEqual(["The first answer.", "The second answer."]);
  });

  it("DL-07: an answer given while Telegram is down arrives once when it is back", async () => {
    const where = await started();
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    where.model.push({ text: "Answer.", gate });
    where.telegram.say(operatorId, "hello");
    await where.model.waitFor(1);

    await where.telegram.down();
    open();
    await until("a try", () => countRows(where, "select coalesce(max(attempts), 0) n from outbox") >= 2, 10_000);
    await where.telegram.up();
    await where.telegram.waitSent(1, 20_000);
    await quiet(where);

    expect(textsIn(where)).toEqual(["Answer."]);
    expect(where.model.requests).toHaveLength(1);
  }, 40_000);

  it("DL-08: when the confirmation of an answer is lost the next message gets its own answer alone", async () => {
    const where = await started();
    where.model.push("One.", "Two.");
    where.telegram.fail("sendMessage", { times: 1, hangUp: "after" });

    where.telegram.say(operatorId, "1");
    await until("sent", () => where.telegram.sent.length === 1);
    await quiet(where);
    where.telegram.say(operatorId, "2");
    await where.telegram.waitSent(2);
    await quiet(where);

    expect(textsIn(where)[1]).toContain("Two.");
    expect(textsIn(where)[1]).not.toContain("One.");
    expect(textsIn(where)).toHaveLength(2);
  });
});

describe("where an answer goes", () => {
  it("DL-13: when the message replied to is gone the answer arrives without the reply", async () => {
    const where = await started();
    where.model.push({ text: "Answer.", headDelayMs: 200 });
    const asked = where.telegram.say(groupId, `@${where.telegram.bot.username} hello`, { from: operatorId });
    await where.model.waitFor(1);

    where.telegram.remove(groupId, asked.message_id);
    where.telegram.fail("sendMessage", { times: 1, status: 400, description: "Bad Request: message to be replied not found" });
    await where.telegram.waitSent(1);

    expect(textsIn(where, groupId)).toEqual(["Answer."]);
    expect(where.telegram.sent[0]?.message.reply_to_message).toBeUndefined();
  });

  it("DL-14: General, thread 1, is written to without its id", async () => {
    const where = await started();
    where.telegram.topic(groupId, 42);

    where.telegram.say(groupId, `@${where.telegram.bot.username} hello`, {
      from: operatorId,
      fields: { message_thread_id: 1, is_topic_message: true },
    });
    await where.telegram.waitSent(1);

    expect(sends(where).every((call) => call.params["message_thread_id"] === undefined)).toBe(true);
  });

  it("DL-16: every call of a turn in a topic goes to that topic: typing, preview, parts, notice, command", async () => {
    const where = await started();
    where.telegram.topic(groupId, 42);
    where.model.push({ text: "word ".repeat(1_500), chunkSize: 200, delayMs: 120 });

    where.telegram.say(groupId, `@${where.telegram.bot.username} hello`, { from: operatorId, topic: 42 });
    await where.telegram.waitSent(2, 15_000);
    where.telegram.say(groupId, `/status@${where.telegram.bot.username}`, { from: operatorId, topic: 42 });
    await where.telegram.waitSent(3);
    await quiet(where);

    const calls = where.telegram.calls.filter((call) => ["sendMessage", "sendChatAction"].includes(call.method));
    expect(calls.map((call) => call.params["message_thread_id"])).toEqual(calls.map(() => 42));
    expect(calls.some((call) => call.method === "sendChatAction")).toBe(true);
    expect(where.telegram.sent.every((stored) => stored.message.message_thread_id === 42)).toBe(true);
  }, 30_000);

  it("DL-16: a topic that was closed meanwhile falls back to the same chat, never to another one", async () => {
    const where = await started();
    where.telegram.topic(groupId, 42);
    where.telegram.fail("sendMessage", { times: 1, status: 400, description: "Bad Request: message thread not found" });

    where.telegram.say(groupId, `@${where.telegram.bot.username} hello`, { from: operatorId, topic: 42 });
    await where.telegram.waitSent(1);

    expect(where.telegram.sent[0]?.message.chat.id).toBe(groupId);
    expect(where.telegram.sent[0]?.message.message_thread_id).toBeUndefined();
  });

  it("DL-18: a group that becomes a supergroup during a turn gets its answer there and keeps its conversation", async () => {
    const where = await started({ MNEME__access__mode: "pairing" });
    where.telegram.group(-77, "Old group", "group");
    const newId = -1_001_000_000_077;
    where.telegram.member(-77, "added", operatorId);
    await where.telegram.waitSent(1);
    where.telegram.person(2002, { first_name: "Bob" });
    where.telegram.say(-77, `@${where.telegram.bot.username} the word is pear`, { from: 2002 });
    await where.telegram.waitSent(2);
    where.model.push({ text: "Answer in the new group.", headDelayMs: 300 });
    where.telegram.say(-77, `@${where.telegram.bot.username} and now?`, { from: 2002 });
    await where.model.waitFor(2);

    where.telegram.migrate(-77, newId);
    await until("the answer in the new group", () => textsIn(where, newId).includes("Answer in the new group."), 15_000);
    where.telegram.say(newId, `@${where.telegram.bot.username} which word?`, { from: 2002 });
    await where.model.waitFor(3);
    await quiet(where);

    expect(where.model.requests[2]?.raw).toContain("the word is pear");
    expect(textsIn(where, newId)).toEqual(["Answer in the new group.", "Answer."]);
  }, 30_000);
});
