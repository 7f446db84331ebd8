import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTelegramEmulator, type TelegramEmulator } from "../../support/telegram/emulator.js";
import { controlRoutes } from "../../support/telegram/main.js";

const amy = 501;
const group = -1001000000000;

interface Answer {
  readonly ok: boolean;
  readonly result?: unknown;
  readonly error_code?: number;
  readonly description?: string;
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
}

let emulator: TelegramEmulator;

beforeEach(async () => {
  emulator = await startTelegramEmulator({ control: controlRoutes });
  emulator.person(amy, { first_name: "Amy" });
  emulator.group(group, "Club");
  emulator.topic(group, 42);
});

afterEach(() => emulator.stop());

async function call(method: string, params: object = {}, token = emulator.token): Promise<Answer> {
  const answer = await fetch(`${emulator.url}/bot${token}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(params),
  });
  return (await answer.json()) as Answer;
}

const refusal = async (method: string, params: object): Promise<string | undefined> => (await call(method, params)).description;
const say = (params: object): Promise<Answer> => call("sendMessage", { chat_id: amy, text: "hi", ...params });
const updateIds = (answer: Answer): number[] => (answer.result as { update_id: number }[]).map((update) => update.update_id);

describe("the Telegram emulator is as strict as the Bot API", () => {
  it("knows its token and its methods", async () => {
    expect(await call("getMe", {}, "1:wrong")).toMatchObject({ ok: false, error_code: 401 });
    expect(await call("makeCoffee")).toMatchObject({ ok: false, error_code: 404 });
    expect(await call("GETME")).toMatchObject({ ok: true, result: { is_bot: true } });
  });

  it.each([
    ["empty text", { text: "" }, "message text is empty"],
    ["white space only", { text: " \n " }, "message text is empty"],
    ["4097 units", { text: "x".repeat(4097) }, "message is too long"],
    ["emoji beyond 4096 units", { text: "😀".repeat(2049) }, "message is too long"],
    ["an entity beyond the text", { entities: [{ type: "bold", offset: 0, length: 3 }] }, "ends after the end of the text"],
    ["an entity inside an emoji", { text: "😀😀", entities: [{ type: "bold", offset: 1, length: 2 }] }, "in a middle of a UTF-16 symbol"],
    ["an unknown entity", { entities: [{ type: "sparkle", offset: 0, length: 1 }] }, "Unsupported type"],
    [
      "101 entities",
      { text: "x".repeat(200), entities: Array.from({ length: 101 }, (_, at) => ({ type: "bold", offset: at, length: 1 })) },
      "too many entities",
    ],
    ["an unknown chat", { chat_id: 999 }, "chat not found"],
    ["a deleted reply target", { reply_parameters: { message_id: 77 } }, "message to be replied not found"],
    ["topic 1", { chat_id: group, message_thread_id: 1 }, "message thread not found"],
    ["an unknown topic", { chat_id: group, message_thread_id: 43 }, "message thread not found"],
    ["broken HTML", { parse_mode: "HTML", text: "<b>x</i>" }, "can't parse entities"],
    ["an unclosed tag", { parse_mode: "HTML", text: "<b>x" }, "can't parse entities"],
    ["an unknown tag", { parse_mode: "HTML", text: "<h1>x</h1>" }, "can't parse entities"],
    ["an unescaped reserved character", { parse_mode: "MarkdownV2", text: "Done." }, "is reserved and must be escaped"],
    ["an open mark", { parse_mode: "MarkdownV2", text: "use *my" }, "can't parse entities"],
    [
      "button data over 64 bytes",
      { reply_markup: { inline_keyboard: [[{ text: "x", callback_data: "é".repeat(33) }]] } },
      "BUTTON_DATA_INVALID",
    ],
  ])("refuses %s", async (_name, params, description) => {
    expect((await say(params)).description).toContain(description);
    expect(emulator.sent).toEqual([]);
  });

  it("takes what is right", async () => {
    expect(await say({ text: "x".repeat(4096) })).toMatchObject({ ok: true });
    expect(await say({ parse_mode: "HTML", text: '<b>a <i>b</i></b> &lt; <a href="https://e.test">c</a>' })).toMatchObject({
      result: {
        text: "a b < c",
        entities: [{ type: "italic" }, { type: "bold", offset: 0, length: 3 }, { type: "text_link", url: "https://e.test" }],
      },
    });
    expect(await say({ parse_mode: "MarkdownV2", text: "*a* _b_ `c*` [d](https://e.test) done\\." })).toMatchObject({
      result: { text: "a b c* d done." },
    });
    expect(await say({ chat_id: group, message_thread_id: 42 })).toMatchObject({ result: { message_thread_id: 42 } });
    expect(await say({ reply_parameters: { message_id: 77, allow_sending_without_reply: true } })).toMatchObject({ ok: true });
  });

  it("edits only its own messages that exist and change", async () => {
    const { result } = await say({ text: "one" });
    const message_id = (result as { message_id: number }).message_id;
    const theirs = emulator.say(amy, "theirs").message_id;

    expect(await refusal("editMessageText", { chat_id: amy, message_id, text: "one" })).toContain("message is not modified");
    expect(await refusal("editMessageText", { chat_id: amy, message_id: 9999, text: "x" })).toContain("message to edit not found");
    expect(await refusal("editMessageText", { chat_id: amy, message_id: theirs, text: "x" })).toContain("message can't be edited");
    await call("editMessageText", { chat_id: amy, message_id, text: "two" });
    expect(emulator.sent.map((each) => [each.message.text, each.history])).toEqual([["two", ["one"]]]);
  });

  it("redelivers until the offset confirms, at most `limit` at once, and waits up to `timeout`", async () => {
    for (const text of ["a", "b", "c"]) emulator.say(amy, text);
    const first = updateIds(await call("getUpdates", { limit: 2 }));
    const again = updateIds(await call("getUpdates", { limit: 2 }));
    const rest = updateIds(await call("getUpdates", { offset: (first[1] ?? 0) + 1 }));
    const waiting = call("getUpdates", { offset: (rest[0] ?? 0) + 1, timeout: 5 });
    emulator.say(amy, "d");

    expect(again).toEqual(first);
    expect(rest).toHaveLength(1);
    expect(updateIds(await waiting)).toHaveLength(1);
  });

  it("ends the first of two pollers with 409, and every poll while a webhook is set", async () => {
    const first = call("getUpdates", { timeout: 5 });
    await emulator.waitFor(() => emulator.updates.polled);
    const second = call("getUpdates", { timeout: 1 });

    expect(await first).toMatchObject({ error_code: 409 });
    expect(await second).toMatchObject({ ok: true });
    await call("setWebhook", { url: "http://127.0.0.1:9/x" });
    expect((await call("getUpdates")).description).toContain("while webhook is active");
  });

  it("sends only the allowed kinds", async () => {
    await call("getUpdates", { allowed_updates: ["callback_query"] });
    emulator.say(amy, "hi");
    expect((await call("getUpdates")).result).toEqual([]);
  });

  it("privacy mode hides plain group messages and mentions, not commands and replies", async () => {
    await emulator.stop();
    emulator = await startTelegramEmulator({ privacy: true });
    emulator.person(amy);
    emulator.group(group, "Club");
    emulator.say(group, `@${emulator.bot.username} hi`, { from: amy });
    emulator.say(group, "/help", { from: amy });

    expect((await call("getUpdates")).result).toMatchObject([{ message: { text: "/help" } }]);
  });

  it("keeps flood limits when asked to", async () => {
    await emulator.stop();
    emulator = await startTelegramEmulator({ flood: { perChatPerSecond: 1, groupPerMinute: 20, botPerSecond: 30 } });
    emulator.person(amy);
    await say({});

    expect(await say({})).toMatchObject({ error_code: 429, parameters: { retry_after: 1 } });
  });

  it("answers a button press once", async () => {
    const { result } = await say({ reply_markup: { inline_keyboard: [[{ text: "Yes", callback_data: "y" }]] } });
    const id = emulator.press(amy, (result as { message_id: number }).message_id, "y", amy);

    expect(await call("answerCallbackQuery", { callback_query_id: id })).toMatchObject({ ok: true });
    expect(await refusal("answerCallbackQuery", { callback_query_id: id })).toContain("query is too old");
  });

  it("checks the command menu", async () => {
    expect(await refusal("setMyCommands", { commands: [{ command: "Bad-Name", description: "x" }] })).toContain("BOT_COMMAND_INVALID");
    expect(
      await refusal("setMyCommands", { commands: Array.from({ length: 101 }, (_, at) => ({ command: `c${at}`, description: "x" })) }),
    ).toContain("BOT_COMMANDS_TOO_MUCH");
    expect(await call("setMyCommands", { commands: [{ command: "help", description: "x" }] })).toMatchObject({ ok: true });
    expect(await call("getMyCommands")).toMatchObject({ result: [{ command: "help" }] });
  });

  it("can be steered by another process", async () => {
    const control = async (path: string, body: object): Promise<unknown> =>
      (
        await fetch(`${emulator.url}/control/${path}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        })
      ).json();
    await control("person", { id: 777 });
    await control("say", { chatId: 777, text: "from afar" });
    await say({ chat_id: 777, text: "answer" });

    expect((await call("getUpdates")).result).toMatchObject([{ message: { text: "from afar" } }]);
    expect(await control("sent", {})).toMatchObject({ result: [{ message: { text: "answer" } }] });
  });
});
