/**
 * Discord: the port's members over one running connection. Nothing connects before `start`, discord.js is loaded there
 * and not earlier, and a stopped adapter can be started again.
 */
import type { DiscordSettings } from "../../config/schema.js";
import { AdapterError, DeliveryError } from "../../src/domain/errors.js";
import type { Attachment, ChatRef, OutboundMessage, RenderedPart, Route, SentRef } from "../../src/domain/message.js";
import type {
  AdapterDeps,
  AdapterFactory,
  AdapterHealth,
  AdapterIo,
  Capabilities,
  CommandMenuEntry,
  Download,
  Finding,
  HistoryMessage,
  PlatformAdapter,
  SendOptions,
} from "../../src/ports/platform-adapter.js";
import { checkDiscord } from "./check.js";
import { openFile } from "./download.js";
import { deliveryErrorOf } from "./failures.js";
import { readHistory } from "./history.js";
import { platform } from "./inbound.js";
import { argumentOption } from "./interactions.js";
import { Live } from "./live.js";
import { render } from "./render.js";
import { loadSdk, type Sdk } from "./sdk.js";
import type { Sender } from "./sender.js";
import { standardTimings, type Timings } from "./timings.js";
import { restOptions } from "./transport.js";

const capabilities: Capabilities = {
  maxPartLength: 2_000,
  promptNotes:
    "You are on Discord. It shows Markdown: bold, italics, strikethrough, inline code, code blocks with a language, quotes, lists, links and headings up to ###. " +
    "Tables are shown as text in a code block, so prefer short lists. Messages hold 2000 characters; longer answers are split.",
  resend: "safe",
  reactions: true,
  edits: true,
  buttons: true,
  files: true,
  followsThreads: true,
  previewMs: { dm: 1_500, group: 1_500, max: 5_000 },
  pace: { chatPerSecond: 1, groupPerMinute: 60, botPerSecond: 45 },
  signOfLifeMs: 9_000,
  commandForm: "/{command}",
};

const mostCommands = 100;
const descriptionLength = 100;

export class DiscordAdapter implements PlatformAdapter {
  readonly platform = platform;
  readonly capabilities = capabilities;
  readonly #settings: DiscordSettings;
  readonly #deps: AdapterDeps;
  readonly #timings: Timings;
  #live: Live | undefined;
  #starting: Promise<void> | undefined;
  /** Grows with each stop, so that a start that was overtaken by one notices. */
  #starts = 0;
  /** The state after a failed start or a stop, while nothing runs. */
  #idle: AdapterHealth["state"] = "stopped";

  constructor(options: { readonly settings: DiscordSettings; readonly deps: AdapterDeps; readonly timings: Timings }) {
    this.#settings = options.settings;
    this.#deps = options.deps;
    this.#timings = options.timings;
  }

  start(io: AdapterIo): Promise<void> {
    this.#starting ??= this.#start(io);
    return this.#starting;
  }

  async stop(): Promise<void> {
    const live = this.#live;
    this.#live = undefined;
    this.#starting = undefined;
    this.#idle = "stopped";
    this.#starts += 1;
    await live?.stop();
  }

  render(markdown: string): RenderedPart[] {
    return render(markdown);
  }

  async send(route: Route, message: OutboundMessage, options: SendOptions): Promise<SentRef> {
    return this.#sender().send(route, message, options);
  }

  async edit(sent: SentRef, message: OutboundMessage, signal: AbortSignal): Promise<void> {
    await this.#sender().edit(sent, message, signal);
  }

  async remove(sent: SentRef, signal: AbortSignal): Promise<void> {
    await this.#sender().remove(sent, signal);
  }

  async react(chatId: string, messageId: string, emoji: string | undefined, signal: AbortSignal): Promise<void> {
    await this.#sender().react(chatId, messageId, emoji, signal);
  }

