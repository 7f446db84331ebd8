/** Whose clock a conversation goes by: in direct messages the person's choice, then their platform profile; in groups the settings'. */
import { isGroup } from "../domain/identity.js";
import type { ChatKind } from "../domain/message.js";
import type { Overlay } from "../ports/stores.js";

const key = "timezone";
const scope = (personId: string): string => `person:${personId}`;

export class TimeZones {
  readonly #overlay: Overlay;
  readonly #standard: string;

  constructor(deps: { readonly overlay: Overlay; readonly standard: string }) {
    this.#overlay = deps.overlay;
    this.#standard = deps.standard;
  }

  /** `profile`: the zone that the platform says the account is in. */
  async of(place: { readonly chatKind: ChatKind; readonly personId: string | undefined }, profile?: string): Promise<string> {
    if (isGroup(place.chatKind) || place.personId === undefined) return this.#standard;
    return (await this.#overlay.get(scope(place.personId), key)) ?? profile ?? this.#standard;
  }

  chosen(personId: string): Promise<string | undefined> {
    return this.#overlay.get(scope(personId), key);
  }

  /** Undefined takes the choice back. */
  choose(personId: string, timeZone: string | undefined): Promise<void> {
    return this.#overlay.set(scope(personId), key, timeZone);
  }
}

/** The zone's proper name, or undefined for one that does not exist. */
export function knownZone(typed: string): string | undefined {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: typed }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return undefined; // this API's way of saying no
    throw error;
  }
}
