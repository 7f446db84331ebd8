/** A JSON server on 127.0.0.1 that records every request and refuses what its routes do not know. Tests make it hang, fail or talk nonsense. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface Recorded {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
  readonly authorization: string | undefined;
}

export type Trouble =
  | { readonly kind: "hang" }
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "garbage"; readonly text: string }
  /** Does the work and then cuts the connection: nobody knows whether it arrived. */
  | { readonly kind: "cut" };

/** `METHOD /path/with/:name` → the answer's body, or a status with a body. */
export type Routes = { readonly [route: string]: (request: Recorded, names: Readonly<Record<string, string>>) => unknown };

export class Answer {
  readonly status: number;
  readonly body: unknown;
  constructor(status: number, body: unknown = {}) {
    this.status = status;
    this.body = body;
  }
}

export interface RecordingServer {
  readonly url: string;
  readonly port: number;
  readonly requests: Recorded[];
  /** Requests that no route knew. A test of a whole story expects none. */
  readonly unknown: string[];
  /** What is wrong with the service; applies to requests that `only` matches (`METHOD /path`), all by default. */
  trouble: (Trouble & { readonly only?: RegExp }) | undefined;
  /** `METHOD /path` of each request. */
  lines(): string[];
  stop(): Promise<void>;
}

export async function startRecordingServer(routes: Routes, port = 0): Promise<RecordingServer> {
  const requests: Recorded[] = [];
  const unknown: string[] = [];
  const compiled = Object.entries(routes).map(([route, answer]) => ({ ...compile(route), answer }));
  const server = createServer((request, response) => {
    void handle(request, response);
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recorded = await read(request);
    requests.push(recorded);
    const line = `${recorded.method} ${recorded.path}`;
    const trouble = running.trouble?.only?.test(line) === false ? undefined : running.trouble;
    if (trouble?.kind === "hang") return;
    if (trouble?.kind === "status") return send(response, trouble.status, { detail: "trouble" });
    if (trouble?.kind === "garbage") {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(trouble.text);
      return;
    }
    const found = compiled.find(({ pattern }) => pattern.test(line));
    if (found === undefined) {
      unknown.push(line);
      return send(response, 404, { detail: `no route for ${line}` });
    }
    const names = found.pattern.exec(line)?.groups ?? {};
    const answer = found.answer(recorded, names);
    if (trouble?.kind === "cut") {
      response.destroy();
      return;
    }
    if (answer instanceof Answer) return send(response, answer.status, answer.body);
    send(response, 200, answer);
  }

  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const address = server.address() as AddressInfo;
  const running: RecordingServer = {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    unknown,
    trouble: undefined,
    lines: () => requests.map(({ method, path }) => `${method} ${path}`),
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  onTestFinished(() => running.stop());
  return running;
}

function compile(route: string): { readonly pattern: RegExp } {
  return { pattern: new RegExp(`^${route.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)")}$`, "u") };
}

async function read(request: IncomingMessage): Promise<Recorded> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const raw = Buffer.concat(chunks).toString("utf8");
  const url = new URL(request.url ?? "/", "http://x");
  const body = raw === "" ? {} : (JSON.parse(raw) as Record<string, unknown>);
  return { method: request.method ?? "", path: url.pathname, query: url.searchParams, body, authorization: request.headers.authorization };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (status === 204) {
    response.writeHead(204);
    response.end();
    return;
  }
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
