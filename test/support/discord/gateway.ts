/**
 * Gateway v10 of the emulator: HELLO, IDENTIFY with intent checks, READY, heartbeats, RESUME with replay, op 7 and op 9.
 * A session outlives its socket, as on Discord: what happens while nobody is connected is replayed on RESUME and lost otherwise.
 */
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { snowflake, type World } from "./world.js";

const intentBits = {
  guilds: 1 << 0,
  members: 1 << 1,
  presences: 1 << 8,
  guildMessages: 1 << 9,
  directMessages: 1 << 12,
  messageContent: 1 << 15,
};
const knownIntents = (1 << 26) - 1;

export interface Session {
  readonly id: string;
  readonly intents: number;
  readonly log: { readonly s: number; readonly t: string; readonly d: unknown }[];
  sequence: number;
  socket: WebSocket | undefined;
  valid: boolean;
}

/** Who may see an event: by the intent that covers it. */
export type Audience = "guilds" | "guildMessages" | "directMessages" | "all";

export class Gateway {
  readonly sessions = new Map<string, Session>();
  readonly identifies: { readonly at: number; readonly intents: number }[] = [];
  readonly resumes: { readonly at: number; readonly ok: boolean }[] = [];
  heartbeats = 0;
  connections = 0;
  heartbeatMs: number;
  /** No acknowledgement of heartbeats while true. */
  withholdAcks = false;
  /** Every RESUME is answered by closing the socket without a code (the client sees 1005). */
  closeOnResume = false;
  /** A new socket is accepted but gets no HELLO. */
  muteHello = false;
  /** IDENTIFY and RESUME get no answer at all. */
  ignoreLogins = false;
  /** An IDENTIFY is answered with an invalid session. */
  refuseIdentify = false;
  /** New sockets are refused with this HTTP status at the upgrade. */
  refuseUpgrade: number | undefined;
  /** Nothing is sent any more on sockets opened before; new ones work. */
  readonly #silent = new WeakSet<WebSocket>();
  readonly #world: World;
  readonly #token: () => string;
  readonly #server: WebSocketServer;
  readonly #sockets = new Set<WebSocket>();

