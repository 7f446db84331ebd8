/**
 * How the emulated Slack brings events to an app: Socket Mode envelopes that are sent again until they are acknowledged,
 * or signed HTTP requests that are repeated until they get a 200. Commands and button presses are sent once, as Slack does.
 */
import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";

export type EnvelopeType = "events_api" | "slash_commands" | "interactive";

export interface Delivery {
  readonly type: EnvelopeType;
  readonly payload: Record<string, unknown>;
  /** `event_id`, `trigger_id`: equal in every attempt. */
  readonly id: string;
  attempts: number;
  acked: boolean;
  /** Milliseconds from the last attempt to its acknowledgement. */
  latencyMs?: number;
  ackPayload?: unknown;
  sentAt: number;
  envelopeId?: string;
  timer?: NodeJS.Timeout;
}

export interface SourceOptions {
  /** After this time without acknowledgement an event is sent again. Slack: 3 s. */
  readonly redeliverMs: number;
  readonly maxAttempts: number;
  readonly signingSecret: string;
  readonly changed: () => void;
}

export class EventSource {
  readonly deliveries: Delivery[] = [];
  /** Sockets that said hello and are open. */
  readonly sockets = new Set<WebSocket>();
  /** Connections opened so far, those without hello included. */
  connections = 0;
  /** What the next connections do instead of saying hello. */
  readonly openings: ("disconnect-before-hello" | "no-hello" | "cut" | "disconnect-after-hello")[] = [];
  httpUrl: string | undefined;
  /** Nothing is sent any more and pings stay unanswered, on the connections that are open now. */
  readonly #mute = new Set<WebSocket>();
  readonly #options: SourceOptions;
  readonly #server = new WebSocketServer({ noServer: true, autoPong: false });
  #envelopes = 0;
  #stopped = false;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  /** Takes over an upgrade request of the HTTP server. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => this.#connected(webSocket));
  }

  #connected(socket: WebSocket): void {
    this.connections += 1;
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.sockets.delete(socket);
      this.#mute.delete(socket);
      this.#options.changed();
    });
    socket.on("ping", (data) => {
      if (!this.#mute.has(socket)) socket.pong(data);
    });
    socket.on("message", (data) => this.#ack(data instanceof Buffer ? data.toString("utf8") : ""));
    const opening = this.openings.shift();
    if (opening === "disconnect-before-hello") {
      socket.send(JSON.stringify({ type: "disconnect", reason: "warning", debug_info: { host: "emulator" } }));
    } else if (opening === "cut") {
      socket.terminate();
    } else if (opening !== "no-hello") {
      socket.send(
        JSON.stringify({ type: "hello", num_connections: this.sockets.size + 1, connection_info: { app_id: "A0MNEME" }, debug_info: {} }),
      );
      this.sockets.add(socket);
      if (opening === "disconnect-after-hello") socket.send(JSON.stringify({ type: "disconnect", reason: "warning", debug_info: {} }));
      for (const delivery of this.deliveries) if (!delivery.acked && delivery.attempts === 0) this.#attempt(delivery);
    }
    this.#options.changed();
  }

  #ack(text: string): void {
    const body = JSON.parse(text) as { envelope_id?: unknown; payload?: unknown };
    const delivery = this.deliveries.find((item) => item.envelopeId === body.envelope_id);
    if (delivery === undefined) return;
    this.#acked(delivery, body.payload);
  }

  #acked(delivery: Delivery, payload: unknown): void {
    if (delivery.acked) return;
    delivery.acked = true;
    delivery.latencyMs = Date.now() - delivery.sentAt;
    delivery.ackPayload = payload;
    clearTimeout(delivery.timer);
    this.#options.changed();
  }

  /** Brings one payload to the app; waits for a connection when there is none. */
  send(type: EnvelopeType, id: string, payload: Record<string, unknown>): Delivery {
    const delivery: Delivery = { type, id, payload, attempts: 0, acked: false, sentAt: 0 };
    this.deliveries.push(delivery);
    this.#attempt(delivery);
    return delivery;
  }

  #attempt(delivery: Delivery): void {
    if (this.#stopped || delivery.acked) return;
    const retry = delivery.attempts;
    if (this.httpUrl !== undefined) {
      delivery.attempts += 1;
      delivery.sentAt = Date.now();
      void this.#post(delivery, retry, this.httpUrl);
      return;
    }
    const socket = [...this.sockets].filter((item) => !this.#mute.has(item)).at(-1);
    const muted = [...this.sockets].at(-1);
    if (socket === undefined && muted === undefined) {
      if (retry > 0) delivery.timer = setTimeout(() => this.#attempt(delivery), 20);
      return;
    }
    delivery.attempts += 1;
    delivery.sentAt = Date.now();
    this.#envelopes += 1;
    delivery.envelopeId = `env-${this.#envelopes}-${delivery.id}`;
    const envelope = {
      envelope_id: delivery.envelopeId,
      type: delivery.type,
      accepts_response_payload: delivery.type !== "events_api",
      payload: delivery.payload,
      ...(delivery.type === "events_api" ? { retry_attempt: retry, retry_reason: retry === 0 ? "" : "timeout" } : {}),
    };
    socket?.send(JSON.stringify(envelope));
    this.#again(delivery);
  }

  #again(delivery: Delivery): void {
    if (delivery.type !== "events_api" || delivery.attempts >= this.#options.maxAttempts) return;
    delivery.timer = setTimeout(() => this.#attempt(delivery), this.#options.redeliverMs);
  }

  async #post(delivery: Delivery, retry: number, url: string): Promise<void> {
    const form = delivery.type !== "events_api";
    const body = !form
      ? JSON.stringify(delivery.payload)
      : delivery.type === "interactive"
        ? new URLSearchParams({ payload: JSON.stringify(delivery.payload) }).toString()
        : new URLSearchParams(delivery.payload as Record<string, string>).toString();
    const headers: Record<string, string> = {
      ...signed(this.#options.signingSecret, body),
      "content-type": form ? "application/x-www-form-urlencoded" : "application/json",
      ...(retry === 0 ? {} : { "x-slack-retry-num": String(retry), "x-slack-retry-reason": "http_timeout" }),
    };
    let status = 0;
    let answer = "";
    try {
      const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(this.#options.redeliverMs) });
      status = response.status;
      answer = await response.text();
    } catch {
      status = 0; // no answer in time: repeated below, as Slack does
    }
    if (status >= 200 && status < 300) this.#acked(delivery, answer);
    else if (!this.#stopped && !form && delivery.attempts < this.#options.maxAttempts) {
      delivery.timer = setTimeout(() => this.#attempt(delivery), Math.min(100, this.#options.redeliverMs));
    }
    this.#options.changed();
  }

  /** Sends a raw frame to every open socket. */
  raw(frame: string): void {
    for (const socket of this.sockets) socket.send(frame);
  }

  /** Asks the app to connect again, as Slack does before it closes a connection. */
  disconnectMessage(reason: "warning" | "refresh_requested" | "link_disabled"): void {
    this.raw(JSON.stringify({ type: "disconnect", reason, debug_info: {} }));
  }

  /** Cuts all connections without a close frame. */
  cut(): void {
    for (const socket of this.#server.clients) socket.terminate();
  }

  /** The open connections stay open but send nothing and answer no ping. */
  silence(): void {
    for (const socket of this.sockets) this.#mute.add(socket);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const delivery of this.deliveries) clearTimeout(delivery.timer);
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** Headers of Slack's request signature, version 0. */
export function signed(secret: string, body: string, atSeconds: number = Math.floor(Date.now() / 1000)): Record<string, string> {
  const signature = createHmac("sha256", secret).update(`v0:${atSeconds}:${body}`).digest("hex");
  return { "x-slack-request-timestamp": String(atSeconds), "x-slack-signature": `v0=${signature}` };
}
