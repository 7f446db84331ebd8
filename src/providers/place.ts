/**
 * The one place that makes remote ids out of ours (ME-16): tools, recall, sync and mirrors all get them here, so they cannot
 * miss each other. A missing space or person throws: no space, no call.
 */
import { GatewayError } from "../domain/errors.js";
import type { ProviderPlace } from "../ports/memory-provider.js";

type Who = Pick<ProviderPlace, "spaceId" | "personId">;

/** Container of everything said or noted in a space; at most 100 characters of letters, digits and "-". */
export function spaceTag(spaceId: string): string {
  return `mneme-s-${part(spaceId, "space")}`;
}

/** One person within one space. */
export function personTag({ personId, spaceId }: Who): string {
  return `mneme-p-${part(personId, "person")}-s-${part(spaceId, "space")}`;
}

/** Remote id of a session; another one each time it was deleted there. */
export function sessionTag({ sessionId, generation }: Pick<ProviderPlace, "sessionId" | "generation">): string {
  return `mneme-c-${part(sessionId, "session")}${generation === 0 ? "" : `-${generation}`}`;
}

/** The person and space of this place, then those that were linked to it: all that may be read. */
export function readable(place: ProviderPlace): Who[] {
  const { personId, spaceId, isOwnSpace, aliases } = place;
  return [{ personId, spaceId }, ...aliases.map((alias) => ({ personId: alias, spaceId: isOwnSpace ? alias : spaceId }))];
}

/** The containers that may be read; each once. */
export function readableSpaces(place: ProviderPlace): string[] {
  return [...new Set(readable(place).map(({ spaceId }) => spaceTag(spaceId)))];
}

function part(id: string, what: string): string {
  if (/^[A-Za-z0-9_]{1,40}$/u.test(id)) return id;
  throw new GatewayError("input.invalid", `The ${what} has no id that the external memory can use; nothing was sent.`);
}
