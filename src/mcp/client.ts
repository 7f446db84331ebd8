/**
 * One MCP server over time: connects in the background, is called, is lost, comes back. A call while the server is down makes one quick attempt
 * of its own and then fails with words for the model. Nothing here ever rejects because a server is down but `call`.
 */
import type { CallToolResult, Tool as ServerTool } from "@modelcontextprotocol/client";
import { errorText } from "../domain/errors.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { callError, downError, endsConnection, failureKind, networkCode } from "./failure.js";
import { openLink, pause, type Link, type McpServerSettings } from "./link.js";

export type McpState = "connecting" | "up" | "down" | "stopped";

export interface McpServerDeps {
  readonly name: string;
  readonly settings: McpServerSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The tools that the server lists now: at each connection and whenever it says they changed. */
  readonly onTools: (tools: readonly ServerTool[]) => void;
}

/** A program may be fetched at its first start, so connecting is given time; nobody waits for it. */
const connectTimeoutMs = 30_000;
/** How long a call waits for a server that is just coming (back). */
const callWaitMs = 2000;
/** After a failed attempt, calls cause no other for so long. */
const attemptGapMs = 1000;
const firstRetryMs = 500;
const lastRetryMs = 60_000;
/** A connection that lasted this long was a good one: the pauses begin anew. */
const steadyMs = 30_000;
const pingTimeoutMs = 5000;

export class McpServer {
  readonly #deps: McpServerDeps;
  readonly #ending = new AbortController();
  #link: Link | undefined;
  #attempt: Promise<void> | undefined;
  #closing = new Set<Promise<void>>();
  #cancelRetry: () => void = () => undefined;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #upSince = 0;
  #isChecking = false;
  #error: string | undefined;

  constructor(deps: McpServerDeps) {
    this.#deps = deps;
  }

