import { PassThrough, Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTerminalAdapter } from "../../../../adapters/terminal/adapter.js";
import type { PlatformAdapter } from "../../../../src/ports/platform-adapter.js";
import { adapterDeps, recordingIo, until, type RecordingIo } from "../../../support/adapter-io.js";

let input: PassThrough;
let output: PassThrough;
let io: RecordingIo;
let ended: number;
let adapter: PlatformAdapter;

beforeEach(() => {
  input = new PassThrough();
  output = new PassThrough();
  io = recordingIo();
  ended = 0;
  adapter = createTerminalAdapter({ input, output, name: "Amy", interactive: false, onEnd: () => (ended += 1) }, adapterDeps());
});

afterEach(() => adapter.stop());

const route = { platform: "terminal", chatId: "local" };
const options = { deliveryId: "d", signal: new AbortController().signal };

describe("the terminal adapter", () => {
  it("takes one line for one message and skips empty ones", async () => {
    await adapter.start(io);
    input.write("hello\n\n   \nworld\n");
    await until(() => io.events.length === 2, "two messages");

    expect(io.messages().map((each) => each.text)).toEqual(["hello", "world"]);
    expect(io.messages()[0]).toMatchObject({
      account: { id: "local", displayName: "Amy" },
      chat: { id: "local", kind: "dm" },
      addressed: "dm",
    });
  });

  it("goes on in the next line after a backslash", async () => {
    await adapter.start(io);
    input.write("first \\\nsecond\n");
    await until(() => io.events.length === 1, "one message");

    expect(io.messages()[0]?.text).toBe("first \nsecond");
  });

  it("knows commands from paths", async () => {
    await adapter.start(io);
    input.write("/Search red shoes\n/usr/bin is full\n");
    await until(() => io.events.length === 2, "two messages");

    expect(io.messages().map((each) => each.command)).toEqual([{ name: "search", args: "red shoes" }, undefined]);
  });

  it("tells once when the input ends, and not when it is stopped", async () => {
    await adapter.start(io);
    await adapter.stop();
    expect(ended).toBe(0);

    await adapter.start(io);
    input.end();
    await until(() => ended === 1, "the end");
  });

  it("shows control characters in place of obeying them", async () => {
    await adapter.send(route, { kind: "plain", text: "red \u001b[31malert" }, options);

    expect(String(output.read())).toBe("red ␛[31malert\n");
  });

  it("says that nobody reads any more when the output is closed", async () => {
    output.destroy();

    await expect(adapter.send(route, { kind: "plain", text: "hi" }, options)).rejects.toMatchObject({ code: "delivery.chat-gone" });
    expect(await adapter.writable({ id: "local", kind: "dm" }, undefined)).toBe(false);
  });

  it("survives an output that breaks, and reports the message as unknown", async () => {
    const broken = new Writable({
      write(_chunk, _encoding, done) {
        done(new Error("EPIPE"));
      },
    });
    const other = createTerminalAdapter({ input, output: broken, name: "Amy", interactive: false, onEnd: () => undefined }, adapterDeps());
    await other.start(io);

    await expect(other.send(route, { kind: "plain", text: "hi" }, options)).rejects.toMatchObject({ code: "delivery.unknown" });
    await other.stop();
  });

  it("shows a prompt on a real terminal and puts it back below an answer", async () => {
    const interactive = createTerminalAdapter({ input, output, name: "Amy", interactive: true, onEnd: () => undefined }, adapterDeps());
    await interactive.start(io);
    await interactive.send(route, { kind: "plain", text: "an answer" }, options);
    const shown = String(output.read());
    await interactive.stop();

    expect(shown.indexOf("you> ")).toBeLessThan(shown.indexOf("an answer"));
    expect(shown.lastIndexOf("you> ")).toBeGreaterThan(shown.indexOf("an answer"));
  });
});
