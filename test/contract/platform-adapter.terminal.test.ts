/** The terminal adapter passes the same suite as the platforms, on streams in this process; most cases it cannot have. */
import { PassThrough, Writable } from "node:stream";
import { createTerminalAdapter } from "../../adapters/terminal/adapter.js";
import { maxPartLength } from "../../adapters/terminal/render.js";
import { adapterDeps } from "../support/adapter-io.js";
import { describePlatformAdapter } from "./platform-adapter.contract.js";
import type { Act, ActType, Fault, Placed, PlatformDriver, Shown, Skip } from "./platform-adapter.descriptor.js";

const oneDm: Skip = { skip: "a terminal is one direct conversation" };
const noFiles: Skip = { skip: "nothing but lines of text comes in" };
const noFault: Skip = { skip: "there is no request that could fail: unit/adapters/terminal/adapter.test.ts has a closed output" };

const heardAlone: readonly ActType[] = ["message", "command"];
const allActs: readonly ActType[] = [
  "message",
  "mention",
  "reply-to-bot",
  "reply-to-image",
  "command",
  "command-for-other-bot",
  "image",
  "document",
  "album",
  "long-text",
  "forward",
  "markup",
  "mention-bob",
  "edit",
  "own",
  "other-bot",
  "button",
  "bot-added",
  "bot-removed",
  "unreachable",
  "reachable",
  "migrated",
  "named",
  "malformed",
];
const withoutActs = Object.fromEntries(
  allActs.filter((act) => !heardAlone.includes(act)).map((act) => [act, act === "image" || act === "document" ? noFiles : oneDm]),
);

const faults: readonly Fault[] = [
  "refused-connection",
  "rate-limited",
  "server-error",
  "html-error",
  "lost-answer",
  "silence",
  "markup-refused",
  "reply-gone",
  "thread-gone",
  "chat-gone",
  "chat-migrated",
  "refused",
];

function open(): Promise<PlatformDriver> {
  const input = new PassThrough();
  const written: string[] = [];
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      done();
    },
  });
  const make = () => createTerminalAdapter({ input, output, name: "Amy", interactive: false, onEnd: () => undefined }, adapterDeps());
  const adapter = make();
  let lines = 0;
  let startedAt = "";
  const driver: PlatformDriver = {
    adapter,
    again: make,
    withBadCredentials: make,
    botId: "mneme",
    secrets: [],
    places: { dm: { chatId: "local" }, group: { chatId: "none" }, thread: { chatId: "none" } },
    act(act: Act): Promise<Placed> {
      const health = String(adapter.health().lastAliveAt);
      if (health !== startedAt) startedAt = health;
      if (adapter.health().state === "connected") lines += 1;
      const text = act.type === "command" ? `/${act.name} ${act.args}` : act.type === "message" ? act.text : "";
      input.write(`${text.replaceAll("\n", "\\\n")}\n`);
      return Promise.resolve({ chatId: "local", messageId: `${startedAt}-${lines}`, accountId: "local" });
    },
    fail: () => undefined,
    shown: () =>
      written.map((text, index): Shown => ({
        chatId: "local",
        messageId: String(index),
        text: text.slice(0, -1),
        history: [],
        ...fileIn(text),
      })),
    sendAttempts: () => written.length,
    breakTransport: () => Promise.resolve(),
    silenceTransport: () => Promise.resolve(),
    signs: () => [],
    reactions: () => [],
    menu: () => [],
    stop: () => Promise.resolve(),
  };
  return Promise.resolve(driver);
}

function fileIn(text: string): Pick<Shown, "file"> {
  const found = /── (.+) ──\n([\s\S]*)\n──\n$/.exec(text);
  return found === null ? {} : { file: { name: found[1] ?? "", content: found[2] ?? "" } };
}

describePlatformAdapter({
  name: "terminal",
  open,
  withoutActs,
  faults: Object.fromEntries(faults.map((fault) => [fault, noFault])) as Record<Fault, Skip>,
  limit: { max: maxPartLength, measure: (text) => text.length },
  without: {
    groups: oneDm,
    threads: oneDm,
    credentials: { skip: "nobody asks who you are" },
    "transport-lost": { skip: "streams in one process do not break and come back" },
    "transport-silent": { skip: "silence on a stream is a person who thinks" },
    edits: { skip: "what stands in a terminal stays" },
    remove: { skip: "what stands in a terminal stays" },
    reactions: { skip: "a terminal has no reactions" },
    buttons: { skip: "a terminal has no buttons" },
    download: noFiles,
    menu: { skip: "no menu; /help lists the commands" },
    replies: oneDm,
    redelivery: { skip: "what was typed is not typed again" },
  },
});
