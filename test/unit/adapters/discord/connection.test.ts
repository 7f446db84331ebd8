import { readdir, readFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../../support/adapter-io.js";
import type { Rig } from "./rig.js";
import { rig } from "./rig.js";

let open: Rig | undefined;
const servers: Server[] = [];

async function started(options: Parameters<typeof rig>[0] = {}): Promise<Rig> {
  open = await rig(options);
  await open.adapter.start(open.io);
  return open;
}

afterEach(async () => {
  await open?.close();
  open = undefined;
  for (const server of servers.splice(0)) server.close();
});

const text = (content: string) => ({ kind: "plain", text: content }) as const;

describe("Discord's connection", () => {
  it("IN-14: a direct message from a channel nobody has seen yet arrives", async () => {
    const { emulator, io } = await started();
    const stranger = emulator.world.user("carl", "Carl");
    const fresh = emulator.world.channel({ type: 1, name: "", recipients: [stranger.id] });

    const said = emulator.say({ in: fresh, by: stranger, text: "hello?" });

    expect(await io.waitFor((event) => event.kind === "message" && event.messageId === said.id)).toMatchObject({
      addressed: "dm",
      chat: { id: fresh.id, kind: "dm" },
    });
  });

  it("a cut connection is resumed and nothing said meanwhile is lost", async () => {
    const { emulator, io } = await started();

    emulator.gateway.drop();
    emulator.say({ in: emulator.world.dm, text: "while you were away" });

    await io.waitFor((event) => event.kind === "message" && event.text === "while you were away");
    expect(emulator.gateway.resumes).toMatchObject([{ ok: true }]);
    expect(emulator.gateway.identifies).toHaveLength(1);
  });

  it("does what op 7 asks for: reconnects and resumes", async () => {
    const { emulator, adapter } = await started();

    emulator.gateway.reconnect();
    await emulator.waitFor(() => emulator.gateway.resumes.length === 1, "a resume");

    await until(() => adapter.health().state === "connected", "connected again");
    expect(emulator.gateway.identifies).toHaveLength(1);
  });

  it("RC-06: resumes that always fail end in a new login after three tries", async () => {
    const { emulator, adapter, io } = await started();
    emulator.gateway.closeOnResume = true;

    emulator.gateway.drop();
    await emulator.waitFor(() => emulator.gateway.identifies.length === 2, "a new login", 15_000);
    await until(() => adapter.health().state === "connected", "connected again");
    emulator.say({ in: emulator.world.dm, text: "back" });

    await io.waitFor((event) => event.kind === "message" && event.text === "back");
    expect(emulator.gateway.resumes).toHaveLength(3);
    expect(io.failures).toEqual([]);
  }, 20_000);

  it("RC-06: reconnects that go on failing come with growing pauses", async () => {
    const { emulator } = await started({ timings: { reconnectMs: 600, reconnectMaxMs: 10_000 } });
    emulator.gateway.closeOnResume = true;

    emulator.gateway.drop();
    await emulator.waitFor(() => emulator.gateway.resumes.length === 3, "three resumes", 10_000);

    const [first, second, third] = emulator.gateway.resumes.map((resume) => resume.at);
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThan((second ?? 0) - (first ?? 0) + 200);
  }, 15_000);

  it("RC-07: an error of the client or of its socket is logged and ends nothing", async () => {
    const { emulator, adapter, io, deps } = await started();
    emulator.gateway.refuseUpgrade = 502;

    emulator.gateway.drop();
    await until(() => deps.logger.lines.some((line) => line.message.includes("socket reported an error")), "the error is logged");
    emulator.gateway.refuseUpgrade = undefined;
    await until(() => adapter.health().state === "connected", "connected again");
    emulator.say({ in: emulator.world.dm, text: "still here?" });

    await io.waitFor((event) => event.kind === "message" && event.text === "still here?");
  });

  it("RC-07: an invalid session right after a resume is survived", async () => {
    const { emulator, adapter, io } = await started();

    emulator.gateway.drop();
    await emulator.waitFor(() => emulator.gateway.resumes.length === 1, "a resume");
    emulator.gateway.invalidate(false);
    await emulator.waitFor(() => emulator.gateway.identifies.length === 2, "a new login", 10_000);
    await until(() => adapter.health().state === "connected", "connected again");
    emulator.say({ in: emulator.world.dm, text: "after all that" });

    await io.waitFor((event) => event.kind === "message" && event.text === "after all that");
  }, 15_000);

  it("RC-08: what was said while no session stood is read from the history, once and in order", async () => {
    const { emulator, io } = await started();
    const { dm, thread } = emulator.world;
    const before = emulator.say({ in: dm, text: "before" });
    await io.waitFor((event) => event.kind === "message" && event.messageId === before.id);
    io.seen = [
      { chatId: dm.id, kind: "dm", messageId: before.id },
      { chatId: thread.id, kind: "thread", messageId: before.id },
      { chatId: "1300000000000000099", kind: "thread", messageId: before.id },
    ];

    emulator.gateway.forgetSessions();
    emulator.gateway.drop();
    emulator.say({ in: dm, text: "missed one" });
    emulator.say({ in: dm, text: "missed two" });
    emulator.say({ in: thread, text: "missed in the thread" });
    await io.waitFor((event) => event.kind === "message" && event.text === "missed in the thread", 15_000);
    await io.waitFor((event) => event.kind === "message" && event.text === "missed two");
    emulator.say({ in: dm, text: "live" });
    await io.waitFor((event) => event.kind === "message" && event.text === "live");

    expect(
      io
        .messages()
        .filter((event) => event.chat.id === dm.id)
        .map((event) => event.text),
    ).toEqual(["before", "missed one", "missed two", "live"]);
    expect(io.messages().find((event) => event.chat.id === thread.id)?.chat).toMatchObject({
      kind: "thread",
      parentId: emulator.world.group.id,
    });
  }, 20_000);

  it("RC-08: a new message waits while the missed ones of its chat are read", async () => {
    const all = await rig();
    open = all;
    const { emulator, io } = all;
    const first = emulator.say({ in: emulator.world.dm, text: "seen", unseen: true });
    emulator.say({ in: emulator.world.dm, text: "missed", unseen: true });
    io.seen = [{ chatId: emulator.world.dm.id, kind: "dm", messageId: first.id }];
    emulator.fail("GET /channels/:channel/messages", { delayMs: 300 });

    await all.adapter.start(io);
    emulator.say({ in: emulator.world.dm, text: "new" });
    emulator.say({ in: emulator.world.thread, text: "elsewhere" });
    await io.waitFor((event) => event.kind === "message" && event.text === "new");

    expect(new Set(io.messages().map((event) => event.text))).toEqual(new Set(["elsewhere", "missed", "new"]));
    expect(io.messages()[0]?.text).toBe("elsewhere");
    expect(io.messages().findIndex((event) => event.text === "missed")).toBeLessThan(
      io.messages().findIndex((event) => event.text === "new"),
    );
  });

  it("IN-15: messages without their text give one warning that names the intent", async () => {
    const { emulator, io, deps } = await started();
    for (let round = 0; round < 3; round += 1) emulator.say({ in: emulator.world.group, text: "" });
    await until(() => io.messages().length === 3, "three messages");

    expect(io.messages().every((event) => event.ignore === "unreadable")).toBe(true);
    expect(deps.logger.lines.filter((line) => line.level === "warn" && line.message.includes("Message Content Intent"))).toHaveLength(1);
  });

  it("IN-15: a refused content intent ends the start with the place where it is switched on", async () => {
    open = await rig({ contentIntent: "off" });

    const error: unknown = await open.adapter.start(open.io).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: "adapter.setup" });
    expect(String(error)).toContain("Message Content Intent");
    expect(open.adapter.health().state).toBe("failed");
    expect((await open.adapter.check()).filter((finding) => finding.level === "error")).toMatchObject([
      { remedy: expect.stringContaining("Message Content Intent") as string },
    ]);
  });

  it("a token that is withdrawn while running is told to the supervisor, once", async () => {
    const { emulator, io, adapter } = await started();
    emulator.token = "MTIz.another.token";

    emulator.gateway.drop();
    await until(() => io.failures.length > 0, "the failure");

    expect(io.failures).toMatchObject([{ code: "adapter.auth" }]);
    expect(adapter.health().state).toBe("failed");
  });

  it("a gateway that opens and never begins a session is given up openly, although its heartbeats are answered", async () => {
    const { emulator, io, adapter } = await started({ timings: { sessionMs: 400 } });
    emulator.gateway.ignoreLogins = true;

    emulator.gateway.drop();
    await until(() => io.failures.length > 0, "given up");

    expect(io.failures).toMatchObject([{ code: "adapter.lost", retryable: true }]);
    expect(adapter.health().state).toBe("failed");
  });

  it("health tells the time of the last heartbeat acknowledgement", async () => {
    const { emulator, adapter } = await started({ heartbeatMs: 100 });
    const first = adapter.health().lastAliveAt ?? 0;
    await until(() => (adapter.health().lastAliveAt ?? 0) > first, "a later acknowledgement");
    emulator.gateway.withholdAcks = true;
    await emulator.waitFor(() => emulator.gateway.connections >= 2, "a new connection", 5_000);

    expect(adapter.health().state).not.toBe("stopped");
  });

  it("stops in the middle of a reconnect, and nothing connects afterwards", async () => {
    const { emulator, adapter, io } = await started();
    emulator.gateway.drop();
    await until(() => adapter.health().state === "reconnecting", "reconnecting");
    const connections = emulator.gateway.connections;

    await adapter.stop();
    emulator.say({ in: emulator.world.dm, text: "too late" });
    await new Promise((resolve) => setTimeout(resolve, 900)); // longer than the library's own pause before a reconnect

    expect(emulator.gateway.connections).toBe(connections);
    expect(emulator.gateway.openSockets).toBe(0);
    expect(io.messages()).toEqual([]);
  });

  it("stops within five seconds while the gateway accepts connections and says nothing", async () => {
    const { emulator, adapter } = await started();
    emulator.gateway.muteHello = true;
    emulator.gateway.drop();
    await emulator.waitFor(() => emulator.gateway.connections === 2, "the second connection");
    const from = Date.now();

    await adapter.stop();

    expect(Date.now() - from).toBeLessThan(5_000);
  }, 10_000);

  it("stops while a socket is being opened, and its late failure ends nothing", async () => {
    const { emulator, adapter } = await started({ timings: { dialMs: 200 } });
    // A server that takes the connection and never answers the upgrade, then cuts it.
    const sockets: { destroy(): void }[] = [];
    const deaf = createServer((socket) => void sockets.push(socket));
    servers.push(deaf);
    await new Promise<void>((resolve) => deaf.listen(0, "127.0.0.1", resolve));
    Object.defineProperty(emulator.gateway, "url", { get: () => `ws://127.0.0.1:${(deaf.address() as AddressInfo).port}` });
    emulator.gateway.invalidate(false);
    await emulator.waitFor(() => emulator.gateway.identifies.length === 2, "a login whose READY names the deaf server", 10_000);
    await until(() => adapter.health().state === "connected", "connected");
    emulator.gateway.drop();
    await until(() => sockets.length > 0, "the deaf server is dialled");

    await adapter.stop();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 100)); // an unhandled error would fail this run

    expect(adapter.health().state).toBe("stopped");
  }, 15_000);

  it("can be stopped while it starts, and started again afterwards", async () => {
    const all = await rig();
    open = all;
    const starting = all.adapter.start(all.io).catch((error: unknown) => error);
    await all.adapter.stop();
    expect(await starting).toMatchObject({ code: "adapter.lost" });

    await all.adapter.start(all.io);
    await all.adapter.send(all.route(all.emulator.world.dm.id), text("here"), all.options("r1"));

    expect(all.emulator.sent()).toHaveLength(1);
  });

  it("a start while Discord's API is away ends with an error that may be tried again, and the next one works", async () => {
    const all = await rig();
    open = all;
    await all.emulator.refuseFor(300);

    const error: unknown = await all.adapter.start(all.io).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "adapter.lost", retryable: true });
    await until(
      () =>
        all.adapter.start(all.io).then(
          () => true,
          () => false,
        ),
      "a later start works",
    );

    expect(all.adapter.health().state).toBe("connected");
  });

  it("a start whose gateway does not answer ends in time, and nothing connects afterwards", async () => {
    const all = await rig({ timings: { startMs: 400, dialMs: 100 } });
    open = all;
    all.emulator.gateway.muteHello = true;

    await expect(all.adapter.start(all.io)).rejects.toMatchObject({ code: "adapter.lost", retryable: true });
    await until(() => all.emulator.gateway.openSockets === 0, "the socket is given back");
    await new Promise((resolve) => setTimeout(resolve, 700)); // longer than the library's own pause before a reconnect

    expect(all.emulator.gateway.connections).toBe(1);
  });

  it("no login left today: the start says so and is not tried over and over", async () => {
    const all = await rig();
    open = all;
    all.emulator.sessionStarts = { total: 1000, remaining: 0, reset_after: 3_600_000, max_concurrency: 1 };

    const error: unknown = await all.adapter.start(all.io).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: "adapter.lost", retryAfterMs: 3_600_000 });
    expect((await all.adapter.check()).find((finding) => finding.subject === "discord logins")).toMatchObject({ level: "error" });
  });

  it("does not load the Discord library before it is started: no file imports more than its types", async () => {
    const folder = new URL("../../../../adapters/discord/", import.meta.url);
    const files = (await readdir(folder)).filter((name) => name.endsWith(".ts"));
    const sources = await Promise.all(files.map((name) => readFile(new URL(name, folder), "utf8")));

    expect(sources.filter((source) => /^import (?!type ).*"discord\.js"/m.test(source))).toEqual([]);
    expect(files.length).toBeGreaterThan(10);
  });

  it("takes a command from a channel that the bot may not see", async () => {
    const { emulator, io } = await started();
    const hidden = emulator.world.channel({ type: 0, name: "hidden", guildId: emulator.world.guildId });
    hidden.canView = false;

    emulator.command({ in: hidden, name: "help" });

    expect(await io.waitFor((event) => event.chat.id === hidden.id)).toMatchObject({
      command: { name: "help" },
      chat: { kind: "group", title: "hidden" },
    });
  });

  it("stops within five seconds while the inbox does not answer", async () => {
    const { emulator, io, adapter } = await started();
    const release = io.hold();
    emulator.say({ in: emulator.world.dm, text: "stuck" });
    await new Promise((resolve) => setTimeout(resolve, 100)); // nothing to wait for: the delivery has begun and hangs
    const from = Date.now();

    await adapter.stop();

    expect(Date.now() - from).toBeLessThan(5_000);
    release();
  }, 10_000);

  it("reads the history of a thread, oldest first, with who said it", async () => {
    const { emulator, adapter } = await started();
    const { world } = emulator;
    const all = Array.from({ length: 120 }, (_, index) =>
      emulator.say({ in: world.thread, by: index % 2 === 0 ? world.amy : world.bot, text: `line ${index}`, unseen: true }),
    );
    const chat = { id: world.thread.id, kind: "thread", parentId: world.group.id, containerId: world.guildId } as const;

    const history = await adapter.history(chat, undefined, all[119]?.id ?? "", 110);

    expect(history).toHaveLength(110);
    expect(history[0]).toMatchObject({ text: "line 9", author: "mneme", fromSelf: true });
    expect(history.at(-1)).toMatchObject({ text: "line 118", author: "Amy", fromSelf: false });
  });

  it("fetches a file whose link has expired by asking for a fresh one, and sends no token to the file host", async () => {
    const { emulator, io, adapter } = await started();
    const said = emulator.say({
      in: emulator.world.dm,
      text: "look",
      files: [{ name: "p.png", type: "image/png", content: new Uint8Array(10) }],
    });
    const event = await io.waitFor((each) => each.kind === "message" && each.messageId === said.id);
    if (event.kind !== "message" || event.attachments[0] === undefined) throw new Error("no attachment");
    const [file] = event.attachments;
    const ref = file.ref as { url: string };
    const expired = { ...file, ref: { ...ref, url: ref.url.replace(/ex=[0-9a-f]+/, "ex=1") } };

    const download = await adapter.download(expired, 1_000, new AbortController().signal);
    let size = 0;
    for await (const chunk of download.bytes) size += chunk.byteLength;

    expect(size).toBe(10);
    expect(emulator.callsOf("GET /attachments/:channel/:attachment/:name").every((call) => call.authorization === undefined)).toBe(true);
    await expect(
      adapter.download({ ...file, ref: { ...ref, url: "https://evil.example/p.png" } }, 1_000, new AbortController().signal),
    ).rejects.toMatchObject({ code: "download.failed" });
  });
});
