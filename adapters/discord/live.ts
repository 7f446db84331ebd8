/**
 * One start of the adapter: a connection and everything that lives as long as it does. Commands and buttons are
 * acknowledged to Discord before anything else happens to them: it waits three seconds and no longer.
 */
import type { Guild } from "discord.js";
import { type AdapterError, errorText } from "../../src/domain/errors.js";
import type { ChatChange, InboundEvent } from "../../src/domain/message.js";
import type { AdapterDeps, AdapterIo } from "../../src/ports/platform-adapter.js";
import { Api } from "./api.js";
import { catchUp } from "./catch-up.js";
import { Connection } from "./connection.js";
import { apiCode, codes, contentIntentRemedy, tokenRefused } from "./failures.js";
import { asFields, type Fields, textOf } from "./fields.js";
import { Guide } from "./guide.js";
import { editEvent, type InboundContext, keyOf, messageEvent, platform } from "./inbound.js";
import { Intake } from "./intake.js";
import { buttonEvent, commandEvent, interactionRef } from "./interactions.js";
import { cleanName, displayName } from "./names.js";
import type { Sdk } from "./sdk.js";
import { Sender } from "./sender.js";
import type { Timings } from "./timings.js";

export interface LiveSettings {
  readonly token: string;
  readonly apiUrl: string;
  readonly thread: "never" | "auto";
}

export interface LiveDeps extends AdapterDeps {
  readonly sdk: Sdk;
  readonly settings: LiveSettings;
  readonly timings: Timings;
  readonly io: AdapterIo;
}

interface Self {
  readonly userId: string;
  readonly applicationId: string;
}

export class Live {
  readonly connection: Connection;
  readonly api: Api;
  readonly guide: Guide;
  readonly #deps: LiveDeps;
  readonly #intake: Intake;
  readonly #stopping = new AbortController();
  #self: Self | undefined;
  #sender: Sender | undefined;
  #failed = false;
  #warned = false;
  #catchingUp: Promise<void> = Promise.resolve();

