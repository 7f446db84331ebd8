/**
 * Events over HTTP: the library checks the signature and the age of each request; the 200 is held back until the event
 * is stored, and anything else makes Slack repeat it.
 */
import type { App } from "@slack/bolt";
import { errorText } from "../../src/domain/errors.js";
import type { AdapterIo } from "../../src/ports/platform-adapter.js";
import type { Clock, Logger } from "../../src/ports/runtime.js";
import { boltLogger, type BoltModule } from "./bolt.js";
import { lateAck } from "./late-ack.js";

/** Request address to enter at Slack for events, commands and interactivity. */
export const eventsPath = "/slack/events";

export interface HttpLinkDeps {
  readonly bolt: BoltModule;
  readonly app: App;
  readonly signingSecret: string;
  readonly http: AdapterIo["http"];
  readonly clock: Clock;
  readonly logger: Logger;
}

export class HttpLink {
  state: "stopped" | "connected" = "stopped";
  lastAliveAt: number | undefined;
  readonly #deps: HttpLinkDeps;
  #unmount: () => void = () => undefined;

  constructor(deps: HttpLinkDeps) {
    this.#deps = deps;
  }

  /** Mounts the receiver. There is no connection to wait for. */
  async start(): Promise<void> {
    const { bolt, app, signingSecret, http, clock, logger } = this.#deps;
    const receiver = new bolt.HTTPReceiver({
      signingSecret,
      endpoints: [eventsPath],
      processBeforeResponse: true,
      logger: boltLogger(bolt, logger),
      bodyLimit: "2mb",
      processEventErrorHandler: ({ error, response }) => {
        logger.warn({ error: errorText(error) }, "an event was not stored; Slack sends it again");
        if (!response.headersSent) response.writeHead(500).end();
        return Promise.resolve(false);
      },
    });
    receiver.init(lateAck(app));
    this.#unmount = await http.mount(eventsPath, (request, response) => {
      this.lastAliveAt = clock.now();
      if (request.method !== "POST") {
        response.writeHead(405, { allow: "POST" }).end();
        return;
      }
      receiver.requestListener(request, response);
    });
    this.state = "connected";
    this.lastAliveAt = clock.now();
  }

  stop(): Promise<void> {
    this.state = "stopped";
    this.#unmount();
    this.#unmount = () => undefined;
    return Promise.resolve();
  }
}
