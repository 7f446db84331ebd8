/**
 * What the emulated Slack workspace holds: people, conversations and their messages. Plain state; the rules of the
 * Web API are in web-api.ts. Time stamps (`ts`) are unique and grow, as in Slack.
 */

export interface SlackUser {
  readonly id: string;
  readonly name: string;
  readonly realName: string;
  readonly displayName: string;
  readonly tz?: string;
  readonly teamId: string;
  readonly isBot: boolean;
  readonly botId?: string;
}

export type SlackFile = { readonly [key: string]: unknown } & { readonly id: string; readonly name: string };

export interface SlackMessage {
  readonly ts: string;
  readonly user: string;
  readonly botId?: string;
  text: string;
  blocks?: readonly Record<string, unknown>[];
  readonly threadTs?: string;
  readonly subtype?: string;
  readonly metadata?: { readonly event_type: string; readonly event_payload: Record<string, unknown> };
  readonly files?: readonly SlackFile[];
  /** Emoji name → users who reacted. */
  readonly reactions: Map<string, Set<string>>;
  /** Earlier forms, oldest first. */
  readonly history: { readonly text: string; readonly blocks?: readonly Record<string, unknown>[] }[];
  /** Arguments of chat.postMessage, as they came. */
  readonly args?: Readonly<Record<string, unknown>>;
}

export type SlackChannelKind = "im" | "mpim" | "channel" | "group";

export interface SlackChannel {
  readonly id: string;
  readonly kind: SlackChannelKind;
  readonly name: string;
  readonly members: Set<string>;
  archived: boolean;
  threadLocked: boolean;
  readonly messages: SlackMessage[];
}

export class Workspace {
  readonly teamId = "T0HOME";
  readonly teamName = "Home";
  readonly appId = "A0MNEME";
  readonly botUser: SlackUser;
  readonly users = new Map<string, SlackUser>();
  readonly channels = new Map<string, SlackChannel>();
  /** Uploaded and shared files with their bytes. */
  readonly files = new Map<string, { file: SlackFile; bytes: Buffer; mimeType: string }>();
  #lastTs = 0;
  #count = 0;

  constructor() {
    this.botUser = this.addUser({
      id: "U0BOT",
      name: "mneme",
      realName: "mneme",
      displayName: "mneme",
      teamId: this.teamId,
      isBot: true,
      botId: "B0BOT",
    });
    this.addUser({
      id: "U0AMY",
      name: "amy",
      realName: "Amy Adams",
      displayName: "Amy",
      tz: "Europe/Berlin",
      teamId: this.teamId,
      isBot: false,
    });
    this.addUser({
      id: "U0BOB",
      name: "bob",
      realName: "Bob Brown",
      displayName: "",
      tz: "America/New_York",
      teamId: this.teamId,
      isBot: false,
    });
    this.addUser({ id: "U0GUEST", name: "gil", realName: "Gil", displayName: "Gil", teamId: "T0OTHER", isBot: false });
    this.addUser({
      id: "U0ROBOT",
      name: "robot",
      realName: "Robot",
      displayName: "Robot",
      teamId: this.teamId,
      isBot: true,
      botId: "B0ROBOT",
    });
    this.addChannel("D0AMY", "im", "", ["U0AMY", "U0BOT"]);
    this.addChannel("D0BOB", "im", "", ["U0BOB", "U0BOT"]);
    this.addChannel("C0GENERAL", "channel", "general", ["U0AMY", "U0BOB", "U0GUEST", "U0ROBOT", "U0BOT"]);
    this.addChannel("C0SECRET", "group", "secret", ["U0AMY", "U0BOT"]);
    this.addChannel("C0TRIO", "mpim", "mpdm-amy--bob--mneme-1", ["U0AMY", "U0BOB", "U0BOT"]);
    this.addChannel("C0EMPTY", "channel", "empty", ["U0AMY"]);
  }

  addUser(user: SlackUser): SlackUser {
    this.users.set(user.id, user);
    return user;
  }

  addChannel(id: string, kind: SlackChannelKind, name: string, members: readonly string[]): SlackChannel {
    const channel: SlackChannel = { id, kind, name, members: new Set(members), archived: false, threadLocked: false, messages: [] };
    this.channels.set(id, channel);
    return channel;
  }

  /** A new time stamp: now, and later than every earlier one. */
  nextTs(): string {
    const micros = Math.max(Date.now() * 1000, this.#lastTs + 100);
    this.#lastTs = micros;
    return `${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, "0")}`;
  }

  /** A new id with this first letter. */
  nextId(letter: string): string {
    this.#count += 1;
    return `${letter}0${String(this.#count).padStart(8, "0")}`;
  }

  find(channelId: string, ts: string): SlackMessage | undefined {
    return this.channels.get(channelId)?.messages.find((message) => message.ts === ts);
  }
}

/** A stored message in the form of conversations.history and of events. */
export function messageJson(workspace: Workspace, message: SlackMessage, withMetadata: boolean): Record<string, unknown> {
  return {
    type: "message",
    ...(message.subtype === undefined ? {} : { subtype: message.subtype }),
    user: message.user,
    ...(message.botId === undefined
      ? {}
      : { bot_id: message.botId, app_id: workspace.appId, bot_profile: { id: message.botId, name: "bot" } }),
    text: message.text,
    ts: message.ts,
    team: workspace.users.get(message.user)?.teamId ?? workspace.teamId,
    ...(message.threadTs === undefined ? {} : { thread_ts: message.threadTs }),
    ...(message.blocks === undefined ? {} : { blocks: message.blocks }),
    ...(message.files === undefined ? {} : { files: message.files }),
    ...(withMetadata && message.metadata !== undefined ? { metadata: message.metadata } : {}),
    ...(message.reactions.size === 0
      ? {}
      : { reactions: [...message.reactions].map(([name, users]) => ({ name, users: [...users], count: users.size })) }),
  };
}
