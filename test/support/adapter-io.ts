/**
 * What the gateway gives an adapter, recorded: every delivered event in order, repeats included, so that a test sees
 * doubled deliveries that the real inbox would hide.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { InboundEvent, InboundMessage } from "../../src/domain/message.js";
import type { AdapterDeps, AdapterIo } from "../../src/ports/platform-adapter.js";
import { collectingLogger, systemClock, type CollectedLog } from "./runtime.js";

export interface RecordingIo extends AdapterIo {
  /** All events ever delivered, in order. */
  readonly events: InboundEvent[];
  /** Events whose delivery was refused: the adapter has read them and may not acknowledge them. */
  readonly refused: InboundEvent[];
  /** One entry per `deliver` call. */
  readonly batches: (readonly InboundEvent[])[];
  readonly failures: Error[];
  /** Base URL of the HTTP server once something is mounted. */
  url(): string;
  /** The next `deliver` calls reject (the process is stopping) until called with false. */
  refuse(on: boolean): void;
  /** The next `deliver` calls wait until the returned function is called. */
  hold(): () => void;
  /** What `lastSeen` answers. */
  seen: Awaited<ReturnType<AdapterIo["lastSeen"]>>;
  messages(): InboundMessage[];
  waitFor<T extends InboundEvent>(what: (event: InboundEvent) => event is T, timeoutMs?: number): Promise<T>;
  waitFor(what: (event: InboundEvent) => boolean, timeoutMs?: number): Promise<InboundEvent>;
  close(): Promise<void>;
}

export function recordingIo(): RecordingIo {
  const waiters = new Set<() => void>();
  const handlers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  let refusing = false;
  let gate: Promise<void> | undefined;
  let server: Server | undefined;

  const io: RecordingIo = {
    events: [],
    batches: [],
    refused: [],
    failures: [],
    seen: [],
    async deliver(events) {
      if (gate !== undefined) await gate;
      if (refusing) {
        io.refused.push(...events);
        throw new Error("the inbox is closing");
      }
      io.batches.push(events);
      io.events.push(...events);
      for (const waiter of [...waiters]) waiter();
    },
    lastSeen(limit) {
      return Promise.resolve(io.seen.slice(0, limit));
    },
    failed(error) {
      io.failures.push(error);
      for (const waiter of [...waiters]) waiter();
    },
    http: {
      async mount(path, handler) {
        server ??= await listen((request, response) => {
          const found = handlers.get(new URL(request.url ?? "/", "http://localhost").pathname);
          if (found === undefined) response.writeHead(404).end();
          else found(request, response);
        });
        handlers.set(path, handler);
        return () => {
          handlers.delete(path);
        };
      },
    },
    url() {
      if (server === undefined) throw new Error("nothing is mounted");
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    refuse(on) {
      refusing = on;
    },
    hold() {
      let open: () => void = () => undefined;
      gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      return () => {
        gate = undefined;
        open();
      };
    },
    messages() {
      return io.events.filter((event): event is InboundMessage => event.kind === "message");
    },
    waitFor(what: (event: InboundEvent) => boolean, timeoutMs = 5_000): Promise<InboundEvent> {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          const found = io.events.find((event) => what(event));
          if (found === undefined) return;
          done();
          resolve(found);
        };
        const timer = setTimeout(() => {
          done();
          reject(
            new Error(
              `no such event within ${timeoutMs} ms; there are: ${io.events.map((event) => `${event.kind} ${event.key}`).join(", ")}`,
            ),
          );
        }, timeoutMs);
        const done = (): void => {
          clearTimeout(timer);
          waiters.delete(look);
        };
        waiters.add(look);
        look();
      });
    },
    async close() {
      const open = server;
      if (open === undefined) return;
      open.closeAllConnections();
      await new Promise((resolve) => open.close(resolve));
    },
  } as RecordingIo;
  return io;
}

function listen(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(handler);
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

/** The deps of an adapter under test: the machine's clock and a log that keeps its lines. */
export function adapterDeps(): AdapterDeps & { readonly logger: CollectedLog } {
  return { clock: systemClock, logger: collectingLogger() };
}

/** Waits until the condition holds; looks every 10 ms. */
export async function until(condition: () => boolean | Promise<boolean>, what: string, timeoutMs = 5_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