  get state(): McpState {
    if (this.#ending.signal.aborted) return "stopped";
    if (this.#link !== undefined) return "up";
    return this.#attempt === undefined ? "down" : "connecting";
  }

  /** What the last attempt or loss said; undefined while all is well. */
  get error(): string | undefined {
    return this.#error;
  }

  /** One attempt; those that follow a failure come by themselves. Resolves when it ended, either way. Never rejects. */
  connect(): Promise<void> {
    if (this.#ending.signal.aborted || this.#link !== undefined) return Promise.resolve();
    this.#cancelRetry();
    this.#attempt ??= this.#open().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  /** Runs a tool by its own name. Rejects with McpCallError, or with the reason of `signal`. */
  async call(tool: string, args: Readonly<Record<string, unknown>>, effect: "read" | "once", signal: AbortSignal): Promise<CallToolResult> {
    const { name, settings } = this.#deps;
    for (let isRepeat = false; ; isRepeat = true) {
      const link = await this.#linkSoon();
      signal.throwIfAborted();
      if (link === undefined) throw downError(name, this.#error);
      try {
        const result = await link.client.callTool({ name: tool, arguments: { ...args } }, { timeout: settings.timeoutMs, signal });
        this.#failures = 0;
        return result;
      } catch (error) {
        signal.throwIfAborted();
        const kind = failureKind(error);
        if (endsConnection(kind)) this.#lose(link, error);
        if (kind !== "session-gone" || isRepeat) throw callError(error, { server: name, tool, effect, timeoutMs: settings.timeoutMs });
      }
    }
  }

  /** Ends the connection, the attempts and the server's process. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#cancelRetry();
    await this.#attempt;
    if (this.#link !== undefined) this.#release(this.#link);
    this.#link = undefined;
    await Promise.all(this.#closing);
  }

  async #open(): Promise<void> {
    const { name, settings, clock, logger } = this.#deps;
    const startedAt = clock.now();
    let link: Link | undefined;
    try {
      link = await openLink({
        name,
        settings,
        clock,
        logger,
        connectTimeoutMs,
        signal: this.#ending.signal,
        onClose: () => {
          if (link !== undefined) this.#lose(link, undefined);
        },
        onTools: (tools) => this.#deps.onTools(tools),
        onTrouble: () => {
          if (link !== undefined && settings.url !== undefined) void this.#check(link);
        },
      });
    } catch (error) {
      return this.#failed(error);
    }
    if (this.#ending.signal.aborted) return this.#release(link);
    if (!link.isOpen()) return this.#failed(new Error("it ended right after it was connected"));
    this.#link = link;
    this.#upSince = clock.now();
    this.#error = undefined;
    logger.info({ tools: link.tools.length, ms: clock.now() - startedAt }, "an MCP server is connected");
    this.#deps.onTools(link.tools);
  }

  #failed(error: unknown): void {
    if (this.#ending.signal.aborted) return;
    const isNew = this.#error === undefined || this.#failures === 0;
    this.#error = reasonOf(error);
    this.#failedAt = this.#deps.clock.now();
    const retryMs = this.#retryLater();
    const fields = { error: errorText(error), code: networkCode(error), retryMs };
    if (isNew) this.#deps.logger.warn(fields, "an MCP server cannot be reached; its tools answer with an error until it can");
    else this.#deps.logger.debug(fields, "an MCP server still cannot be reached");
  }

  /** Schedules the next attempt; the pauses double. */
  #retryLater(): number {
    const retryMs = Math.min(firstRetryMs * 2 ** Math.min(this.#failures, 10), lastRetryMs);
    this.#failures += 1;
    this.#cancelRetry();
    this.#cancelRetry = this.#deps.clock.after(retryMs, () => void this.connect());
    return retryMs;
  }

  /** The connection is gone, or of no more use: another is made. Does nothing for one that was given up already. */
  #lose(link: Link, error: unknown): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#release(link);
    if (this.#ending.signal.aborted) return;
    if (this.#deps.clock.now() - this.#upSince >= steadyMs) this.#failures = 0;
    this.#error = error === undefined ? "the connection was closed" : reasonOf(error);
    const retryMs = this.#retryLater();
    this.#deps.logger.warn({ reason: this.#error, retryMs }, "the connection to an MCP server is lost; it is built again");
  }

  #release(link: Link): void {
    const closing = link.close().catch((error: unknown) => {
      this.#deps.logger.warn({ error: errorText(error) }, "the connection to an MCP server did not close properly");
    });
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }

  /** A server at an address goes away without a word; after trouble it is asked whether it is still there. */
  async #check(link: Link): Promise<void> {
    if (this.#isChecking || this.#link !== link) return;
    this.#isChecking = true;
    try {
      await link.client.ping({ timeout: pingTimeoutMs, signal: this.#ending.signal });
    } catch (error) {
      if (endsConnection(failureKind(error)) || failureKind(error) === "timeout") this.#lose(link, error);
    } finally {
      this.#isChecking = false;
    }
  }

  /** The connection, waiting a moment for one that is being made or can be made now. */
  async #linkSoon(): Promise<Link | undefined> {
    const { clock } = this.#deps;
    if (this.#link !== undefined || this.#ending.signal.aborted) return this.#link;
    if (this.#attempt === undefined && clock.now() - this.#failedAt < attemptGapMs) return undefined;
    await Promise.race([this.connect(), pause(clock, callWaitMs)]);
    return this.#link;
  }
}

/** Short: it is shown to the model and in the status. */
function reasonOf(error: unknown): string {
  const kind = failureKind(error);
  const code = networkCode(error);
  if (code === "ENOENT") return "the program (or its folder) does not exist";
  if (code === "EACCES") return "the program may not be run";
  if (kind === "timeout") return "no answer";
  if (kind === "auth") return "the credentials were refused";
  if (kind === "lost") return "it ended or broke the connection";
  return code ?? errorText(error).slice(0, 120);
}
