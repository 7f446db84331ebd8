/** MCP tools over real servers, for tests: settings of the workshop's process, a context to run a call in, and the end of it all. */
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { checkedInput, runCall, type CallOutcome } from "../../src/agent/call.js";
import type { Tool, ToolContext } from "../../src/agent/tool.js";
import type { McpServerSettings } from "../../src/mcp/link.js";
import { createMcpTools, type McpTools } from "../../src/mcp/tools.js";
import { collectingLogger, systemClock, type CollectedLog } from "./runtime.js";

const main = fileURLToPath(new URL("mcp-stdio-main.ts", import.meta.url));
const loader = new URL("../../node_modules/tsx/dist/loader.mjs", import.meta.url).href;

/** Settings of the workshop as a child process; `options` are those of mcp-stdio-main.ts. */
export function workshopProcess(options: object = {}, settings: Partial<McpServerSettings> = {}): McpServerSettings {
  return {
    command: process.execPath,
    args: ["--import", loader, main, JSON.stringify(options)],
    env: {},
    headers: {},
    readOnly: [],
    timeoutMs: 20_000,
    ...settings,
  };
}

export function workshopAt(url: string, settings: Partial<McpServerSettings> = {}): McpServerSettings {
  return { url, args: [], env: {}, headers: {}, readOnly: [], timeoutMs: 20_000, ...settings };
}

export interface McpWorld {
  readonly mcp: McpTools;
  readonly log: CollectedLog;
  names(): string[];
  /** Checks and runs a call as the agent does, by the offered name. */
  call(name: string, args?: object, signal?: AbortSignal): Promise<CallOutcome>;
}

export function mcpWorld(servers: Readonly<Record<string, McpServerSettings>>, reserved: readonly string[] = []): McpWorld {
  const log = collectingLogger();
  const mcp = createMcpTools({ servers, clock: systemClock, logger: log, reserved });
  return {
    mcp,
    log,
    names: () => mcp.tools().map((tool) => tool.name),
    call: async (name, args = {}, signal = new AbortController().signal) => {
      const tool = mcp.tools().find((candidate) => candidate.name === name);
      if (tool === undefined)
        throw new RangeError(
          `no tool ${name} among ${mcp
            .tools()
            .map((one) => one.name)
            .join(", ")}`,
        );
      return callTool(tool, args, signal);
    },
  };
}

/** Starts and waits until all servers are connected. */
export async function started(world: McpWorld): Promise<void> {
  await world.mcp.start();
  await vi.waitFor(
    () => {
      const waiting = world.mcp.states().filter((one) => one.state !== "up");
      if (waiting.length > 0) throw new Error(`not connected: ${JSON.stringify(waiting)}`);
    },
    { timeout: 15_000, interval: 50 },
  );
}

export async function callTool(tool: Tool, args: object, signal: AbortSignal): Promise<CallOutcome> {
  const checked = await checkedInput(tool, JSON.stringify(args));
  if (!checked.ok) return { content: checked.error, failed: true, interrupted: false };
  const context: ToolContext = {
    session: { id: "s1", spaceId: "p1", spaceKind: "person", isPrivate: false },
    speaker: { platform: "terminal", accountId: "1", personId: "p1", displayName: "Ada", role: "operator" },
    turn: { id: "t1", claim: 1 },
    origin: "turn",
    said: [],
    untrusted: [],
    callId: "c1",
    signal,
  };
  return runCall(tool, checked.input, context, (text) => text);
}

/** True while a process with this id runs. */
export function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
