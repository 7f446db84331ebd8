/**
 * Where a message was said. A Discord thread is a channel of its own with a parent; a message does not say that it is in
 * one, so the channel must be known (or asked for) before the message can be understood.
 */
import type { ChatRef } from "../../src/domain/message.js";
import { type Fields, numberOf, textOf } from "./fields.js";
import { cleanName } from "./names.js";

export interface Place {
  readonly id: string;
  readonly kind: "dm" | "group-dm" | "channel" | "thread";
  readonly guildId?: string;
  readonly parentId?: string;
  readonly title?: string;
  /** A private thread. */
  readonly isPrivate?: boolean;
  /** Threads can be started from messages here (text and announcement channels). */
  readonly canHoldThreads?: boolean;
}

/** https://discord.com/developers/docs/resources/channel#channel-object-channel-types */
const types = { text: 0, dm: 1, groupDm: 3, announcement: 5, announcementThread: 10, publicThread: 11, privateThread: 12 } as const;

/** A place from its type number and names; unknown types read as a channel. */
export function placeOf(
  id: string,
  type: number | undefined,
  more: { readonly guildId?: string | undefined; readonly parentId?: string | undefined; readonly name?: string | undefined },
): Place {
  const title = more.name === undefined || more.name === "" ? undefined : cleanName(more.name, id);
  const base = { id, ...(more.guildId === undefined ? {} : { guildId: more.guildId }), ...(title === undefined ? {} : { title }) };
  switch (type) {
    case types.dm:
      return { ...base, kind: "dm" };
    case types.groupDm:
      return { ...base, kind: "group-dm" };
    case types.announcementThread:
    case types.publicThread:
    case types.privateThread:
      return {
        ...base,
        kind: "thread",
        ...(more.parentId === undefined ? {} : { parentId: more.parentId }),
        ...(type === types.privateThread ? { isPrivate: true } : {}),
      };
    default:
      return { ...base, kind: "channel", ...(type === types.text || type === types.announcement ? { canHoldThreads: true } : {}) };
  }
}

/** A place from a channel object of the REST API. */
export function placeFromPayload(id: string, channel: Fields): Place {
  return placeOf(id, numberOf(channel, "type"), {
    guildId: textOf(channel, "guild_id"),
    parentId: textOf(channel, "parent_id"),
    name: textOf(channel, "name"),
  });
}

export function chatOf(place: Place): ChatRef {
  const kind = place.kind === "dm" ? "dm" : place.kind === "thread" ? "thread" : "group";
  return {
    id: place.id,
    kind,
    ...(place.kind === "thread" && place.parentId !== undefined ? { parentId: place.parentId } : {}),
    ...(place.guildId === undefined ? {} : { containerId: place.guildId }),
    ...(place.title === undefined ? {} : { title: place.title }),
    ...(place.isPrivate === true || place.kind === "group-dm" ? { isPrivate: true } : {}),
  };
}
