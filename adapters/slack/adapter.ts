/**
 * Slack: lifecycle, sending and the rest of the port, on @slack/bolt. Events are acknowledged only after the inbox has
 * them (late-ack.ts). The sign of life is a reaction: `react(chat, message, undefined)` takes it away again.
 */
import type { SlackSettings } from "../../config/schema.js";
import { AdapterError, DeliveryError, errorText } from "../../src/domain/errors.js";
import type { Attachment, ChatRef, OutboundMessage, RenderedPart, Route, SentRef } from "../../src/domain/message.js";
import type {
  AdapterDeps,
  AdapterFactory,
  AdapterHealth,
  AdapterIo,
  CommandMenuEntry,
  Download,
  Finding,
  HistoryMessage,
  PlatformAdapter,
  SendOptions,
} from "../../src/ports/platform-adapter.js";
import { SlackApi } from "./api.js";
import { isAuthCode, platformCode } from "./api-errors.js";
import { buildApp } from "./app.js";
import { loadBolt } from "./bolt.js";
import { capabilities } from "./capabilities.js";
import { checkSlack } from "./check.js";
import { usualCommands } from "./commands.js";
import { Directory } from "./directory.js";
import { fieldsOf, textOf } from "./fields.js";
import { openFile, type FileDeps } from "./file-in.js";
import { HttpLink } from "./http-link.js";
import { Intake } from "./intake.js";
import { findSent, readHistory } from "./lookup.js";
import { editMessage, isTs, removeMessage, sendMessage, type Outgoing } from "./messages.js";
import { responseArgs, responseUrlOf } from "./outbound.js";
import { platform, type Self } from "./place.js";
import { Reactions, signOfLifeEmoji } from "./reactions.js";
import { render } from "./render.js";
import { respond } from "./respond.js";
import { SocketLink } from "./socket-link.js";
import { usualTiming, type Timing } from "./timing.js";

/** The factory for the registry; `timing` is for tests. */
export const createSlackAdapter: AdapterFactory<SlackSettings> = (settings, deps) => new SlackAdapter(settings, deps, usualTiming);

interface Running {
  readonly io: AdapterIo;
  readonly self: Self;
  readonly link: SocketLink | HttpLink;
}

export class SlackAdapter implements PlatformAdapter {
  readonly platform = platform;
  readonly capabilities = capabilities;
  readonly #settings: SlackSettings;
  readonly #deps: AdapterDeps;
  readonly #timing: Timing;
  readonly #api: SlackApi;
  readonly #reactions: Reactions;
  readonly #directory: Directory;
  #commands: readonly string[] = usualCommands;
  #self: Self | undefined;
  #running: Running | undefined;
  #starting: Promise<void> | undefined;
  #reported = false;
  /** False once `stop` was called: a start that is still under way then gives up. */
  #wanted = false;

