/**
 * What each REST route of the emulator does, with Discord's own refusals.
 * Strict on purpose: a body that the real API would refuse is refused here with the same code.
 */
import { ApiError, type Answer, type Call, type Route } from "./rest-server.js";
import { snowflake, type Channel, type Interaction, type Stored, type World } from "./world.js";
import type { Gateway } from "./gateway.js";

const interactionLifeMs = 15 * 60_000;
const deferWithinMs = 3_000;
const nonceWindowMs = 5 * 60_000;

export class Routes {
  readonly #world: World;
  readonly #gateway: () => Gateway;
  readonly typing: { readonly channelId: string; readonly at: number }[] = [];
  /** Sent in GET /gateway/bot. */
  sessionStarts = { total: 1000, remaining: 999, reset_after: 14_400_000, max_concurrency: 1 };

  constructor(world: World, gateway: () => Gateway) {
    this.#world = world;
    this.#gateway = gateway;
  }

  list(): Route[] {
    const world = this.#world;
    return [
      { name: "GET /gateway/bot", handle: () => ok({ url: this.#gateway().url, shards: 1, session_start_limit: this.sessionStarts }) },
      { name: "GET /users/@me", handle: () => ok({ ...world.wireUser(world.bot.id), verified: true, mfa_enabled: false }) },
      {
        name: "GET /applications/@me",
        handle: () =>
          ok({
            id: world.applicationId,
            name: "mneme",
            description: "",
            icon: null,
            bot_public: true,
            bot_require_code_grant: false,
            verify_key: "0",
            flags: world.contentIntent === "on" ? 1 << 18 : world.contentIntent === "limited" ? 1 << 19 : 0,
          }),
      },
      { name: "GET /channels/:channel", handle: (_call, { channel }) => ok(world.wireChannel(this.#channel(channel))) },
      { name: "GET /channels/:channel/messages", handle: (call, { channel }) => this.#listMessages(call, this.#channel(channel)) },
      {
        name: "GET /channels/:channel/messages/:message",
        handle: (_call, { channel, message }) => ok(this.#wire(this.#message(this.#channel(channel), message))),
      },
      { name: "POST /channels/:channel/messages", handle: (call, { channel }) => this.#create(call, this.#channel(channel)) },
      {
        name: "PATCH /channels/:channel/messages/:message",
        handle: (call, { channel, message }) => this.#edit(call, this.#channel(channel), message),
      },
      {
        name: "DELETE /channels/:channel/messages/:message",
        handle: (_call, { channel, message }) => this.#remove(this.#channel(channel), message),
      },
      {
        name: "POST /channels/:channel/typing",
        handle: (_call, { channel }) => {
          const place = this.#channel(channel);
          this.#mayWrite(place);
          this.typing.push({ channelId: place.id, at: Date.now() });
          return { status: 204 };
        },
      },
      { name: "PUT /channels/:channel/messages/:message/reactions/:emoji/@me", handle: (_call, params) => this.#react(params, true) },
      { name: "DELETE /channels/:channel/messages/:message/reactions/:emoji/@me", handle: (_call, params) => this.#react(params, false) },
      {
        name: "POST /channels/:channel/messages/:message/threads",
        handle: (call, { channel, message }) => this.#startThread(call, this.#channel(channel), message),
      },
      { name: "PUT /applications/:application/commands", handle: (call, { application }) => this.#commands(call, application) },
      { name: "GET /guilds/:guild/audit-logs", handle: () => this.#auditLog() },
      {
        name: "POST /interactions/:interaction/:token/callback",
        auth: false,
        handle: (call, { interaction, token }) => this.#callback(call, interaction, token),
      },
      {
        name: "GET /webhooks/:application/:token/messages/@original",
        auth: false,
        handle: (_call, { token }) => ok(this.#wire(this.#original(token))),
      },
      {
        name: "PATCH /webhooks/:application/:token/messages/@original",
        auth: false,
        handle: (call, { token }) => {
          const original = this.#original(token);
          this.#checkContent(call, original);
          return ok(this.#change(original, call));
        },
      },
      {
        name: "PATCH /webhooks/:application/:token/messages/:message",
        auth: false,
        handle: (call, { token, message }) => {
          const interaction = this.#live(token);
          const found = this.#message(this.#channel(interaction.channelId), message);
          this.#checkContent(call, found);
          return ok(this.#change(found, call));
        },
      },
      {
        name: "POST /webhooks/:application/:token",
        auth: false,
        handle: (call, { token }) => {
          const interaction = this.#live(token);
          if (interaction.acknowledgedAt === undefined) throw new ApiError(404, 10_015, "Unknown Webhook");
          this.#checkContent(call, undefined);
          return ok(
            this.#wire(
              this.#store(call, interaction.channelId, {
                flags: Number(call.body["flags"] ?? 0),
                extra: { webhook_id: world.applicationId },
              }),
            ),
          );
        },
      },
      {
        name: "GET /attachments/:channel/:attachment/:name",
        auth: false,
        handle: (call, { attachment, name }) => this.#file(call, attachment, name),
      },
    ];
  }

  #channel(id: string | undefined): Channel {
    const found = this.#world.channels.get(id ?? "");
    if (found === undefined) throw new ApiError(404, 10_003, "Unknown Channel");
    if (!found.canView) throw new ApiError(403, 50_001, "Missing Access");
    return found;
  }

  #message(channel: Channel, id: string | undefined): Stored {
    const found = this.#world.messages.get(id ?? "");
    if (found === undefined || found.removed || found.channelId !== channel.id) throw new ApiError(404, 10_008, "Unknown Message");
    return found;
  }

  #mayWrite(channel: Channel): void {
    if (channel.closed) throw new ApiError(403, 50_007, "Cannot send messages to this user");
    if (channel.locked || channel.archived) throw new ApiError(400, 50_083, "Thread is archived");
    if (!channel.canSend) throw new ApiError(403, 50_013, "Missing Permissions");
  }

  #wire(message: Stored): Record<string, unknown> {
    return this.#world.wireMessage(message, { gateway: false, blank: this.#world.contentIntent === "off" });
  }

  #listMessages(call: Call, channel: Channel): Answer {
    const limit = Number(call.query.get("limit") ?? "50");
    if (!Number.isInteger(limit) || limit < 1 || limit > 100)
      throw invalidForm({ limit: { _errors: [{ code: "NUMBER_TYPE_MAX", message: "int value should be less than or equal to 100." }] } });
    const before = call.query.get("before");
    const after = call.query.get("after");
    const all = this.#world.inChannel(channel.id);
    const chosen =
      after !== null
        ? all.filter((message) => BigInt(message.id) > BigInt(after)).slice(0, limit)
        : all.filter((message) => before === null || BigInt(message.id) < BigInt(before)).slice(-limit);
    return ok(chosen.reverse().map((message) => this.#wire(message)));
  }

  #create(call: Call, channel: Channel): Answer {
    this.#mayWrite(channel);
    this.#checkContent(call, undefined);
    const nonce = call.body["nonce"];
    if (nonce !== undefined && ((typeof nonce !== "string" && typeof nonce !== "number") || String(nonce).length > 25)) {
      throw invalidForm({ nonce: { _errors: [{ code: "NONCE_TYPE_TOO_LONG", message: "Must be 25 or fewer in length." }] } });
    }
    if (call.body["enforce_nonce"] === true && nonce !== undefined) {
      const first = this.#world
        .inChannel(channel.id)
        .find(
          (message) =>
            message.nonce === String(nonce) && message.authorId === this.#world.bot.id && Date.now() - message.at < nonceWindowMs,
        );
      if (first !== undefined) return ok(this.#wire(first));
    }
    const reference = call.body["message_reference"] as { message_id?: string; fail_if_not_exists?: boolean } | undefined;
    let replyTo: string | undefined;
    if (reference !== undefined) {
      const target = this.#world.messages.get(reference.message_id ?? "");
      if (target !== undefined && !target.removed && target.channelId === channel.id) replyTo = target.id;
      else if (reference.fail_if_not_exists !== false) {
        throw invalidForm({ message_reference: { _errors: [{ code: "REPLIES_UNKNOWN_MESSAGE", message: "Unknown message" }] } });
      }
    }
    return ok(this.#wire(this.#store(call, channel.id, { nonce: nonce === undefined ? undefined : String(nonce), replyTo })));
  }

  #store(
    call: Call,
    channelId: string,
    more: {
      readonly nonce?: string | undefined;
      readonly replyTo?: string | undefined;
      readonly type?: number;
      readonly flags?: number;
      readonly extra?: Record<string, unknown>;
    },
  ): Stored {
    const content = String(call.body["content"] ?? "");
    const message: Stored = {
      id: snowflake(),
      channelId,
      authorId: this.#world.bot.id,
      type: more.type ?? (more.replyTo === undefined ? 0 : 19),
      content,
      at: Date.now(),
      editedAt: undefined,
      nonce: more.nonce,
      history: [],
      attachments: call.files.map((file) => ({
        id: snowflake(),
        filename: file.name,
        size: file.content.length,
        url: "http://127.0.0.1/none",
        proxy_url: "http://127.0.0.1/none",
        content_type: file.type,
      })),
      files: call.files.map((file) => ({ name: file.name, content: file.content })),
      components: listOf(call.body["components"]),
      replyTo: more.replyTo,
      reactions: new Set(),
      flags: more.flags ?? Number(call.body["flags"] ?? 0),
      extra: more.extra ?? {},
      removed: false,
      couldPing: couldPing(content, call.body["allowed_mentions"]),
      allowedMentions: call.body["allowed_mentions"],
    };
    this.#world.messages.set(message.id, message);
    this.announce("MESSAGE_CREATE", message);
    return message;
  }

  /** Tells the sessions about a message. */
  announce(t: "MESSAGE_CREATE" | "MESSAGE_UPDATE", message: Stored): void {
    const guild = this.#world.channels.get(message.channelId)?.guildId !== undefined;
    this.#gateway().dispatch(t, guild ? "guildMessages" : "directMessages", (blank) =>
      this.#world.wireMessage(message, { gateway: true, blank }),
    );
  }

  #edit(call: Call, channel: Channel, id: string | undefined): Answer {
    const message = this.#message(channel, id);
    if (message.authorId !== this.#world.bot.id) throw new ApiError(403, 50_005, "Cannot edit a message authored by another user");
    if (channel.archived || channel.locked) throw new ApiError(400, 50_083, "Thread is archived");
    this.#checkContent(call, message);
    return ok(this.#change(message, call));
  }

  #change(message: Stored, call: Call): Record<string, unknown> {
    const content = call.body["content"];
    if (typeof content === "string") {
      if ((message.flags & 128) === 0) message.history.push(message.content);
      message.content = content;
      message.editedAt = Date.now();
    }
    if (call.body["components"] !== undefined) message.components = listOf(call.body["components"]);
    for (const file of call.files) message.files.push({ name: file.name, content: file.content });
    message.flags &= ~128;
    (message as { couldPing: boolean }).couldPing ||= couldPing(message.content, call.body["allowed_mentions"]);
    this.announce("MESSAGE_UPDATE", message);
    return this.#wire(message);
  }

  #remove(channel: Channel, id: string | undefined): Answer {
    const message = this.#message(channel, id);
    message.removed = true;
    this.#gateway().dispatch("MESSAGE_DELETE", channel.guildId === undefined ? "directMessages" : "guildMessages", () => ({
      id: message.id,
      channel_id: channel.id,
      ...(channel.guildId === undefined ? {} : { guild_id: channel.guildId }),
    }));
    return { status: 204 };
  }

  #react(params: Readonly<Record<string, string>>, on: boolean): Answer {
    const message = this.#message(this.#channel(params["channel"]), params["message"]);
    const emoji = params["emoji"] ?? "";
    if (/^[\x20-\x7e]*$/.test(emoji) && !/^\w+:\d+$/.test(emoji)) throw new ApiError(400, 10_014, "Unknown Emoji");
    if (on) message.reactions.add(emoji);
    else message.reactions.delete(emoji);
    return { status: 204 };
  }

  #startThread(call: Call, parent: Channel, id: string | undefined): Answer {
    const source = this.#message(parent, id);
    const name = call.body["name"];
    if (typeof name !== "string" || name.trim() === "" || name.length > 100)
      throw invalidForm({ name: { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: "Must be between 1 and 100 in length." }] } });
    if (parent.type !== 0) throw new ApiError(400, 50_024, "Cannot execute action on this channel type");
    if (!parent.canSend) throw new ApiError(403, 50_013, "Missing Permissions");
    if (this.#world.channels.has(source.id)) throw new ApiError(400, 160_004, "A thread has already been created for this message");
    const thread = this.#world.channel({ id: source.id, type: 11, name, guildId: parent.guildId ?? "", parentId: parent.id });
    this.#gateway().dispatch("THREAD_CREATE", "guilds", () => ({ ...this.#world.wireChannel(thread), newly_created: true }));
    return { status: 201, body: this.#world.wireChannel(thread) };
  }

  #commands(call: Call, application: string | undefined): Answer {
    if (application !== this.#world.applicationId)
      throw new ApiError(403, 20_012, "You are not authorized to perform this action on this application");
    const list = call.bodyIsList;
    if (list === undefined)
      throw invalidForm({ _errors: [{ code: "LIST_TYPE_CONVERT", message: "Only iterables may be used in a ListType" }] });
    if (list.length > 100) throw new ApiError(400, 30_032, "Maximum number of application commands reached (100)");
    const names = new Set<string>();
    for (const entry of list as Record<string, unknown>[]) {
      const name = entry["name"];
      const description = entry["description"];
      if (
        typeof name !== "string" ||
        !/^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u.test(name) ||
        name !== name.toLowerCase() ||
        names.has(name)
      ) {
        throw invalidForm({ name: { _errors: [{ code: "APPLICATION_COMMAND_INVALID_NAME", message: "Command name is invalid" }] } });
      }
      names.add(name);
      if (typeof description !== "string" || description.length < 1 || description.length > 100) {
        throw invalidForm({
          description: { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: "Must be between 1 and 100 in length." }] },
        });
      }
      for (const option of listOf(entry["options"]) as Record<string, unknown>[]) {
        const text = option["description"];
        if (
          typeof option["name"] !== "string" ||
          option["type"] !== 3 ||
          typeof text !== "string" ||
          text.length < 1 ||
          text.length > 100
        ) {
          throw invalidForm({ options: { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: "option" }] } });
        }
      }
    }
    this.#world.commands = (list as { name: string; description: string }[]).map(({ name, description }) => ({ name, description }));
    return ok(this.#world.commands.map((command) => ({ ...command, id: snowflake(), application_id: application, type: 1, version: "1" })));
  }

