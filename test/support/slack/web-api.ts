/**
 * The Web API methods of the emulated workspace. Each answers a JSON object as Slack does; `{ok: false, error}` for a
 * refusal. Strict: an argument of a wrong kind, a missing scope or an unknown method is an error, never ignored.
 */
import { blocksError } from "./limits.js";
import { messageJson, type SlackChannel, type SlackFile, type SlackMessage, type Workspace } from "./workspace.js";

export type Answer = Record<string, unknown>;
export type Args = Readonly<Record<string, unknown>>;

export interface ApiContext {
  readonly workspace: Workspace;
  readonly scopes: ReadonlySet<string>;
  /** Base of upload and download addresses. */
  readonly origin: string;
  /** Called after a message of the bot was stored or changed. */
  readonly changed: () => void;
  readonly openSocket: () => Answer;
  readonly uploads: Map<string, { name: string; length: number; bytes?: Buffer }>;
}

class Refusal extends Error {
  readonly answer: Answer;
  constructor(error: string, more: Answer = {}) {
    super(error);
    this.answer = { ok: false, error, ...more };
  }
}

const refuse = (error: string, more: Answer = {}): never => {
  throw new Refusal(error, more);
};

const historyScope = { im: "im:history", mpim: "mpim:history", channel: "channels:history", group: "groups:history" } as const;
const readScope = { im: "im:read", mpim: "mpim:read", channel: "channels:read", group: "groups:read" } as const;

function need(context: ApiContext, scope: string): void {
  if (!context.scopes.has(scope)) refuse("missing_scope", { needed: scope, provided: [...context.scopes].join(",") });
}

function channelOf(context: ApiContext, args: Args, key = "channel"): SlackChannel {
  const id = args[key];
  const channel = typeof id === "string" ? context.workspace.channels.get(id) : undefined;
  if (channel === undefined) return refuse("channel_not_found");
  const botIn = channel.members.has(context.workspace.botUser.id);
  if (!botIn && channel.kind !== "channel") return refuse("channel_not_found");
  return channel;
}

function writableChannel(context: ApiContext, args: Args, key = "channel"): SlackChannel {
  const channel = channelOf(context, args, key);
  if (channel.archived) refuse("is_archived");
  if (!channel.members.has(context.workspace.botUser.id)) refuse("not_in_channel");
  return channel;
}

function structured(args: Args, key: string, error: string): unknown {
  const value = args[key];
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return refuse(error);
  }
}

function threadOf(channel: SlackChannel, args: Args): string | undefined {
  const ts = args["thread_ts"];
  if (ts === undefined) return undefined;
  if (typeof ts !== "string" || !/^\d+\.\d{6}$/.test(ts)) return refuse("invalid_thread_ts");
  if (channel.threadLocked) return refuse("restricted_action_thread_locked");
  const root = channel.messages.find((message) => message.ts === ts || message.threadTs === ts);
  return root === undefined ? refuse("thread_not_found") : ts;
}

function bool(args: Args, key: string): boolean {
  return args[key] === true || args[key] === "true" || args[key] === "1";
}

