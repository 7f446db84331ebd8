/**
 * The one HTTP server: webhooks and health. It listens only when something is mounted, on the configured address;
 * what nobody mounted is 404.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Logger } from "../ports/runtime.js";
import { GatewayError, errorText } from "../domain/errors.js";

export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void;

export class HttpServer {
  readonly #host: string;
  readonly #port: number;
  readonly #logger: Logger;
  readonly #routes = new Map<string, HttpHandler>();
  #server: Server | undefined;
  #listening: Promise<void> | undefined;

  constructor(deps: { readonly host: string; readonly port: number; readonly logger: Logger }) {
    this.#host = deps.host;
    this.#port = deps.port;
    this.#logger = deps.logger;
  }

  /** Mounts a handler at an exact path and begins to listen. Rejects when the address cannot be used or the path is taken. */
  async mount(path: string, handler: HttpHandler): Promise<() => void> {
    if (this.#routes.has(path)) throw new GatewayError("internal", `two handlers for ${path}`);
    this.#routes.set(path, handler);
    this.#listening ??= this.#listen();
    try {
      await this.#listening;
    } catch (error) {
      this.#routes.delete(path);
      this.#listening = undefined;
      throw error;
    }
    return () => void this.#routes.delete(path);
  }

  /** The port in use; undefined while nothing listens. */
  get port(): number | undefined {
    const address = this.#server?.address();
    return typeof address === "object" && address !== null ? address.port : undefined;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    this.#server = undefined;
  }

  #listen(): Promise<void> {
    const server = createServer((request, response) => this.#handle(request, response));
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once("error", (error) =>
        reject(
          new GatewayError(
            "config.invalid",
            `http.host ${this.#host} and http.port ${this.#port} cannot be used: ${errorText(error)}. Set another http.port.`,
            { cause: error },
          ),
        ),
      );
      server.listen(this.#port, this.#host, () => {
        server.on("error", (error) => this.#logger.error({ error: errorText(error) }, "the HTTP server reports an error"));
        resolve();
      });
    });
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const handler = this.#routes.get(path);
    if (handler === undefined) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
      return;
    }
    try {
      handler(request, response);
    } catch (error) {
      this.#logger.error({ path, error: errorText(error) }, "an HTTP handler failed");
      if (!response.headersSent) response.writeHead(500).end();
    }
  }
}
