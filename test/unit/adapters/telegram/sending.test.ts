import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TelegramAdapter } from "../../../../adapters/telegram/adapter.js";
import type { Timings } from "../../../../adapters/telegram/intake.js";
import type { DeliveryCode } from "../../../../src/domain/errors.js";
import type { Attachment, OutboundMessage, Route } from "../../../../src/domain/message.js";
import { adapterDeps } from "../../../support/adapter-io.js";
import { startTelegramEmulator, type TelegramEmulator } from "../../../support/telegram/emulator.js";
import type { FaultPlan } from "../../../support/telegram/server.js";

const timings: Timings = { requestMs: 300, pollMarginMs: 200, backoffMs: 30, backoffMaxMs: 200, webhookCheckMs: 80, confirmMs: 500 };
const amy = 501;
const forum = -1002000000000;
const dm: Route = { platform: "telegram", chatId: String(amy) };

let emulator: TelegramEmulator;
let adapter: TelegramAdapter;

beforeEach(async () => {
  emulator = await startTelegramEmulator();
  emulator.person(amy, { first_name: "Amy" });
  emulator.group(forum, "Club");
  emulator.topic(forum, 42);
  adapter = make(emulator.url);
});

afterEach(async () => {
  await adapter.stop();
  await emulator.stop();
});

function make(apiRoot: string): TelegramAdapter {
  return new TelegramAdapter({
    ...adapterDeps(),
    settings: { token: emulator.token, enabled: true, apiRoot, mode: "polling", pollTimeoutSeconds: 1 },
    timings,
  });
}

const never = (): AbortSignal => new AbortController().signal;
const send = (route: Route, message: OutboundMessage | string, from = adapter) =>
  from.send(route, typeof message === "string" ? { kind: "plain", text: message } : message, { deliveryId: "d1", signal: never() });