function emoji(args: Args): string {
  const name = args["name"];
  if (typeof name !== "string" || name === "") return refuse("no_reaction");
  return /^[a-z0-9_+'-]+$/.test(name) ? name : refuse("invalid_name");
}

function targetMessage(context: ApiContext, args: Args, key: string): SlackMessage {
  const channel = channelOf(context, args);
  const found = channel.messages.find((message) => message.ts === args[key]);
  return found ?? refuse("message_not_found");
}

function page(messages: readonly SlackMessage[], context: ApiContext, args: Args): Answer {
  const limit = args["limit"] === undefined ? 100 : Number(args["limit"]);
  if (!Number.isInteger(limit) || limit < 1 || limit > 999) refuse("invalid_limit");
  const start = args["cursor"] === undefined || args["cursor"] === "" ? 0 : Number(args["cursor"]);
  if (!Number.isInteger(start)) refuse("invalid_cursor");
  const slice = messages.slice(start, start + limit);
  const more = start + limit < messages.length;
  return {
    ok: true,
    messages: slice.map((message) => messageJson(context.workspace, message, bool(args, "include_all_metadata"))),
    has_more: more,
    response_metadata: { next_cursor: more ? String(start + limit) : "" },
  };
}

function inWindow(args: Args): (message: SlackMessage) => boolean {
  const inclusive = bool(args, "inclusive");
  const oldest = args["oldest"] === undefined ? 0 : Number(args["oldest"]);
  const latest = args["latest"] === undefined ? Infinity : Number(args["latest"]);
  if (Number.isNaN(oldest)) refuse("invalid_ts_oldest");
  if (Number.isNaN(latest)) refuse("invalid_ts_latest");
  return ({ ts }) => (inclusive ? Number(ts) >= oldest && Number(ts) <= latest : Number(ts) > oldest && Number(ts) < latest);
}

/** Method name → what it does. */
export const methods: Readonly<Record<string, (context: ApiContext, args: Args) => Answer>> = {
  "auth.test": ({ workspace, origin }) => ({
    ok: true,
    url: `${origin}/`,
    team: workspace.teamName,
    team_id: workspace.teamId,
    user: workspace.botUser.name,
    user_id: workspace.botUser.id,
    bot_id: workspace.botUser.botId,
    is_enterprise_install: false,
  }),

  "apps.connections.open": ({ openSocket }) => openSocket(),

  "chat.postMessage": (context, args) => {
    need(context, "chat:write");
    const channel = writableChannel(context, args);
    const text = args["text"];
    if (text !== undefined && typeof text !== "string") refuse("invalid_arguments");
    const blocks = structured(args, "blocks", "invalid_blocks_format") as Record<string, unknown>[] | undefined;
    if ((text === undefined || text === "") && (blocks === undefined || blocks.length === 0)) refuse("no_text");
    if (typeof text === "string" && text.length > 40_000) refuse("msg_too_long");
    const problem = blocks === undefined ? undefined : blocksError(blocks);
    if (problem !== undefined) refuse(problem);
    const metadata = structured(args, "metadata", "invalid_metadata_format") as SlackMessage["metadata"];
    if (metadata !== undefined && (typeof metadata.event_type !== "string" || typeof metadata.event_payload !== "object")) {
      refuse("invalid_metadata_schema");
    }
    const threadTs = threadOf(channel, args);
    const message: SlackMessage = {
      ts: context.workspace.nextTs(),
      user: context.workspace.botUser.id,
      botId: context.workspace.botUser.botId ?? "",
      text: typeof text === "string" ? text : "",
      ...(blocks === undefined ? {} : { blocks }),
      ...(threadTs === undefined ? {} : { threadTs }),
      ...(metadata === undefined ? {} : { metadata }),
      reactions: new Map(),
      history: [],
      args,
    };
    channel.messages.push(message);
    context.changed();
    return { ok: true, channel: channel.id, ts: message.ts, message: messageJson(context.workspace, message, true) };
  },

  "chat.update": (context, args) => {
    need(context, "chat:write");
    writableChannel(context, args);
    const message = targetMessage(context, args, "ts");
    if (message.user !== context.workspace.botUser.id) refuse("cant_update_message");
    const text = args["text"];
    const blocks = structured(args, "blocks", "invalid_blocks_format") as Record<string, unknown>[] | undefined;
    if (text === undefined && blocks === undefined) refuse("no_text");
    if (text !== undefined && typeof text !== "string") refuse("invalid_arguments");
    if (typeof text === "string" && Buffer.byteLength(text) > 4_000) refuse("msg_too_long");
    const problem = blocks === undefined ? undefined : blocksError(blocks);
    if (problem !== undefined) refuse(problem);
    const kept = blocks ?? message.blocks;
    if ((text ?? message.text) === "" && (kept === undefined || kept.length === 0)) refuse("no_text");
    message.history.push({ text: message.text, ...(message.blocks === undefined ? {} : { blocks: message.blocks }) });
    if (typeof text === "string") message.text = text;
    if (blocks !== undefined) message.blocks = blocks;
    context.changed();
    return { ok: true, channel: args["channel"], ts: message.ts, text: message.text };
  },

  "chat.delete": (context, args) => {
    need(context, "chat:write");
    const channel = channelOf(context, args);
    const message = targetMessage(context, args, "ts");
    if (message.user !== context.workspace.botUser.id) refuse("cant_delete_message");
    channel.messages.splice(channel.messages.indexOf(message), 1);
    context.changed();
    return { ok: true, channel: channel.id, ts: message.ts };
  },

  "reactions.add": (context, args) => {
    need(context, "reactions:write");
    writableChannel(context, args);
    const message = targetMessage(context, args, "timestamp");
    const name = emoji(args);
    const users = message.reactions.get(name) ?? new Set<string>();
    if (users.has(context.workspace.botUser.id)) refuse("already_reacted");
    message.reactions.set(name, users.add(context.workspace.botUser.id));
    context.changed();
    return { ok: true };
  },

  "reactions.remove": (context, args) => {
    need(context, "reactions:write");
    writableChannel(context, args);
    const message = targetMessage(context, args, "timestamp");
    const users = message.reactions.get(emoji(args));
    if (users === undefined || !users.delete(context.workspace.botUser.id)) return refuse("no_reaction");
    if (users.size === 0) message.reactions.delete(String(args["name"]));
    context.changed();
    return { ok: true };
  },

  "conversations.history": (context, args) => {
    const channel = channelOf(context, args);
    need(context, historyScope[channel.kind]);
    if (!channel.members.has(context.workspace.botUser.id)) refuse("not_in_channel");
    const top = channel.messages.filter((message) => message.threadTs === undefined || message.threadTs === message.ts);
    return page(top.filter(inWindow(args)).toReversed(), context, args);
  },

  "conversations.replies": (context, args) => {
    const channel = channelOf(context, args);
    need(context, historyScope[channel.kind]);
    const ts = args["ts"];
    if (typeof ts !== "string") refuse("invalid_arguments");
    const thread = channel.messages.filter((message) => message.ts === ts || message.threadTs === ts);
    if (thread.length === 0) refuse("thread_not_found");
    const window = inWindow(args);
    return page(
      thread.filter((message) => message.ts === ts || window(message)),
      context,
      args,
    );
  },

  "conversations.info": (context, args) => {
    const channel = channelOf(context, args);
    need(context, readScope[channel.kind]);
    return {
      ok: true,
      channel: {
        id: channel.id,
        ...(channel.kind === "im" ? {} : { name: channel.name }),
        is_im: channel.kind === "im",
        is_mpim: channel.kind === "mpim",
        is_private: channel.kind !== "channel",
        is_channel: channel.kind === "channel",
        is_group: channel.kind === "group",
        is_archived: channel.archived,
        is_member: channel.members.has(context.workspace.botUser.id),
        context_team_id: context.workspace.teamId,
      },
    };
  },

  "users.info": (context, args) => {
    need(context, "users:read");
    const user = context.workspace.users.get(String(args["user"]));
    if (user === undefined) return refuse("user_not_found");
    return {
      ok: true,
      user: {
        id: user.id,
        team_id: user.teamId,
        name: user.name,
        real_name: user.realName,
        ...(user.tz === undefined ? {} : { tz: user.tz }),
        is_bot: user.isBot,
        deleted: false,
        profile: { real_name: user.realName, display_name: user.displayName, ...(user.botId === undefined ? {} : { bot_id: user.botId }) },
      },
    };
  },

  "files.info": (context, args) => {
    need(context, "files:read");
    const found = context.workspace.files.get(String(args["file"]));
    return found === undefined ? refuse("file_not_found") : { ok: true, file: found.file };
  },

  "files.getUploadURLExternal": (context, args) => {
    need(context, "files:write");
    const name = args["filename"];
    const length = Number(args["length"]);
    if (typeof name !== "string" || name === "" || !Number.isInteger(length) || length < 1) refuse("invalid_arguments");
    const id = context.workspace.nextId("F");
    context.uploads.set(id, { name: String(name), length });
    return { ok: true, upload_url: `${context.origin}/upload/v1/${id}`, file_id: id };
  },

  "files.completeUploadExternal": (context, args) => {
    need(context, "files:write");
    const files = structured(args, "files", "invalid_arguments");
    if (!Array.isArray(files) || files.length === 0) return refuse("invalid_arguments");
    const channel = args["channel_id"] === undefined ? undefined : writableChannel(context, args, "channel_id");
    const threadTs = channel === undefined ? undefined : threadOf(channel, args);
    const stored: SlackFile[] = [];
    for (const item of files as { id?: unknown; title?: unknown }[]) {
      const upload = context.uploads.get(String(item.id));
      if (upload?.bytes === undefined) return refuse("file_not_found");
      const file: SlackFile = {
        id: String(item.id),
        name: upload.name,
        title: item.title ?? upload.name,
        size: upload.bytes.length,
        mode: "hosted",
      };
      context.workspace.files.set(file.id, { file, bytes: upload.bytes, mimeType: "application/octet-stream" });
      stored.push(file);
    }
    if (channel !== undefined) {
      channel.messages.push({
        ts: context.workspace.nextTs(),
        user: context.workspace.botUser.id,
        botId: context.workspace.botUser.botId ?? "",
        text: typeof args["initial_comment"] === "string" ? args["initial_comment"] : "",
        files: stored,
        ...(threadTs === undefined ? {} : { threadTs }),
        reactions: new Map(),
        history: [],
        args,
      });
    }
    context.changed();
    return { ok: true, files: stored.map(({ id, title }) => ({ id, title })) };
  },

  "files.delete": (context, args) => {
    need(context, "files:write");
    const id = String(args["file"]);
    if (!context.workspace.files.delete(id)) refuse("file_not_found");
    for (const channel of context.workspace.channels.values()) {
      const index = channel.messages.findIndex((message) => message.files?.some((file) => file.id === id) === true);
      if (index >= 0) channel.messages.splice(index, 1);
    }
    context.changed();
    return { ok: true };
  },
};

/** Runs a method; refusals become answers. */
export function callMethod(context: ApiContext, method: string, args: Args): Answer {
  const run = methods[method];
  if (run === undefined) return { ok: false, error: "unknown_method", req_method: method };
  try {
    return run(context, args);
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
}