  #auditLog(): Answer {
    if (this.#world.addedBy === undefined) throw new ApiError(403, 50_013, "Missing Permissions");
    return ok({
      audit_log_entries: [{ id: snowflake(), action_type: 28, target_id: this.#world.bot.id, user_id: this.#world.addedBy }],
      users: [this.#world.wireUser(this.#world.addedBy)],
    });
  }

  #callback(call: Call, id: string | undefined, token: string | undefined): Answer {
    const interaction = [...this.#world.interactions.values()].find((known) => known.id === id && known.token === token);
    if (interaction === undefined) throw new ApiError(404, 10_062, "Unknown interaction");
    if (interaction.acknowledgedAt !== undefined) throw new ApiError(400, 40_060, "Interaction has already been acknowledged.");
    if (interaction.expired || Date.now() - interaction.at > deferWithinMs) throw new ApiError(404, 10_062, "Unknown interaction");
    const type = call.body["type"];
    const allowed = interaction.type === 2 ? [4, 5, 9] : [4, 5, 6, 7, 9];
    if (typeof type !== "number" || !allowed.includes(type))
      throw invalidForm({ type: { _errors: [{ code: "BASE_TYPE_CHOICES", message: "type" }] } });
    interaction.acknowledgedAt = Date.now();
    interaction.callbackType = type;
    if (type === 5) {
      const loading = this.#store({ ...call, body: {}, files: [] }, interaction.channelId, {
        type: 20,
        flags: 128,
        extra: { webhook_id: this.#world.applicationId },
      });
      interaction.originalId = loading.id;
    }
    return { status: 204 };
  }

  #live(token: string | undefined): Interaction {
    const interaction = [...this.#world.interactions.values()].find((known) => known.token === token);
    if (interaction === undefined) throw new ApiError(404, 10_015, "Unknown Webhook");
    if (interaction.expired || Date.now() - interaction.at > interactionLifeMs) throw new ApiError(401, 50_027, "Invalid Webhook Token");
    return interaction;
  }

  #original(token: string | undefined): Stored {
    const interaction = this.#live(token);
    const found = this.#world.messages.get(interaction.originalId ?? "");
    if (found === undefined || found.removed) throw new ApiError(404, 10_008, "Unknown Message");
    return found;
  }

  #file(call: Call, attachment: string | undefined, name: string | undefined): Answer {
    const stored = this.#world.bytes.get(`${attachment}/${name}`);
    const expires = Number.parseInt(call.query.get("ex") ?? "0", 16) * 1_000;
    if (stored === undefined || expires < Date.now()) {
      return {
        status: 404,
        raw: { type: "text/plain;charset=UTF-8", content: new TextEncoder().encode("This content is no longer available.") },
      };
    }
    return { status: 200, raw: { type: stored.type, content: stored.content } };
  }

