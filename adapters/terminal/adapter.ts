/**
 * The reference adapter: one person on a pair of streams, one line one message. Read this first when writing a new
 * platform; what it lacks (groups, edits, files coming in) it says in `capabilities` and by its answers, not by missing members.
 */
import { clearLine, createInterface, cursorTo, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { DeliveryError, errorText, GatewayError } from "../../src/domain/errors.js";
import type { InboundMessage, OutboundMessage, RenderedPart, Route, SentRef } from "../../src/domain/message.js";
import type {
  AdapterDeps,
  AdapterFactory,
  AdapterHealth,
  AdapterIo,
  Capabilities,
  Download,
  Finding,
  HistoryMessage,
  PlatformAdapter,
  SendOptions,
} from "../../src/ports/platform-adapter.js";
import { maxPartLength, render, showControls } from "./render.js";

export interface TerminalSettings {
  readonly input: Readable;
  readonly output: Writable;
  /** What the person is called. */
  readonly name: string;
  /** True for a real terminal: a prompt is shown and kept below the answers. */
  readonly interactive: boolean;
  /** Called once when the input ended (end of file, Ctrl+D) and everything typed before is stored. */
  readonly onEnd: () => void;
}

const platform = "terminal";
const botId = "mneme";
/** The one person here, as access lists name it: "terminal:local". */
const accountId = "local";
const chatId = "local";
const prompt = "you> ";
/** Nothing can be lost between two processes on streams, so silence is no sign of death. */
const aliveWithinMs = Number.MAX_SAFE_INTEGER;

const capabilities: Capabilities = {
  maxPartLength,
  promptNotes:
    "You are in a terminal with one person. Text is shown with light marks; tables and code blocks keep their form. No pictures, no buttons.",
  resend: "blind",
  reactions: false,
  edits: false,
  buttons: false,
  files: true,
  followsThreads: false,
  previewMs: { dm: 1_000, group: 1_000, max: 1_000 },
  pace: { chatPerSecond: 1_000, groupPerMinute: 60_000, botPerSecond: 1_000 },
  signOfLifeMs: 60_000,
  commandForm: "/{command}",
};

export const createTerminalAdapter: AdapterFactory<TerminalSettings> = (settings, deps) => new TerminalAdapter(settings, deps);

class TerminalAdapter implements PlatformAdapter {
  readonly platform = platform;
  readonly capabilities = capabilities;
  readonly #settings: TerminalSettings;
  readonly #deps: AdapterDeps;
  #lines: Interface | undefined;
  /** Lines are stored one after the other, in the order they were typed. */
  #storing: Promise<void> = Promise.resolve();
  #startedAt = 0;
  #heard = 0;
  #sent = 0;
  #unfinished = "";
  #ended = false;

  constructor(settings: TerminalSettings, deps: AdapterDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  start(io: AdapterIo): Promise<void> {
    if (this.#lines !== undefined) return Promise.resolve();
    const { input, output, interactive, onEnd } = this.#settings;
    const lines = createInterface({ input, ...(interactive ? { output, prompt } : {}), terminal: interactive });
    this.#lines = lines;
    this.#startedAt = this.#deps.clock.now();
    lines.on("line", (line) => this.#hear(line, io));
    lines.on("close", () => {
      if (this.#lines !== lines) return; // closed by stop(), not by the input's end
      this.#ended = true;
      void this.#storing.then(onEnd);
    });
    output.on("error", this.#onOutputError);
    if (interactive) lines.prompt();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const lines = this.#lines;
    this.#lines = undefined;
    if (lines === undefined) return;
    lines.close();
    this.#settings.output.off("error", this.#onOutputError);
    await this.#storing;
  }

  render(markdown: string): RenderedPart[] {
    return render(markdown);
  }

  async send(_route: Route, message: OutboundMessage, { signal }: SendOptions): Promise<SentRef> {
    if (signal.aborted) throw new DeliveryError("delivery.not-sent", "the send was called off");
    await this.#write(`${textOf(message)}\n`);
    this.#sent += 1;
    return { chatId, messageId: `out-${this.#startedAt}-${this.#sent}` };
  }

  edit(): Promise<void> {
    return Promise.reject(new DeliveryError("delivery.refused", "what stands in a terminal cannot be changed"));
  }

  remove(): Promise<void> {
    return Promise.reject(new DeliveryError("delivery.refused", "what stands in a terminal cannot be taken away"));
  }

  react(): Promise<void> {
    return Promise.reject(new DeliveryError("delivery.refused", "a terminal has no reactions"));
  }

  acknowledge(): Promise<void> {
    return Promise.resolve(); // no buttons, so nobody waits
  }

  signOfLife(): Promise<void> {
    return Promise.resolve(); // the person sees that the prompt is gone
  }

  findSent(): Promise<"unknown"> {
    return Promise.resolve("unknown");
  }

  download(): Promise<Download> {
    return Promise.reject(new GatewayError("download.failed", "a terminal takes no files"));
  }

  history(): Promise<HistoryMessage[]> {
    return Promise.resolve([]);
  }

  writable(): Promise<boolean> {
    return Promise.resolve(this.#settings.output.writable);
  }

  setCommands(): Promise<void> {
    return Promise.resolve(); // no menu; /help lists them
  }

  check(): Promise<Finding[]> {
    return Promise.resolve([{ level: "ok", subject: "terminal", message: "Nothing to set up." }]);
  }

  health(): AdapterHealth {
    const connected = this.#lines !== undefined;
    return { state: connected ? "connected" : "stopped", lastAliveAt: connected ? this.#startedAt : undefined, aliveWithinMs };
  }

  readonly #onOutputError = (error: unknown): void => {
    this.#deps.logger.warn({ error: errorText(error) }, "the terminal cannot be written to");
  };

  /** A line that ends with a backslash goes on in the next one. */
  #hear(line: string, io: AdapterIo): void {
    if (line.endsWith("\\")) {
      this.#unfinished += `${line.slice(0, -1)}\n`;
      return;
    }
    const text = (this.#unfinished + line).trim();
    this.#unfinished = "";
    if (text === "") return this.#lines?.prompt();
    const event = this.#event(text);
    this.#storing = this.#storing
      .then(() => io.deliver([event]))
      .catch((error: unknown) => this.#deps.logger.warn({ error: errorText(error) }, "a line was not stored: the program is stopping"));
  }

  #event(text: string): InboundMessage {
    this.#heard += 1;
    const messageId = `${this.#startedAt}-${this.#heard}`;
    const command = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(text);
    return {
      kind: "message",
      platform,
      botId,
      key: [platform, botId, "message", messageId].join(":"),
      account: { id: accountId, displayName: this.#settings.name, isBot: false },
      chat: { id: chatId, kind: "dm" },
      at: this.#deps.clock.now(),
      messageId,
      text,
      addressed: "dm",
      ...(command?.[1] === undefined ? {} : { command: { name: command[1].toLowerCase(), args: command[2] ?? "" } }),
      attachments: [],
      route: { platform, chatId },
    };
  }

  #write(text: string): Promise<void> {
    const { output, interactive } = this.#settings;
    if (!output.writable) return Promise.reject(new DeliveryError("delivery.chat-gone", "the terminal is closed"));
    if (interactive) {
      cursorTo(output, 0);
      clearLine(output, 0);
    }
    return new Promise((resolve, reject) => {
      output.write(text, (error) => {
        if (error instanceof Error)
          return reject(new DeliveryError("delivery.unknown", "the terminal broke while being written to", { cause: error }));
        if (interactive && !this.#ended) this.#lines?.prompt(true);
        resolve();
      });
    });
  }
}

function textOf(message: OutboundMessage): string {
  if (message.kind === "plain") return showControls(message.text);
  if (message.kind === "file") return showControls(`${message.caption ?? ""}\n── ${message.name} ──\n${message.content}\n──`).trimStart();
  const payload = message.part.payload;
  if (typeof payload !== "object" || payload === null || !("text" in payload)) return message.part.plain;
  const text = payload["text"];
  return typeof text === "string" ? text : message.part.plain;
}