  async acknowledge(press: { readonly key: string; readonly route: Route }, text: string | undefined): Promise<void> {
    await this.#sender().answerPress(press.route, text);
  }

  async signOfLife(route: Route, signal: AbortSignal): Promise<void> {
    await this.#sender().type(route, signal);
  }

  async findSent(route: Route, deliveryId: string, sentAfter: number): Promise<SentRef | "absent" | "unknown"> {
    return this.#live?.sender === undefined ? "unknown" : this.#live.sender.findSent(route, deliveryId, sentAfter);
  }

  download(ref: Attachment, maxBytes: number, signal: AbortSignal): Promise<Download> {
    const deps = { api: this.#live?.api, apiUrl: this.#settings.apiUrl, now: this.#deps.clock.now() };
    return openFile(deps, ref, maxBytes, signal);
  }

  async history(chat: ChatRef, _threadId: string | undefined, before: string, limit: number): Promise<HistoryMessage[]> {
    const live = this.#live;
    if (live?.self === undefined) throw notConnected();
    try {
      return await readHistory(live.api, chat, before, limit, { botId: live.self.userId, guildId: chat.containerId, names: live.guide });
    } catch (error) {
      throw deliveryErrorOf(live.api.sdk, error);
    }
  }

  async writable(chat: ChatRef, _threadId: string | undefined): Promise<boolean> {
    return this.#live?.sender === undefined ? true : this.#live.sender.threads.writable(chat, this.#settings.thread === "auto");
  }

  /** Every command takes one optional text, as it does where it is typed. */
  async setCommands(commands: readonly CommandMenuEntry[]): Promise<void> {
    const live = this.#live;
    if (live?.self === undefined) throw notConnected();
    const menu = commands.slice(0, mostCommands).map(({ name, description }) => {
      const short = [...description].slice(0, descriptionLength).join("") || name;
      return {
        name,
        description: short,
        type: 1,
        options: [{ type: 3, name: argumentOption, description: "What the command is about", required: false }],
      };
    });
    try {
      await live.api.setCommands(live.self.applicationId, menu);
    } catch (error) {
      throw deliveryErrorOf(live.api.sdk, error);
    }
  }

  async check(): Promise<Finding[]> {
    const sdk = await loadSdk();
    const rest = new sdk.REST(restOptions(sdk, this.#settings.apiUrl, this.#timings)).setToken(this.#settings.token);
    try {
      return await checkDiscord(sdk, rest);
    } finally {
      rest.clearHashSweeper();
      rest.clearHandlerSweeper();
    }
  }

  health(): AdapterHealth {
    if (this.#live !== undefined) return this.#live.connection.health();
    const state = this.#starting === undefined ? this.#idle : "starting";
    return { state, lastAliveAt: undefined, aliveWithinMs: this.#timings.aliveWithinMs };
  }

  async #start(io: AdapterIo): Promise<void> {
    const start = this.#starts;
    const sdk: Sdk = await loadSdk();
    if (start !== this.#starts) throw new AdapterError("adapter.lost", "stopped while starting");
    const live = new Live({ ...this.#deps, sdk, settings: this.#settings, timings: this.#timings, io });
    this.#live = live;
    try {
      await live.connection.open();
    } catch (error) {
      await live.stop();
      if (this.#live === live) {
        this.#live = undefined;
        this.#starting = undefined;
        this.#idle = "failed";
      }
      throw error;
    }
  }

  #sender(): Sender {
    const sender = this.#live?.sender;
    if (sender === undefined) throw notConnected();
    return sender;
  }
}

/** Builds the adapter with Discord's real timings. */
export const createDiscordAdapter: AdapterFactory<DiscordSettings> = (settings, deps) =>
  new DiscordAdapter({ settings, deps, timings: standardTimings });

function notConnected(): DeliveryError {
  return new DeliveryError("delivery.not-sent", "Discord is not connected", { cause: new AdapterError("adapter.lost", "not connected") });
}