  #checkContent(call: Call, editing: Stored | undefined): void {
    const content = call.body["content"];
    if (content !== undefined && content !== null && typeof content !== "string")
      throw invalidForm({ content: { _errors: [{ code: "STRING_TYPE_CONVERT", message: "Could not interpret as string." }] } });
    const text = typeof content === "string" ? content : "";
    if (text.length > 2000)
      throw invalidForm({ content: { _errors: [{ code: "BASE_TYPE_MAX_LENGTH", message: "Must be 2000 or fewer in length." }] } });
    const keeps = editing !== undefined && content === undefined && (editing.content !== "" || editing.files.length > 0);
    if (text.trim() === "" && call.files.length === 0 && !keeps && (editing === undefined || editing.files.length === 0))
      throw new ApiError(400, 50_006, "Cannot send an empty message");
    checkMentions(call.body["allowed_mentions"]);
    checkComponents(call.body["components"]);
  }
}

function ok(body: unknown): Answer {
  return { status: 200, body };
}

function invalidForm(errors: object): ApiError {
  return new ApiError(400, 50_035, "Invalid Form Body", errors);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function checkMentions(value: unknown): void {
  if (value === undefined || value === null) return;
  const parse = (value as { parse?: unknown }).parse;
  if (parse === undefined) return;
  if (!Array.isArray(parse) || parse.some((kind) => kind !== "users" && kind !== "roles" && kind !== "everyone")) {
    throw invalidForm({
      allowed_mentions: {
        parse: { _errors: [{ code: "BASE_TYPE_CHOICES", message: "Value must be one of {'users', 'roles', 'everyone'}." }] },
      },
    });
  }
}

function checkComponents(value: unknown): void {
  if (value === undefined || value === null) return;
  const refuse = (): ApiError => invalidForm({ components: { _errors: [{ code: "BASE_TYPE_BAD_LENGTH", message: "components" }] } });
  if (!Array.isArray(value) || value.length > 5) throw refuse();
  const ids = new Set<string>();
  for (const row of value as { type?: unknown; components?: unknown }[]) {
    if (row.type !== 1 || !Array.isArray(row.components) || row.components.length < 1 || row.components.length > 5) throw refuse();
    for (const button of row.components as { type?: unknown; style?: unknown; label?: unknown; custom_id?: unknown }[]) {
      const { custom_id: id, label } = button;
      if (button.type !== 2 || typeof id !== "string" || id.length < 1 || id.length > 100 || ids.has(id)) throw refuse();
      if (typeof label !== "string" || label.length < 1 || label.length > 80 || typeof button.style !== "number") throw refuse();
      ids.add(id);
    }
  }
}

/** Whether the text, with these allowed mentions, could notify anybody. */
function couldPing(content: string, allowed: unknown): boolean {
  const parse = (allowed as { parse?: string[] } | undefined)?.parse ?? ["users", "roles", "everyone"];
  return (
    (parse.includes("everyone") && /@(everyone|here)/.test(content)) ||
    (parse.includes("users") && /<@!?\d+>/.test(content)) ||
    (parse.includes("roles") && /<@&\d+>/.test(content))
  );
}
