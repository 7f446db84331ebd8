/**
 * Telegram: life cycle, sending and sign of life over telegraf's client. Nothing is ever sent twice from here: a failed
 * call becomes a DeliveryError whose code tells the delivery what may be done.
 */
import type { TelegramSettings } from "../../config/schema.js";
import { DeliveryError } from "../../src/domain/errors.js";
import type { Attachment, OutboundMessage, RenderedPart, Route, SentRef } from "../../src/domain/message.js";
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
import type { Self } from "./accounts.js";
import { BotApi, type Method } from "./api.js";
import { checkTelegram, privacyFinding } from "./check.js";
import { downloadFile } from "./download.js";
import { connectionError, deliveryError, saysBadRequest } from "./failures.js";
import { defaultTimings, type Intake, type Timings } from "./intake.js";
import { chatNumber, messageNumber, place, replyParameters, textFields } from "./outbound.js";
import { Polling } from "./polling.js";
import { render } from "./render.js";
import { Webhook } from "./webhook.js";
import type { Opts } from "telegraf/types";

export const capabilities: Capabilities = {
  maxPartLength: 4096,
  promptNotes:
    "You are on Telegram. Bold, italic, strikethrough, inline code, code blocks with a language, links, quotes and lists are shown; " +
    "headings become bold and tables become aligned code blocks, so prefer short lists to wide tables. " +
    "A message holds 4096 characters; longer answers are split.",
  resend: "blind",
  reactions: true,
  edits: true,
  buttons: true,
  files: true,
  followsThreads: false,
  previewMs: { dm: 1_000, group: 4_000, max: 5_000 },
  pace: { chatPerSecond: 1, groupPerMinute: 20, botPerSecond: 30 },
  signOfLifeMs: 5_000,
  commandForm: "/{command}",
};

const cloudRoot = "https://api.telegram.org";

/** Builds the adapter with the limits of real life. */
export const createTelegramAdapter: AdapterFactory<TelegramSettings> = (settings, deps) =>
  new TelegramAdapter({ settings, ...deps, timings: defaultTimings });

export interface TelegramAdapterDeps extends AdapterDeps {
  readonly settings: TelegramSettings;
  readonly timings: Timings;
}

export class TelegramAdapter implements PlatformAdapter {
  readonly platform = "telegram";
  readonly capabilities = capabilities;
  readonly #deps: TelegramAdapterDeps;
  readonly #api: BotApi;
  #intake: Intake | undefined;
  #starting: Promise<void> | undefined;
  #stopping = new AbortController();

  constructor(deps: TelegramAdapterDeps) {
    this.#deps = deps;
    this.#api = new BotApi({ token: deps.settings.token, apiRoot: deps.settings.apiRoot, clock: deps.clock });
  }

  start(io: AdapterIo): Promise<void> {
    if (this.#starting !== undefined) return this.#starting;
    const stopping = new AbortController();
    const starting = this.#connect(io, stopping.signal).catch((error: unknown) => {
      if (this.#starting === starting) this.#starting = this.#intake = undefined;
      throw connectionError(error);
    });
    this.#stopping = stopping;
    this.#starting = starting;
    return starting;
  }

  async stop(): Promise<void> {
    const intake = this.#intake;
    this.#stopping.abort();
    this.#starting = this.#intake = undefined;
    await intake?.stop();
    this.#api.close();
  }

  render(markdown: string): RenderedPart[] {
    return render(markdown);
  }

