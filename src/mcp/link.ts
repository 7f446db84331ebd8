/**
 * One connection to an MCP server through the official client, loaded only here and only when a server is configured. It knows nothing of
 * reconnecting. A server's process is ours to end: `close` resolves when it has ended or was killed.
 */
/* oxlint-disable unicorn/prefer-add-event-listener -- the library's hooks are properties, not events */
import type { Client, Tool as ServerTool, Transport } from "@modelcontextprotocol/client";
import { errorText } from "../domain/errors.js";
import type { Clock, Logger } from "../ports/runtime.js";

/** One server's settings: a program to start (`command`) or an address (`url`), one of the two. */
export interface McpServerSettings {
  readonly command?: string | undefined;
  readonly args: readonly string[];
  /** Passed beside the short list of harmless variables that the client library picks; nothing else is. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The server's own names of the tools to offer; undefined: all. */
  readonly allow?: readonly string[] | undefined;
  readonly readOnly: readonly string[];
  /** Limit of one call, in milliseconds. */
  readonly timeoutMs: number;
}

export interface LinkOptions {
  readonly name: string;
  readonly settings: McpServerSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Limit of the handshake and of listing the tools, in milliseconds each. */
  readonly connectTimeoutMs: number;
  /** Ends an attempt that is under way. */
  readonly signal: AbortSignal;
  /** The connection that was returned is gone, by whichever side. */
  readonly onClose: () => void;
  /** The server says that its tools are others now. */
  readonly onTools: (tools: readonly ServerTool[]) => void;
  /** The transport met trouble that need not be the end of the connection. */
  readonly onTrouble: () => void;
}

export interface Link {
  readonly client: Client;
  readonly tools: readonly ServerTool[];
  readonly isOpen: () => boolean;
  readonly close: () => Promise<void>;
}

/** Only with this code is the newer protocol tried: on a program it costs a second start of it. */
const versionRefused = -32_022;
/** A killed process may leave its pipes to a child of its own; then nobody waits longer than this. */
const endWaitMs = 1000;

/** Connects and lists the tools. Rejects with what the library threw; nothing is left running then. */
export async function openLink(options: LinkOptions): Promise<Link> {
  try {
    return await attempt(options, "legacy");
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== versionRefused || options.signal.aborted) throw error;
    return attempt(options, "auto");
  }
}

async function attempt(options: LinkOptions, mode: "legacy" | "auto"): Promise<Link> {
  const { clock, logger, signal, connectTimeoutMs: timeout } = options;
  const { Client } = await import("@modelcontextprotocol/client");
  const { transport, ended } = await transportFor(options);
  const client = new Client(
    { name: "mneme", version: "1" },
    {
      capabilities: {},
      versionNegotiation: { mode },
      listChanged: {
        tools: {
          onChanged: (error, tools) => {
            if (error === null && tools !== null) options.onTools(tools);
            else logger.warn({ error: errorText(error) }, "an MCP server changed its tools but does not list them; the old list stays");
          },
        },
      },
    },
  );
  client.onerror = (error) => {
    logger.debug({ error: errorText(error) }, "trouble with an MCP server's connection");
    options.onTrouble();
  };
  const close = async (): Promise<void> => {
    await endSession(transport, clock, logger);
    await client.close();
    await ended();
  };
  let isOpen = true;
  client.onclose = () => {
    isOpen = false;
  };
  try {
    await client.connect(transport, { timeout, signal });
    const { tools } = await client.listTools(undefined, { timeout, signal });
    client.onclose = () => {
      isOpen = false;
      options.onClose();
    };
    return { client, tools, isOpen: () => isOpen, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Carrier {
  readonly transport: Transport;
  /** Resolves when the server's process is gone; at once for a server at an address. */
  readonly ended: () => Promise<void>;
}

async function transportFor(options: LinkOptions): Promise<Carrier> {
  const { settings, clock, logger } = options;
  if (settings.url !== undefined) {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const transport = new StreamableHTTPClientTransport(new URL(settings.url), { requestInit: { headers: { ...settings.headers } } });
    return { transport, ended: () => Promise.resolve() };
  }
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const transport = new StdioClientTransport({
    command: settings.command ?? "",
    args: [...settings.args],
    env: { ...settings.env },
    ...(settings.cwd === undefined ? {} : { cwd: settings.cwd }),
    stderr: "pipe",
  });
  transport.stderr?.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString("utf8").split("\n"))
      if (line.trim() !== "") logger.debug({ line: line.slice(0, 500) }, "an MCP server says");
  });
  let wasStarted = false;
  const gone = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  const start = transport.start.bind(transport);
  transport.start = async () => {
    await start();
    wasStarted = true;
  };
  return { transport, ended: () => (wasStarted ? Promise.race([gone, pause(clock, endWaitMs)]) : Promise.resolve()) };
}

/** A server at an address is told that the session is over; whether it listens does not matter. */
async function endSession(transport: Transport, clock: Clock, logger: Logger): Promise<void> {
  if (!("terminateSession" in transport) || typeof transport.terminateSession !== "function") return;
  const told = (transport as { terminateSession(): Promise<void> }).terminateSession().catch((error: unknown) => {
    logger.debug({ error: errorText(error) }, "an MCP server was not told that we leave");
  });
  await Promise.race([told, pause(clock, endWaitMs)]);
}

export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