  constructor(deps: LiveDeps) {
    this.#deps = deps;
    this.#intake = new Intake({ deliver: (events) => deps.io.deliver(events), logger: deps.logger, clock: deps.clock });
    this.connection = new Connection({
      ...deps,
      deps,
      events: {
        dispatch: (type, data) => this.#dispatch(type, data),
        newSession: (self) => this.#newSession(self),
        fatal: (error) => this.#fail(error),
      },
    });
    this.api = new Api(deps.sdk, this.connection.client.rest);
    this.guide = new Guide({ client: this.connection.client, api: this.api });
    const { Events } = deps.sdk;
    this.connection.client.on(Events.GuildCreate, (guild) => this.#intake.accept(guild.id, () => this.#added(guild)));
    this.connection.client.on(Events.GuildDelete, (guild) => this.#intake.accept(guild.id, () => Promise.resolve(this.#removed(guild))));
  }

  /** Known from the first READY on. */
  get self(): Self | undefined {
    return this.#self;
  }

  get sender(): Sender | undefined {
    return this.#sender;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.connection.close(), this.#intake.close(this.#deps.timings.closeMs)]);
  }

  #newSession(self: Self): void {
    const { clock, logger, io, timings } = this.#deps;
    this.#self = self;
    this.#sender ??= new Sender({
      api: this.api,
      botId: self.userId,
      clock,
      logger,
      unauthorized: (cause) => this.#fail(tokenRefused(cause)),
    });
    const deps = {
      api: this.api,
      io,
      intake: this.#intake,
      clock,
      logger,
      limitMs: timings.catchUpMs,
      normalise: (message: Fields) => this.#message(message),
    };
    this.#catchingUp = this.#catchingUp.then(() => catchUp(deps, this.#stopping.signal));
  }

  #fail(error: AdapterError): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#deps.io.failed(error);
  }

  #dispatch(type: string, data: unknown): void {
    const fields = asFields(data);
    const channelId = fields === undefined ? undefined : textOf(fields, "channel_id");
    if (fields === undefined || channelId === undefined) return;
    if (type === "MESSAGE_CREATE") this.#intake.accept(channelId, () => this.#message(fields));
    else if (type === "MESSAGE_UPDATE") this.#intake.accept(channelId, () => this.#edit(fields));
    else if (type === "INTERACTION_CREATE") this.#interaction(channelId, fields);
  }

  async #message(message: Fields): Promise<InboundEvent | undefined> {
    const context = await this.#context(message);
    const event = context === undefined ? undefined : messageEvent(message, context);
    if (event?.ignore === "unreadable" && event.chat.containerId !== undefined && !this.#warned) {
      this.#warned = true;
      this.#deps.logger.warn(
        { chatId: event.chat.id },
        `Discord sends messages without their text: the Message Content Intent is off. ${contentIntentRemedy}`,
      );
    }
    return event;
  }

  async #edit(message: Fields): Promise<InboundEvent | undefined> {
    // Most updates are link previews; those need no look-up of the place.
    if (textOf(message, "edited_timestamp") === undefined) return undefined;
    const context = await this.#context(message);
    return context === undefined ? undefined : editEvent(message, context);
  }

  #interaction(channelId: string, interaction: Fields): void {
    const ref = interactionRef(interaction);
    if (ref === undefined) return;
    const acknowledged = this.#acknowledge(ref);
    this.#intake.accept(channelId, async () => {
      await acknowledged;
      const context = await this.#context(interaction);
      if (context === undefined) return undefined;
      return ref.type === "command" ? commandEvent(interaction, context) : buttonEvent(interaction, context);
    });
  }

  async #acknowledge(ref: NonNullable<ReturnType<typeof interactionRef>>): Promise<void> {
    if (ref.type === "command") this.#sender?.replies.deferred(ref);
    try {
      await this.api.acknowledge(ref, ref.type === "command" ? 5 : 6);
    } catch (error) {
      // Too late or lost: the act itself counts; the answer goes out as a normal message then.
      const code = apiCode(this.#deps.sdk, error);
      if (code !== codes.alreadyAcknowledged)
        this.#deps.logger.warn({ error: errorText(error), code }, "an interaction could not be acknowledged");
    }
  }

  async #context(event: Fields): Promise<InboundContext | undefined> {
    const channelId = textOf(event, "channel_id");
    if (this.#self === undefined || channelId === undefined) return undefined;
    const place = await this.guide.place(channelId, event);
    return { botId: this.#self.userId, place, names: this.guide, startThreads: this.#deps.settings.thread === "auto" };
  }

  /** Who added the bot stands in the server's audit log, if we may read it; nobody is guessed. */
  async #added(guild: Guild): Promise<ChatChange | undefined> {
    if (this.#self === undefined) return undefined;
    const { userId } = this.#self;
    let account: ChatChange["account"] = { id: "unknown", displayName: "unknown", isBot: false };
    try {
      const entry = (await this.api.botAdditions(guild.id)).find((addition) => addition.botId === userId);
      if (entry?.by !== undefined) account = { id: entry.by, displayName: displayName(entry.user, {}), isBot: entry.user["bot"] === true };
    } catch (error) {
      this.#deps.logger.info(
        { guildId: guild.id, code: apiCode(this.#deps.sdk, error) },
        "added to a server; the audit log does not say by whom",
      );
    }
    return this.#change(guild, { type: "bot-added" }, account, `added:${guild.id}:${guild.joinedTimestamp}`);
  }

  #removed(guild: Guild): ChatChange | undefined {
    const account = { id: "unknown", displayName: "unknown", isBot: false };
    return this.#change(guild, { type: "bot-removed" }, account, `removed:${guild.id}:${this.#deps.clock.now()}`);
  }

  #change(guild: Guild, change: ChatChange["change"], account: ChatChange["account"], key: string): ChatChange | undefined {
    if (this.#self === undefined) return undefined;
    const botId = this.#self.userId;
    return {
      kind: "chat",
      platform,
      botId,
      key: keyOf(botId, "chat", key),
      account,
      chat: { id: guild.id, kind: "group", containerId: guild.id, title: cleanName(guild.name, guild.id) },
      at: this.#deps.clock.now(),
      change,
    };
  }
}
