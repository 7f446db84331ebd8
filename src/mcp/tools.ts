/**
 * Tools of MCP servers as tools of the agent. Everything a server says of itself is foreign: its schemas pass through unchanged, but a tool whose
 * text fails the security scan is held back unless the settings name it. A tool once known stays offered while its server is down.
 */
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import type { Tool, ToolContext } from "../agent/tool.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { stripFences } from "../safety/fence.js";
import { scan } from "../safety/scan.js";
import { argumentCheck } from "./arguments.js";
import { McpServer, type McpState } from "./client.js";
import { McpCallError } from "./failure.js";
import { pause, type McpServerSettings } from "./link.js";
import { offeredNames } from "./names.js";
import { fenced, resultText } from "./result.js";

export interface McpToolsDeps {
  /** `mcp.servers` of the settings; names as the settings allow them (small letters, digits, hyphens). */
  readonly servers: Readonly<Record<string, McpServerSettings>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names of the program's own tools; no foreign tool gets one of them. */
  readonly reserved: readonly string[];
}

export interface McpServerStatus {
  readonly name: string;
  readonly state: McpState;
  /** How many tools of it are offered. */
  readonly tools: number;
  /** What the last attempt or loss said. */
  readonly error?: string;
}

export interface McpTools {
  /** The tools to offer now, always in the same order for the same tools: servers as in the settings, tools by name. */
  tools(): readonly Tool[];
  /** Connects to all servers at once. Resolves when each was tried, after two seconds at the latest; what is slower goes on behind. Never rejects. */
  start(): Promise<void>;
  /** Ends all connections and server processes; resolves when they are gone. */
  stop(): Promise<void>;
  states(): readonly McpServerStatus[];
  /** True for each name that was ever offered here. Such a tool is for operators only; the caller sees to that when a call runs. */
  isMcpTool(name: string): boolean;
}

/** The start waits so long for servers. */
const startWaitMs = 2000;
/** Of one server; more is a list nobody meant to send with every request. */
const maxTools = 100;
const maxDescription = 2000;
/** Of one schema, as JSON. */
const maxSchema = 20_000;

/** Connects to nothing before `start`; the client library is not even loaded when no server is configured. */
export function createMcpTools(deps: McpToolsDeps): McpTools {
  const { clock } = deps;
  const reserved = new Set(deps.reserved);
  const known = new Set<string>();
  const offers = Object.entries(deps.servers).map(([name, settings]) => {
    const offer: Offer = { name, settings, tools: [], logger: deps.logger.child({ mcpServer: name }) };
    const server = new McpServer({
      name,
      settings,
      clock,
      logger: offer.logger,
      onTools: (listed) => {
        offer.tools = toolsOf(offer, server, listed, reserved);
        for (const tool of offer.tools) known.add(tool.name);
      },
    });
    return { offer, server };
  });
  return {
    tools: () => offers.flatMap(({ offer }) => offer.tools),
    start: async () => {
      if (offers.length === 0) return;
      await Promise.race([Promise.all(offers.map(({ server }) => server.connect())), pause(clock, startWaitMs)]);
    },
    stop: async () => {
      await Promise.all(offers.map(({ server }) => server.stop()));
    },
    states: () =>
      offers.map(({ offer, server }) => ({
        name: offer.name,
        state: server.state,
        tools: offer.tools.length,
        ...(server.error === undefined ? {} : { error: server.error }),
      })),
    isMcpTool: (name) => known.has(name),
  };
}

interface Offer {
  readonly name: string;
  readonly settings: McpServerSettings;
  readonly logger: Logger;
  tools: readonly Tool[];
}

function toolsOf(offer: Offer, server: McpServer, listed: readonly ServerTool[], reserved: ReadonlySet<string>): readonly Tool[] {
  const { settings, logger } = offer;
  const byName = new Map<string, ServerTool>();
  for (const tool of listed) if (!byName.has(tool.name)) byName.set(tool.name, tool);
  const missing = [...(settings.allow ?? []), ...settings.readOnly].filter((name) => !byName.has(name));
  if (missing.length > 0) logger.warn({ missing }, "the settings name tools that this MCP server does not have");
  const names = offeredNames(offer.name, [...byName.keys()], reserved);
  const wanted = [...byName.values()].filter((tool) => settings.allow?.includes(tool.name) ?? true).filter((tool) => isFit(tool, offer));
  if (wanted.length > maxTools) logger.warn({ tools: wanted.length, offered: maxTools }, "too many tools; name those to offer in allow");
  return wanted
    .map((tool) => ({ tool, name: names.get(tool.name) ?? "" }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, maxTools)
    .map(({ tool, name }) => asTool(name, tool, offer, server));
}

/** A tool described with what reads as an attack, or at excessive length, is held back; the former is offered all the same when `allow` names it. */
function isFit(tool: ServerTool, { settings, logger }: Offer): boolean {
  const schema = JSON.stringify(tool.inputSchema);
  if (schema.length > maxSchema) {
    logger.warn({ tool: tool.name, characters: schema.length, limit: maxSchema }, "an MCP tool is not offered: its schema is too large");
    return false;
  }
  const verdict = scan(`${tool.description ?? ""}\n${schema}`, "context");
  if (verdict.ok) return true;
  const isNamed = settings.allow?.includes(tool.name) ?? false;
  logger.warn(
    { tool: tool.name, reason: verdict.reason },
    isNamed
      ? "the description of an MCP tool fails the security scan; it is offered because allow names it"
      : "an MCP tool is not offered: its description fails the security scan (name it in allow to offer it all the same)",
  );
  return isNamed;
}

function asTool(name: string, listed: ServerTool, offer: Offer, server: McpServer): Tool {
  const isReadOnly = offer.settings.readOnly.includes(listed.name) || listed.annotations?.readOnlyHint === true;
  const effect = isReadOnly ? "read" : "once";
  const from = { server: offer.name, tool: listed.name };
  return {
    name,
    description: stripFences(listed.description ?? listed.title ?? listed.annotations?.title ?? "")
      .slice(0, maxDescription)
      .replace(/[\ud800-\udbff]$/, ""),
    input: argumentCheck(listed.inputSchema, offer.logger),
    schema: listed.inputSchema,
    effect,
    run: async (input: unknown, context: ToolContext) => {
      const result = await server.call(listed.name, input as Record<string, unknown>, effect, context.signal);
      const text = fenced(resultText(result), from);
      if (result.isError === true) throw new McpCallError("refused", `The tool reports an error:\n${text}`);
      return text;
    },
  };
}