  private constructor(world: World, token: () => string, heartbeatMs: number) {
    this.#world = world;
    this.#token = token;
    this.heartbeatMs = heartbeatMs;
    this.#server = new WebSocketServer({
      host: "127.0.0.1",
      port: 0,
      verifyClient: (_info, accept) => (this.refuseUpgrade === undefined ? accept(true) : accept(false, this.refuseUpgrade)),
    });
    this.#server.on("connection", (socket, request) => this.#open(socket, request.url ?? "/"));
  }

  static async start(world: World, token: () => string, heartbeatMs: number): Promise<Gateway> {
    const gateway = new Gateway(world, token, heartbeatMs);
    await new Promise<void>((resolve, reject) => {
      gateway.#server.once("listening", resolve);
      gateway.#server.once("error", reject);
    });
    return gateway;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  /** Sends an event to every session whose intents cover it; `make` gets whether content must be blanked. */
  dispatch(t: string, audience: Audience, make: (blank: boolean) => unknown): void {
    for (const session of this.sessions.values()) {
      if (!session.valid) continue;
      if (audience !== "all" && (session.intents & intentBits[audience]) === 0) continue;
      this.#push(session, t, make((session.intents & intentBits.messageContent) === 0));
    }
  }

  /** Cuts every socket; without a code like a lost network, sessions stay. */
  drop(code?: number): void {
    for (const socket of this.#sockets) {
      if (code === undefined) socket.terminate();
      else socket.close(code);
    }
  }

  /** Sockets open now stay open and say nothing more, not even acknowledgements. */
  silence(): void {
    for (const socket of this.#sockets) this.#silent.add(socket);
  }

  /** Op 7: please reconnect. */
  reconnect(): void {
    for (const socket of this.#sockets) this.#send(socket, { op: 7, d: null, s: null, t: null });
  }

  /** Op 9: the session is not valid; `resumable` says whether a RESUME may be tried. */
  invalidate(resumable: boolean): void {
    for (const session of this.sessions.values()) {
      if (!resumable) session.valid = false;
      if (session.socket !== undefined) this.#send(session.socket, { op: 9, d: resumable, s: null, t: null });
    }
  }

  /** Forgets every session: a later RESUME is refused, what happened in between is lost. */
  forgetSessions(): void {
    for (const session of this.sessions.values()) session.valid = false;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #open(socket: WebSocket, url: string): void {
    this.connections += 1;
    this.#sockets.add(socket);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      for (const session of this.sessions.values()) if (session.socket === socket) session.socket = undefined;
    });
    socket.on("error", () => socket.terminate());
    const query = new URL(url, "ws://localhost").searchParams;
    if (query.get("v") !== "10") {
      socket.close(4012);
      return;
    }
    if (query.get("encoding") !== "json") {
      socket.close(4002);
      return;
    }
    socket.on("message", (data: Buffer) => this.#receive(socket, data.toString("utf8")));
    if (!this.muteHello) this.#send(socket, { op: 10, d: { heartbeat_interval: this.heartbeatMs }, s: null, t: null });
  }

  #receive(socket: WebSocket, text: string): void {
    const payload = JSON.parse(text) as { op: number; d: Record<string, unknown> };
    const current = [...this.sessions.values()].find((session) => session.socket === socket);
    switch (payload.op) {
      case 1:
        this.heartbeats += 1;
        if (!this.withholdAcks) this.#send(socket, { op: 11, d: null, s: null, t: null });
        return;
      case 2:
        if (this.ignoreLogins) return;
        if (current === undefined) this.#identify(socket, payload.d);
        else socket.close(4005);
        return;
      case 6:
        if (this.ignoreLogins) return;
        if (current === undefined) this.#resume(socket, payload.d);
        else socket.close(4005);
        return;
      case 3:
      case 4:
      case 8:
        if (current === undefined) socket.close(4003);
        return;
      default:
        socket.close(4001);
    }
  }

  #identify(socket: WebSocket, d: Record<string, unknown>): void {
    const intents = d["intents"];
    this.identifies.push({ at: Date.now(), intents: typeof intents === "number" ? intents : -1 });
    if (d["token"] !== this.#token()) {
      socket.close(4004, "Authentication failed.");
      return;
    }
    if (typeof intents !== "number" || (intents & ~knownIntents) !== 0) {
      socket.close(4013, "Invalid intent(s).");
      return;
    }
    const content = (intents & intentBits.messageContent) !== 0 && this.#world.contentIntent === "off";
    if (content || (intents & (intentBits.members | intentBits.presences)) !== 0) {
      socket.close(4014, "Disallowed intent(s).");
      return;
    }
    if (this.refuseIdentify) {
      this.#send(socket, { op: 9, d: false, s: null, t: null });
      return;
    }
    const session: Session = { id: `session-${snowflake()}`, intents, log: [], sequence: 0, socket, valid: true };
    this.sessions.set(session.id, session);
    this.#push(session, "READY", {
      v: 10,
      user: { ...this.#world.wireUser(this.#world.bot.id), verified: true, mfa_enabled: false, email: null, flags: 0 },
      guilds: [{ id: this.#world.guildId, unavailable: true }],
      session_id: session.id,
      resume_gateway_url: this.url,
      shard: d["shard"],
      session_type: "normal",
      private_channels: [],
      application: { id: this.#world.applicationId, flags: 0 },
    });
    if ((intents & intentBits.guilds) !== 0) this.#push(session, "GUILD_CREATE", this.#world.wireGuild());
  }

  #resume(socket: WebSocket, d: Record<string, unknown>): void {
    const session = this.sessions.get(String(d["session_id"]));
    const seq = d["seq"];
    const ok = !this.closeOnResume && session !== undefined && session.valid && typeof seq === "number" && seq <= session.sequence;
    this.resumes.push({ at: Date.now(), ok });
    if (this.closeOnResume) {
      socket.close();
      return;
    }
    if (d["token"] !== this.#token()) {
      socket.close(4004);
      return;
    }
    if (!ok || session === undefined || typeof seq !== "number") {
      this.#send(socket, { op: 9, d: false, s: null, t: null });
      return;
    }
    session.socket = socket;
    for (const event of session.log) if (event.s > seq) this.#send(socket, { op: 0, ...event });
    this.#push(session, "RESUMED", { _trace: [] });
  }

  #push(session: Session, t: string, d: unknown): void {
    session.sequence += 1;
    const event = { s: session.sequence, t, d };
    session.log.push(event);
    if (session.socket !== undefined) this.#send(session.socket, { op: 0, ...event });
  }

  #send(socket: WebSocket, payload: object): void {
    if (this.#silent.has(socket)) return;
    socket.send(JSON.stringify(payload));
  }
}
