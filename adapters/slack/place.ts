/**
 * Who, where and under which key: the parts that all inbound events share. The key of a message is made of team, channel
 * and time stamp only, so that every event type Slack sends about one message gives the same key.
 */
import type { AccountRef, ChatRef, Route } from "../../src/domain/message.js";
import { textOf, type Fields } from "./fields.js";
import { oneLine, type Names } from "./text-in.js";

/** The bot as `auth.test` describes it. */
export interface Self {
  readonly teamId: string;
  readonly enterpriseId?: string;
  readonly userId: string;
  readonly botId?: string;
}

export interface Person {
  readonly name: string;
  readonly handle?: string;
  readonly isBot: boolean;
  readonly teamId?: string;
  readonly enterpriseId?: string;
  /** IANA zone of the profile. */
  readonly timeZone?: string;
}

export interface Channel {
  readonly name?: string;
  readonly kind: "dm" | "group";
  /** A group DM. */
  readonly isPrivate: boolean;
}

/** What is known now about people and channels; absent where the look-up failed or took too long. */
export interface Known {
  person(id: string): Person | undefined;
  channel(id: string): Channel | undefined;
}

/** What the pure translation needs beside the payload. */
export interface Reading {
  readonly self: Self;
  readonly known: Known;
  /** Command names that count in threads. */
  readonly commands: readonly string[];
  /** Epoch ms: the time of an act whose payload has none (a slash command). */
  readonly now: number;
}

export const platform = "slack";

export function namesOf(known: Known): Names {
  return { person: (id) => known.person(id)?.name, channel: (id) => known.channel(id)?.name };
}

export function keyOf(self: Self, kind: string, ...parts: readonly string[]): string {
  return [platform, self.userId, kind, ...parts].join(":");
}

export function messageKey(self: Self, channelId: string, ts: string): string {
  return keyOf(self, "message", self.teamId, channelId, ts);
}

/** `1700000000.123456` to epoch milliseconds. */
export function millis(ts: string): number {
  const at = Math.round(Number(ts) * 1000);
  return Number.isFinite(at) ? at : 0;
}

/**
 * The chat of an event. `type` is Slack's `channel_type`, which `app_mention` lacks: then what is known of the channel
 * decides, and without that its id (D… is a direct message).
 */
export function chatOf(reading: Reading, channelId: string, type: string | undefined, name?: string): ChatRef {
  const known = reading.known.channel(channelId);
  const isDm = type === "im" || channelId.startsWith("D") || (type === undefined && known?.kind === "dm");
  if (isDm) return { id: channelId, kind: "dm" };
  const isPrivate = type === "mpim" || known?.isPrivate === true || name?.startsWith("mpdm-") === true;
  const title = oneLine(known?.name ?? name ?? "");
  return {
    id: channelId,
    kind: "group",
    containerId: reading.self.teamId,
    ...(title === "" ? {} : { title }),
    ...(isPrivate ? { isPrivate } : {}),
  };
}

/** The account of a person, as far as it is known. `teams`: every team id the payload gives for that person. */
export function accountOf(reading: Reading, userId: string, teams: readonly (string | undefined)[], fallbackName?: string): AccountRef {
  const person = reading.known.person(userId);
  const name = oneLine(person?.name ?? fallbackName ?? "");
  return {
    id: userId,
    displayName: name === "" ? userId : name,
    ...(person?.handle === undefined ? {} : { handle: person.handle }),
    isBot: person?.isBot ?? false,
    ...(isForeign(reading.self, person, teams) ? { foreignTeam: true } : {}),
  };
}

/** Any sign of another team counts, unless both belong to the same Enterprise Grid organisation. */
function isForeign(self: Self, person: Person | undefined, teams: readonly (string | undefined)[]): boolean {
  if (self.enterpriseId !== undefined && person?.enterpriseId === self.enterpriseId) return false;
  return [...teams, person?.teamId].some((team) => team !== undefined && team !== self.teamId && team !== self.enterpriseId);
}

/** The route back. Slack has no replies: `replyTo` is the message that a sign of life is put on. */
export function routeOf(chatId: string, threadId: string | undefined, messageTs: string): Route {
  return { platform, chatId, ...(threadId === undefined ? {} : { threadId }), replyTo: messageTs };
}

/** Team ids that an event gives for its author. */
export function teamsOf(event: Fields): (string | undefined)[] {
  return [textOf(event, "user_team"), textOf(event, "source_team"), textOf(event, "team")];
}