describe("what a failed send means", () => {
  const cases: readonly (readonly [string, FaultPlan, DeliveryCode])[] = [
    ["429 without a time", { status: 429, description: "Too Many Requests" }, "delivery.rate-limited"],
    ["DL-19: a person who blocked the bot", { status: 403, description: "Forbidden: bot was blocked by the user" }, "delivery.chat-gone"],
    ["a chat that does not exist", { status: 400, description: "Bad Request: chat not found" }, "delivery.chat-gone"],
    [
      "missing rights in a group",
      { status: 400, description: "Bad Request: not enough rights to send text messages to the chat" },
      "delivery.chat-gone",
    ],
    [
      "FM-08: entities that cannot be parsed",
      { status: 400, description: "Bad Request: can't parse MessageEntity: expected an Object" },
      "delivery.markup-refused",
    ],
    [
      "FM-08: an entity beyond the text",
      { status: 400, description: "Bad Request: entity beginning at UTF-16 offset 4 ends after the end of the text at UTF-16 offset 9" },
      "delivery.markup-refused",
    ],
    [
      "DL-13: a deleted reply target, in older words",
      { status: 400, description: "Bad Request: replied message not found" },
      "delivery.reply-gone",
    ],
    ["a closed topic", { status: 400, description: "Bad Request: TOPIC_CLOSED" }, "delivery.thread-gone"],
    ["a text that is too long", { status: 400, description: "Bad Request: message is too long" }, "delivery.refused"],
    ["a revoked token", { status: 401, description: "Unauthorized" }, "delivery.not-sent"],
    ["a server error in Telegram's own JSON", { status: 502, description: "Bad Gateway" }, "delivery.not-sent"],
    ["a server error as a web page", { html502: "before" }, "delivery.unknown"],
    ["a cut before the answer", { hangUp: "before" }, "delivery.unknown"],
    ["no answer in time", { never: "before" }, "delivery.unknown"],
  ];
  it.each(cases)("%s", async (_name, plan, code) => {
    emulator.fail("sendMessage", { times: 1, ...plan });

    await expect(send(dm, "hi")).rejects.toMatchObject({ code });
    expect(emulator.calls.filter((call) => call.method === "sendMessage")).toHaveLength(1);
  });

  it("DL-01: says in milliseconds how long to wait", async () => {
    emulator.fail("sendMessage", {
      times: 1,
      status: 429,
      description: "Too Many Requests: retry after 7",
      parameters: { retry_after: 7 },
    });

    await expect(send(dm, "hi")).rejects.toMatchObject({ code: "delivery.rate-limited", retryAfterMs: 7_000, retryable: true });
  });

  it("DL-18: names the new id of a group that became a supergroup", async () => {
    emulator.group(-4000, "Small", "group");
    emulator.migrate(-4000, -1009000000000);

    await expect(send({ ...dm, chatId: "-4000" }, "hi")).rejects.toMatchObject({
      code: "delivery.chat-migrated",
      newChatId: "-1009000000000",
    });
  });

  it("DL-07: nobody listening or no such host is certainly not sent", async () => {
    for (const root of ["http://127.0.0.1:9", "http://no-such-host.invalid"]) {
      const lost = make(root);
      await expect(send(dm, "hi", lost)).rejects.toMatchObject({ code: "delivery.not-sent", retryable: true });
      await lost.stop();
    }
  });

  it("DL-07: a server without TLS where TLS is expected is certainly not sent", async () => {
    const lost = make(emulator.url.replace("http:", "https:"));

    await expect(send(dm, "hi", lost)).rejects.toMatchObject({ code: "delivery.not-sent" });
    expect(emulator.sent).toEqual([]);
    await lost.stop();
  });

  it("a page of something in between that refuses is certainly not sent", async () => {
    const proxy = await page(403, "<html>denied</html>");
    const behind = make(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);

    await expect(send(dm, "hi", behind)).rejects.toMatchObject({ code: "delivery.not-sent" });
    await behind.stop();
    proxy.close();
  });

  it("a web page with status 200 leaves the outcome open", async () => {
    const proxy = await page(200, "<html>welcome to this hotel's network</html>");
    const behind = make(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);

    await expect(send(dm, "hi", behind)).rejects.toMatchObject({ code: "delivery.unknown" });
    await behind.stop();
    proxy.close();
  });

  it("a send called off while it waits for the answer leaves the outcome open", async () => {
    emulator.fail("sendMessage", { times: 1, never: "after" });
    const abort = new AbortController();
    const sending = adapter.send(dm, { kind: "plain", text: "hi" }, { deliveryId: "d", signal: abort.signal });
    await emulator.waitFor(({ calls }) => calls.some((call) => call.outcome === "never"));
    abort.abort();

    await expect(sending).rejects.toMatchObject({ code: "delivery.unknown" });
  });

  it("a part of another platform is refused as markup, so that its plain form is tried", async () => {
    await expect(send(dm, { kind: "part", part: { plain: "hi", payload: { blocks: [] } } })).rejects.toMatchObject({
      code: "delivery.markup-refused",
    });
  });
});

