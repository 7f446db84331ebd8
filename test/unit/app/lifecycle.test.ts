import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { runGateway } from "../../../src/app/lifecycle.js";
import { collectingLogger } from "../../support/runtime.js";

interface Rig {
  readonly events: EventEmitter;
  readonly log: ReturnType<typeof collectingLogger>;
  readonly exits: number[];
  readonly stops: number[];
  readonly run: (over?: { start?: () => Promise<void>; stop?: () => Promise<void>; until?: Promise<void> }) => Promise<number>;
}

function rig(): Rig {
  const [events, log, exits, stops] = [new EventEmitter(), collectingLogger(), [] as number[], [] as number[]];
  return {
    events,
    log,
    exits,
    stops,
    run: ({ start = async () => undefined, stop = async () => undefined, until } = {}) =>
      runGateway({
        gateway: {
          start,
          stop: async (graceMs = 0) => {
            stops.push(graceMs);
            await stop();
          },
        },
        logger: log,
        events,
        exit: (code) => void exits.push(code),
        started: () => void events.emit("started"),
        ...(until === undefined ? {} : { until }),
      }),
  };
}

describe("the life of a gateway process", () => {
  it("stops with 20 s of grace after SIGTERM, ends with 0 and listens no more", async () => {
    const { events, run, stops } = rig();
    events.once("started", () => events.emit("SIGTERM", "SIGTERM"));

    expect(await run()).toBe(0);
    expect(stops).toEqual([20_000]);
    expect(events.eventNames()).toEqual([]);
  });

  it("RC-07: outlives an error that a client library throws too late, and logs it", async () => {
    const { events, run, log } = rig();
    events.once("started", () => {
      events.emit("uncaughtException", new Error("socket hang up"));
      events.emit("unhandledRejection", new Error("429"));
      events.emit("SIGINT", "SIGINT");
    });

    expect(await run()).toBe(0);
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(2);
  });

  it("ends at once at a second signal", async () => {
    const { events, run, exits } = rig();
    let release: () => void = () => undefined;
    const stopping = new Promise<void>((resolve) => {
      release = resolve;
    });
    events.once("started", () => events.emit("SIGINT", "SIGINT"));

    const ended = run({
      stop: () => {
        events.emit("SIGINT", "SIGINT");
        release();
        return stopping;
      },
    });

    await ended;
    expect(exits).toEqual([130]);
  });

  it("stops when the input ended", async () => {
    const { run, stops } = rig();

    expect(await run({ until: Promise.resolve() })).toBe(0);
    expect(stops).toHaveLength(1);
  });

  it("can be stopped while a platform still connects", async () => {
    const { events, run } = rig();

    const ended = run({ start: () => new Promise(() => undefined) });
    events.emit("SIGTERM", "SIGTERM");

    expect(await ended).toBe(0);
  });

  it("closes everything when the start fails, and passes the reason on", async () => {
    const { run, stops } = rig();

    await expect(run({ start: () => Promise.reject(new Error("the port is taken")) })).rejects.toThrow("the port is taken");
    expect(stops).toHaveLength(1);
  });

  it("ends with 1 when the stop is not clean", async () => {
    const { run, log } = rig();

    expect(await run({ until: Promise.resolve(), stop: () => Promise.reject(new Error("disk is gone")) })).toBe(1);
    expect(log.lines.some(({ level }) => level === "error")).toBe(true);
  });
});