  async send(route: Route, message: OutboundMessage, { signal }: SendOptions): Promise<SentRef> {
    const reply = replyParameters(route);
    if (message.kind === "file") {
      const sent = await this.#deliver(
        "sendDocument",
        {
          ...place(route),
          document: { source: Buffer.from(message.content), filename: message.name },
          ...(message.caption === undefined ? {} : { caption: message.caption }),
          // In a multipart body telegraf drops nested objects that are no files.
          ...(reply === undefined ? {} : { reply_parameters: JSON.stringify(reply) as never }),
        },
        signal,
      );
      return sentRef(route, sent.message_id);
    }
    const sent = await this.#deliver(
      "sendMessage",
      {
        ...place(route),
        ...textFields(message),
        ...(message.silent === true ? { disable_notification: true } : {}),
        ...(reply === undefined ? {} : { reply_parameters: reply }),
      },
      signal,
    );
    return sentRef(route, sent.message_id);
  }

  async edit(sent: SentRef, message: OutboundMessage, signal: AbortSignal): Promise<void> {
    if (message.kind === "file") throw new DeliveryError("delivery.refused", "a message cannot become a file");
    const target = { chat_id: chatNumber(sent.chatId), message_id: messageNumber(sent.messageId) };
    await this.#unless(
      ["message is not modified"],
      "editMessageText",
      { ...target, ...textFields(message) } as Opts<"editMessageText">,
      signal,
    );
  }

  async remove(sent: SentRef, signal: AbortSignal): Promise<void> {
    const target = { chat_id: chatNumber(sent.chatId), message_id: messageNumber(sent.messageId) };
    await this.#unless(["message to delete not found"], "deleteMessage", target, signal);
  }

  async react(chatId: string, messageId: string, emoji: string | undefined, signal: AbortSignal): Promise<void> {
    const reaction = emoji === undefined ? [] : [{ type: "emoji" as const, emoji: emoji as never }];
    await this.#deliver("setMessageReaction", { chat_id: chatNumber(chatId), message_id: messageNumber(messageId), reaction }, signal);
  }

  async acknowledge(press: { readonly key: string; readonly route: Route }, text: string | undefined): Promise<void> {
    const callback_query_id = press.key.split(":").at(-1) ?? "";
    const answer = { callback_query_id, ...(text === undefined ? {} : { text: [...text].slice(0, 200).join("") }) };
    await this.#unless(["query is too old", "query_id_invalid"], "answerCallbackQuery", answer, undefined);
  }

  async signOfLife(route: Route, signal: AbortSignal): Promise<void> {
    await this.#deliver("sendChatAction", { ...place(route), action: "typing" }, signal);
  }

  /** Bots cannot look up what they sent. */
  findSent(): Promise<"unknown"> {
    return Promise.resolve("unknown");
  }

  download(file: Attachment, maxBytes: number, signal: AbortSignal): Promise<Download> {
    const { settings, timings } = this.#deps;
    const isCloud = new URL(settings.apiRoot).host === new URL(cloudRoot).host;
    return downloadFile({ api: this.#api, isCloud, requestMs: timings.requestMs }, file, maxBytes, signal);
  }

  /** The Bot API has no history call. */
  history(): Promise<HistoryMessage[]> {
    return Promise.resolve([]);
  }

  /** Telegram does not deliver messages of chats that nobody can write to; a lost right shows at the send. */
  writable(): Promise<boolean> {
    return Promise.resolve(true);
  }

  async setCommands(commands: readonly CommandMenuEntry[]): Promise<void> {
    const list = commands.map(({ name, description }) => ({ command: name, description: [...description].slice(0, 256).join("") }));
    await this.#deliver("setMyCommands", { commands: list }, undefined);
  }

  check(): Promise<Finding[]> {
    const { mode, webhookUrl } = this.#deps.settings;
    return checkTelegram({ api: this.#api, requestMs: this.#deps.timings.requestMs, mode, webhookUrl });
  }

  health(): AdapterHealth {
    if (this.#intake !== undefined) return this.#intake.health();
    return {
      state: this.#starting === undefined ? "stopped" : "starting",
      lastAliveAt: undefined,
      aliveWithinMs: this.#deps.timings.requestMs,
    };
  }

  async #connect(io: AdapterIo, signal: AbortSignal): Promise<void> {
    const { settings, clock, logger, timings } = this.#deps;
    const me = await this.#api.call("getMe", {}, { timeoutMs: timings.requestMs, signal });
    signal.throwIfAborted();
    const self: Self = { id: String(me.id), username: me.username };
    if (!me.can_read_all_group_messages) logger.warn({ remedy: privacyFinding.remedy }, privacyFinding.message);
    const deps = { api: this.#api, self, io, clock, logger, timings };
    const intake =
      settings.mode === "webhook"
        ? new Webhook({ ...deps, url: settings.webhookUrl, secret: settings.webhookSecret })
        : new Polling({ ...deps, pollTimeoutSeconds: settings.pollTimeoutSeconds });
    this.#intake = intake;
    await intake.start();
    logger.info({ bot: self.username, mode: settings.mode }, "connected");
  }

  async #deliver<M extends Method>(method: M, payload: Opts<M>, signal: AbortSignal | undefined) {
    try {
      return await this.#api.call(method, payload, {
        timeoutMs: this.#deps.timings.requestMs,
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      throw deliveryError(error);
    }
  }

  /** A call for which some refusals mean that there is nothing left to do. */
  async #unless<M extends Method>(done: readonly string[], method: M, payload: Opts<M>, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#api.call(method, payload, { timeoutMs: this.#deps.timings.requestMs, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      if (!saysBadRequest(error, ...done)) throw deliveryError(error);
    }
  }
}

function sentRef(route: Route, messageId: number): SentRef {
  return { chatId: route.chatId, messageId: String(messageId), ...(route.threadId === undefined ? {} : { threadId: route.threadId }) };
}