  constructor(settings: SlackSettings, deps: AdapterDeps, timing: Timing) {
    this.#settings = settings;
    this.#deps = deps;
    this.#timing = timing;
    this.#api = this.#apiWith(settings.botToken, (code) =>
      this.#fail(new AdapterError("adapter.auth", `Slack refuses slack.botToken: ${code}`)),
    );
    this.#reactions = new Reactions(this.#api);
    this.#directory = new Directory({ call: (method, args) => this.#api.call(method, args), clock: deps.clock, logger: deps.logger });
  }

  start(io: AdapterIo): Promise<void> {
    if (this.#running !== undefined) return Promise.resolve();
    this.#starting ??= this.#start(io).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(io: AdapterIo): Promise<void> {
    this.#reported = false;
    this.#wanted = true;
    const bolt = await loadBolt();
    const self = await this.#whoAmI();
    if (!this.#wanted) throw new AdapterError("adapter.lost", "stopped while starting");
    const { clock, logger } = this.#deps;
    const { namesMs } = this.#timing;
    const deliver: AdapterIo["deliver"] = (events) => io.deliver(events);
    const intake = new Intake({ self, directory: this.#directory, deliver, commands: () => this.#commands, clock, namesMs });
    const { botToken, apiUrl } = this.#settings;
    const app = buildApp({ bolt, botToken, apiUrl, self, logger, take: (body) => intake.take(body), onRemoved: () => this.#removed() });
    const common = { bolt, app, clock, logger };
    const link =
      this.#settings.mode === "http"
        ? new HttpLink({ ...common, signingSecret: setting("slack.signingSecret", this.#settings.signingSecret), http: io.http })
        : new SocketLink({
            ...common,
            appToken: setting("slack.appToken", this.#settings.appToken),
            apiUrl,
            timing: this.#timing,
            onFailed: (error) => this.#fail(error),
          });
    this.#running = { io, self, link };
    try {
      await link.start();
    } catch (error) {
      this.#running = undefined;
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#wanted = false;
    const running = this.#running;
    this.#running = undefined;
    await running?.link.stop();
  }

  async #whoAmI(): Promise<Self> {
    let answer;
    try {
      answer = await this.#api.call("auth.test", {});
    } catch (error) {
      const code = platformCode(error instanceof DeliveryError ? error.cause : error);
      if (isAuthCode(code)) throw new AdapterError("adapter.auth", `Slack refuses slack.botToken: ${code ?? ""}`, { cause: error });
      throw new AdapterError("adapter.lost", `Slack cannot be asked who the bot is: ${errorText(error)}`, { cause: error });
    }
    const userId = textOf(answer, "user_id");
    const teamId = textOf(answer, "team_id");
    if (userId === undefined || teamId === undefined)
      throw new AdapterError("adapter.setup", "slack.botToken belongs to no bot of a workspace");
    const botId = textOf(answer, "bot_id");
    const enterpriseId = textOf(answer, "enterprise_id");
    this.#self = { userId, teamId, ...(botId === undefined ? {} : { botId }), ...(enterpriseId === undefined ? {} : { enterpriseId }) };
    return this.#self;
  }

  #fail(error: AdapterError): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#running?.io.failed(error);
  }

  #removed(): void {
    this.#fail(new AdapterError("adapter.auth", "the app was removed from the workspace"));
  }

  #apiWith(token: string, onAuthLost: (code: string) => void): SlackApi {
    return new SlackApi({ token, apiUrl: this.#settings.apiUrl, timeoutMs: this.#timing.callMs, logger: this.#deps.logger, onAuthLost });
  }

  render(markdown: string): RenderedPart[] {
    return render(markdown);
  }

  send(route: Route, message: OutboundMessage, options: SendOptions): Promise<SentRef> {
    return sendMessage(this.#outgoing(), route, message, options);
  }

  edit(sent: SentRef, message: OutboundMessage, signal: AbortSignal): Promise<void> {
    return editMessage(this.#api, sent, message, signal);
  }

  remove(sent: SentRef, signal: AbortSignal): Promise<void> {
    return removeMessage(this.#api, sent, signal);
  }

  async react(chatId: string, messageId: string, emoji: string | undefined, signal: AbortSignal): Promise<void> {
    if (!isTs(messageId)) throw new DeliveryError("delivery.refused", "a command has no message to react to");
    await this.#reactions.set(chatId, messageId, emoji, signal);
  }

  /** The press itself was acknowledged when it was stored; a text goes to the person alone. */
  async acknowledge(press: { readonly key: string; readonly route: Route }, text: string | undefined): Promise<void> {
    const address = responseUrlOf(press.route, this.#settings.apiUrl, this.#deps.clock.now());
    if (text === undefined || address === undefined) return;
    await respond(address, responseArgs({ kind: "plain", text }), AbortSignal.timeout(this.#timing.callMs));
  }

  /** Puts 👀 on the message that the route answers. It stays until `react(chat, message, undefined)`. */
  async signOfLife(route: Route, signal: AbortSignal): Promise<void> {
    if (route.replyTo === undefined || !isTs(route.replyTo)) return;
    await this.#reactions.set(route.chatId, route.replyTo, signOfLifeEmoji, signal);
  }

  async findSent(route: Route, deliveryId: string, sentAfter: number): Promise<SentRef | "absent" | "unknown"> {
    return findSent(this.#api, await this.#known(), route, deliveryId, sentAfter);
  }

  download(ref: Attachment, maxBytes: number, signal: AbortSignal): Promise<Download> {
    return openFile(this.#fileDeps(), ref, maxBytes, signal);
  }

  async history(chat: ChatRef, threadId: string | undefined, before: string, limit: number): Promise<HistoryMessage[]> {
    const deps = { api: this.#api, self: await this.#known(), directory: this.#directory, namesMs: this.#timing.namesMs };
    return readHistory(deps, chat.id, threadId, before, limit);
  }

  /** False for an archived channel; when Slack cannot be asked, the send itself will tell. */
  async writable(chat: ChatRef, _threadId: string | undefined): Promise<boolean> {
    if (chat.kind === "dm") return true;
    try {
      const answer = await this.#api.call("conversations.info", { channel: chat.id });
      return fieldsOf(answer, "channel")["is_archived"] !== true;
    } catch (error) {
      this.#deps.logger.debug({ chatId: chat.id, error: errorText(error) }, "Slack did not say whether the channel is archived");
      return true;
    }
  }

  /** Slack has no call for the menu (the manifest holds `/mneme`); the names decide what `!name` in a thread means. */
  setCommands(commands: readonly CommandMenuEntry[]): Promise<void> {
    this.#commands = [...new Set([...usualCommands, ...commands.map((command) => command.name)])];
    return Promise.resolve();
  }

  check(): Promise<Finding[]> {
    const { mode, botToken, appToken, signingSecret } = this.#settings;
    const quiet = (): void => undefined; // the finding says it
    return checkSlack({
      api: this.#apiWith(botToken, quiet),
      appApi: appToken === undefined ? undefined : this.#apiWith(appToken, quiet),
      mode,
      hasSigningSecret: signingSecret !== undefined,
    });
  }

  health(): AdapterHealth {
    const aliveWithinMs = this.#timing.aliveMs * 2;
    const link = this.#running?.link;
    if (link === undefined) return { state: this.#starting === undefined ? "stopped" : "starting", lastAliveAt: undefined, aliveWithinMs };
    // Over HTTP nothing comes while nobody writes, so silence proves nothing.
    return { state: link.state, lastAliveAt: link instanceof SocketLink ? link.lastAliveAt : undefined, aliveWithinMs };
  }

  #outgoing(): Outgoing {
    return { api: this.#api, apiUrl: this.#settings.apiUrl, now: () => this.#deps.clock.now(), files: this.#fileDeps() };
  }

  async #known(): Promise<Self> {
    return this.#self ?? this.#whoAmI();
  }

  #fileDeps(): FileDeps {
    return { api: this.#api, fileHost: this.#settings.fileHost, clock: this.#deps.clock, idleMs: this.#timing.downloadIdleMs };
  }
}

function setting(name: string, value: string | undefined): string {
  if (value === undefined) throw new AdapterError("adapter.setup", `${name} is missing`);
  return value;
}
