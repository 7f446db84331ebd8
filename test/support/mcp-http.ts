/** The workshop as an MCP server at an address (streamable HTTP): with sessions, which it forgets when it is started anew, and a bearer token. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { createWorkshop, type WorkshopOptions } from "./mcp-workshop.js";

export interface McpHttpServer {
  readonly url: string;
  readonly port: number;
  /** Sessions begun so far and not ended by their client. */
  readonly sessions: ReadonlySet<string>;
  /** The server forgets all sessions, as after a restart. */
  forget(): void;
  stop(): Promise<void>;
}

/** `token`: asked for in Authorization. `port`: 0 or absent: any free one. */
export async function startMcpHttp(
  options: WorkshopOptions & { readonly port?: number; readonly token?: string } = {},
): Promise<McpHttpServer> {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const sessions = new Set<string>();
  const handle = async (request: Request): Promise<Response> => {
    if (options.token !== undefined && request.headers.get("authorization") !== `Bearer ${options.token}`) {
      return new Response("who are you?", { status: 401 });
    }
    const session = request.headers.get("mcp-session-id");
    if (session !== null) return transports.get(session)?.handleRequest(request) ?? new Response("unknown session", { status: 404 });
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        transports.set(id, transport);
        sessions.add(id);
      },
      onsessionclosed: (id) => {
        transports.delete(id);
        sessions.delete(id);
      },
    });
    await createWorkshop(options).connect(transport);
    return transport.handleRequest(request);
  };
  const server = createServer((request, response) => void bridge(request, response, handle));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    sessions,
    forget: () => {
      transports.clear();
      sessions.clear();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The SDK speaks the web's Request and Response; node's server is carried over to them. */
async function bridge(from: IncomingMessage, to: ServerResponse, handle: (request: Request) => Promise<Response>): Promise<void> {
  const gone = new AbortController();
  to.on("close", () => gone.abort());
  const headers = Object.entries(from.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const body = from.method === "POST" ? await buffer(from) : undefined;
  const request = new Request(`http://${from.headers.host ?? "localhost"}${from.url ?? "/"}`, {
    method: from.method ?? "GET",
    headers,
    signal: gone.signal,
    ...(body === undefined ? {} : { body }),
  });
  const response = await handle(request);
  to.writeHead(response.status, Object.fromEntries(response.headers));
  to.flushHeaders();
  const reader = response.body?.getReader();
  to.on("close", () => void reader?.cancel());
  for (let piece = await reader?.read(); piece !== undefined && !piece.done; piece = await reader?.read()) to.write(piece.value);
  to.end();
}