describe("what is sent", () => {
  it("DL-14: never names topic 1", async () => {
    await send({ platform: "telegram", chatId: String(forum), threadId: "1" }, "to General");

    expect(emulator.sent[0]?.message.message_thread_id).toBeUndefined();
  });

  it("DL-16: a file, its reply and its topic arrive together", async () => {
    const asked = emulator.say(forum, "send me all", { from: amy, topic: 42 });
    const route: Route = { platform: "telegram", chatId: String(forum), threadId: "42", replyTo: String(asked.message_id) };
    await send(route, { kind: "file", name: "rest.md", mimeType: "text/markdown", content: "# rest", caption: "the rest" });

    expect(emulator.sent[0]?.message).toMatchObject({
      message_thread_id: 42,
      caption: "the rest",
      reply_to_message: { message_id: asked.message_id },
    });
    expect(emulator.sent[0]?.file?.content.toString()).toBe("# rest");
  });

  it("DL-13: goes out without the reply when its target is gone", async () => {
    const asked = emulator.say(amy, "a question");
    emulator.remove(amy, asked.message_id);

    await send({ ...dm, replyTo: String(asked.message_id) }, "an answer");

    expect(emulator.sent[0]?.message.text).toBe("an answer");
    expect(emulator.sent[0]?.message.reply_to_message).toBeUndefined();
  });

  it("a silent message makes no sound", async () => {
    await send(dm, { kind: "plain", text: "psst", silent: true });

    expect(emulator.calls.at(-1)?.params).toMatchObject({ disable_notification: true });
  });

  it("rendered parts pass the server's checks on entities", async () => {
    const parts = adapter.render(
      "# 标题\n\n这是**重点：**内容 😀 and [a link](https://example.test)\n\n```ts\nlet a = `b`;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    );
    for (const part of parts) await send(dm, { kind: "part", part });

    expect(emulator.sent.map((each) => each.message.entities?.map((entity) => entity.type)).flat()).toEqual(
      expect.arrayContaining(["bold", "text_link", "pre"]),
    );
  });

  it("an edit of a message that is gone is refused", async () => {
    const sent = await send(dm, "soon gone");
    await adapter.remove(sent, never());

    await expect(adapter.edit(sent, { kind: "plain", text: "x" }, never())).rejects.toMatchObject({ code: "delivery.refused" });
  });

  it("a reaction that Telegram does not have is refused", async () => {
    const message = emulator.say(amy, "hi");

    await expect(adapter.react(String(amy), String(message.message_id), "🦑", never())).rejects.toMatchObject({ code: "delivery.refused" });
  });

  it("a refused command menu rejects", async () => {
    await expect(adapter.setCommands([{ name: "Not-A-Name", description: "x" }])).rejects.toMatchObject({ code: "delivery.refused" });
  });
});

describe("downloads", () => {
  const file = (name: string, bytes: Buffer, claimed?: number): Attachment => {
    const { document } = emulator.document(name, "application/pdf", bytes, claimed) as { document: { file_id: string } };
    return { kind: "document", name, mimeType: "application/pdf", ref: { fileId: document.file_id } };
  };

  it("IN-16: a file over Telegram's own limit is reported as too large", async () => {
    await expect(adapter.download(file("a.pdf", Buffer.from("x"), 25_000_000), 50_000_000, never())).rejects.toMatchObject({
      code: "download.too-large",
    });
  });

  it("a page in place of the file, a missing file and a silent server are told apart from a file", async () => {
    emulator.fail("file", { times: 1, html502: "before" });
    await expect(adapter.download(file("a.pdf", Buffer.from("x")), 1000, never())).rejects.toMatchObject({ code: "download.failed" });
    emulator.fail("file", { times: 1, never: "before" });
    await expect(adapter.download(file("b.pdf", Buffer.from("x")), 1000, never())).rejects.toMatchObject({ code: "download.failed" });
    await expect(adapter.download({ kind: "document", name: "c", ref: { fileId: "unknown" } }, 1000, never())).rejects.toMatchObject({
      code: "download.failed",
    });
    await expect(adapter.download({ kind: "document", name: "d", ref: null }, 1000, never())).rejects.toMatchObject({
      code: "download.failed",
    });
  });

  it("a login page with status 200 is no file", async () => {
    const hotel = await page(200, "<html>log in</html>", (path) =>
      path.includes("getFile") ? { ok: true, result: { file_id: "x", file_path: "documents/a.pdf" } } : undefined,
    );
    const behind = make(`http://127.0.0.1:${(hotel.address() as AddressInfo).port}`);

    await expect(
      behind.download({ kind: "document", name: "a.pdf", mimeType: "application/pdf", ref: { fileId: "x" } }, 1000, never()),
    ).rejects.toMatchObject({ code: "download.wrong-type" });
    await behind.stop();
    hotel.close();
  });

  it("no error shows the address, which holds the token", async () => {
    emulator.fail("file", { times: 1, hangUp: "before" });
    const error: unknown = await adapter.download(file("a.pdf", Buffer.from("x")), 1000, never()).catch((reason: unknown) => reason);

    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(emulator.token.split(":")[1]);
  });
});

/** A server that answers every path with one page, or with JSON where `json` says so. */
async function page(status: number, html: string, json: (path: string) => object | undefined = () => undefined): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    const value = json(request.url ?? "");
    if (value === undefined) response.writeHead(status, { "content-type": "text/html" }).end(html);
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
