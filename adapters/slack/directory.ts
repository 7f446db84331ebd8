/**
 * Names of people and channels, looked up through a bounded cache. A look-up never holds up an event for longer than it
 * is given: what is not known in time stands as an id.
 */
import { DeliveryError, errorText } from "../../src/domain/errors.js";
import type { Clock, Logger } from "../../src/ports/runtime.js";
import { fieldsOf, textOf, type Fields } from "./fields.js";
import type { Channel, Known, Person } from "./place.js";
import { oneLine } from "./text-in.js";

export interface DirectoryDeps {
  readonly call: (method: string, args: Record<string, unknown>) => Promise<Fields>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Entries of each kind. */
  readonly capacity?: number;
  /** How long an answer counts as fresh, in milliseconds. */
  readonly ttlMs?: number;
  /** How long a failed look-up is not tried again. */
  readonly failedTtlMs?: number;
}

interface Entry<T> {
  readonly value: T | undefined;
  readonly until: number;
}

export class Directory implements Known {
  readonly #deps: Required<DirectoryDeps>;
  readonly #people = new Map<string, Entry<Person>>();
  readonly #channels = new Map<string, Entry<Channel>>();
  readonly #running = new Map<string, Promise<void>>();

  constructor(deps: DirectoryDeps) {
    this.#deps = { capacity: 2_000, ttlMs: 3_600_000, failedTtlMs: 60_000, ...deps };
  }

  person(id: string): Person | undefined {
    return this.#people.get(id)?.value;
  }

  channel(id: string): Channel | undefined {
    return this.#channels.get(id)?.value;
  }

  /** Looks up what is not fresh. Resolves when all is there or `withinMs` is over, whichever comes first; never rejects. */
  async load(ids: { readonly people: readonly string[]; readonly channels: readonly string[] }, withinMs: number): Promise<void> {
    const looks = [
      ...ids.people.filter((id) => /^[UW]/.test(id)).map((id) => this.#look(this.#people, id, "users.info", { user: id }, personOf)),
      ...ids.channels
        .filter((id) => /^[CDG]/.test(id))
        .map((id) => this.#look(this.#channels, id, "conversations.info", { channel: id }, channelOf)),
    ].filter((look) => look !== undefined);
    if (looks.length === 0) return;
    let cancel: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.#deps.clock.after(withinMs, resolve);
    });
    await Promise.race([Promise.all(looks), late]);
    cancel();
  }

  /** Forgets a channel (renamed, joined or left). */
  forgetChannel(id: string): void {
    this.#channels.delete(id);
  }

  #look<T>(
    cache: Map<string, Entry<T>>,
    id: string,
    method: string,
    args: Record<string, unknown>,
    read: (answer: Fields) => T | undefined,
  ): Promise<void> | undefined {
    const entry = cache.get(id);
    if (entry !== undefined && entry.until > this.#deps.clock.now()) {
      cache.delete(id); // put at the end again: the oldest use goes first
      cache.set(id, entry);
      return undefined;
    }
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const look = this.#deps
      .call(method, args)
      .then(
        (answer) => this.#keep(cache, id, read(answer), this.#deps.ttlMs),
        (error: unknown) => {
          const wait = error instanceof DeliveryError ? error.retryAfterMs : undefined;
          this.#deps.logger.warn({ method, id, error: errorText(error) }, "a name could not be looked up; the id stands for it");
          this.#keep(cache, id, entry?.value, wait ?? this.#deps.failedTtlMs); // an old name is better than none
        },
      )
      .finally(() => this.#running.delete(id));
    this.#running.set(id, look);
    return look;
  }

  #keep<T>(cache: Map<string, Entry<T>>, id: string, value: T | undefined, ttlMs: number): void {
    cache.delete(id);
    cache.set(id, { value, until: this.#deps.clock.now() + ttlMs });
    for (const oldest of cache.keys()) {
      if (cache.size <= this.#deps.capacity) break;
      cache.delete(oldest);
    }
  }
}

function personOf(answer: Fields): Person | undefined {
  const user = fieldsOf(answer, "user");
  const profile = fieldsOf(user, "profile");
  const handle = textOf(user, "name");
  const name = textOf(profile, "display_name") ?? textOf(user, "real_name") ?? textOf(profile, "real_name") ?? handle;
  if (name === undefined) return undefined;
  const teamId = textOf(user, "team_id");
  const enterpriseId = textOf(fieldsOf(user, "enterprise_user"), "enterprise_id");
  const timeZone = textOf(user, "tz");
  return {
    name: oneLine(name),
    ...(handle === undefined ? {} : { handle: oneLine(handle) }),
    isBot: user["is_bot"] === true,
    ...(teamId === undefined ? {} : { teamId }),
    ...(enterpriseId === undefined ? {} : { enterpriseId }),
    ...(timeZone !== undefined && isTimeZone(timeZone) ? { timeZone } : {}),
  };
}

function channelOf(answer: Fields): Channel | undefined {
  const channel = fieldsOf(answer, "channel");
  if (textOf(channel, "id") === undefined) return undefined;
  const name = textOf(channel, "name");
  return {
    ...(name === undefined ? {} : { name: oneLine(name) }),
    kind: channel["is_im"] === true ? "dm" : "group",
    isPrivate: channel["is_mpim"] === true,
  };
}

function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone !== "";
  } catch {
    return false; // a RangeError is this API's way of saying no
  }
}
