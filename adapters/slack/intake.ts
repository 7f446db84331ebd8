/**
 * From a payload to the inbox: look up names, translate, deliver in the order of arrival within a channel. Resolves only
 * when the event is stored or knowingly dropped; a rejection leaves it unacknowledged.
 */
import type { InboundEvent } from "../../src/domain/message.js";
import type { AdapterIo } from "../../src/ports/platform-adapter.js";
import type { Clock } from "../../src/ports/runtime.js";
import type { Directory } from "./directory.js";
import type { Fields } from "./fields.js";
import { idsNeeded, toInbound } from "./inbound.js";
import type { Self } from "./place.js";

export interface IntakeDeps {
  readonly self: Self;
  readonly directory: Directory;
  readonly deliver: AdapterIo["deliver"];
  readonly commands: () => readonly string[];
  readonly clock: Clock;
  readonly namesMs: number;
}

export class Intake {
  readonly #deps: IntakeDeps;
  /** The last delivery per channel: later ones wait for it, so that a slow look-up cannot turn two messages round. */
  readonly #tails = new Map<string, Promise<unknown>>();

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  async take(body: Fields): Promise<void> {
    const { self, directory, commands, clock, namesMs } = this.#deps;
    const ids = idsNeeded(body, self);
    const names = directory.load(ids, namesMs);
    const channel = channelOf(body) ?? "";
    const before = this.#tails.get(channel) ?? Promise.resolve();
    const turn = before.then(async () => {
      await names;
      const event: InboundEvent | undefined = toInbound(body, { self, known: directory, commands: commands(), now: clock.now() });
      if (event?.kind === "chat") directory.forgetChannel(event.chat.id);
      if (event !== undefined) await this.#deps.deliver([event]);
    });
    const tail = turn.catch(() => undefined); // the failure is the caller's; the next one must not wait for ever
    this.#tails.set(channel, tail);
    try {
      await turn;
    } finally {
      if (this.#tails.get(channel) === tail) this.#tails.delete(channel);
    }
  }
}

function channelOf(body: Fields): string | undefined {
  const event = body["event"];
  if (typeof event !== "object" || event === null) return undefined;
  const channel = (event as Fields)["channel"];
  return typeof channel === "string" ? channel : undefined;
}
