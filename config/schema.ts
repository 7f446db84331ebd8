/**
 * Every setting: type, limits, default and what it does. The sample file, the JSON schema and every error message are made from here.
 * A setting stands here only once something obeys it; a key that is not here is refused, not ignored.
 */
import { z } from "zod";
import { crossChecks } from "./cross-checks.js";
import { fallbacks } from "./fallbacks.js";
import { media } from "./media.js";
import { accounts, choice, count, flag, secret, timeZone, webUrl } from "./fields.js";
import { budgets, chats, prices, reset, roles } from "./people.js";
import { discord, slack, telegram } from "./platforms.js";
import { honcho, providers, supermemory } from "./providers.js";

const agent = z.strictObject({
  name: z.string().min(1).max(80).default("mneme").describe("What the agent calls itself."),
  identity: z
    .string()
    .max(20_000)
    .optional()
    .describe("Who the agent is and how it should behave, in your words. First layer of the system prompt.")
    .meta({ examples: ["You are a calm, exact assistant for a small team."] }),
  maxIterations: count(60, 1, 1000).describe("Model calls in one turn; the last one must answer without tools."),
  promptCacheMinutes: count(60, 0, 10_080).describe(
    "How long the model's server keeps a prompt prefix. A session idle for longer gets a fresh snapshot at its next turn; 10 minutes before, what it has not learnt yet is saved. 0 = never.",
  ),
  idleTimeoutMs: count(120_000, 1000, 3_600_000).describe("A model stream that is silent for this long has failed."),
  compressAt: z
    .number()
    .min(0.1)
    .max(0.8)
    .default(0.5)
    .describe("A conversation that fills this share of the model's window (model.contextTokens) is summarised in the background."),
});

const auxModel = z.strictObject({
  id: z
    .string()
    .min(1)
    .optional()
    .describe("Model for recaps of old conversations. Without it, search answers with excerpts.")
    .meta({ examples: ["small-model"] }),
  baseUrl: webUrl()
    .optional()
    .describe("Its server; without it model.baseUrl.")
    .meta({ examples: ["http://127.0.0.1:11434/v1"] }),
  apiKey: secret()
    .describe("Its key; without it model.apiKey (only on the same server).")
    .meta({ examples: ["key"] }),
});

const model = z.strictObject({
  baseUrl: webUrl()
    .default("https://api.openai.com/v1")
    .describe("Any OpenAI-compatible server: OpenAI, OpenRouter, vLLM, Ollama, LM Studio …"),
  apiKey: secret()
    .describe("Key for the model's server. Better in the environment: OPENAI_API_KEY.")
    .meta({ examples: ["key"] }),
  id: z
    .string()
    .min(1)
    .optional()
    .describe("Name of the model as its server calls it. Needed to answer anybody.")
    .meta({ examples: ["model-name"] }),
  contextTokens: z
    .int()
    .min(1024)
    .max(100_000_000)
    .optional()
    .describe(
      "Size of the model's window in tokens. Servers do not say it: set it, or a window of 128,000 is assumed, which cuts or fails on a smaller one.",
    )
    .meta({ examples: [128_000] }),
  maxOutputTokens: z
    .int()
    .min(1)
    .max(10_000_000)
    .optional()
    .describe("Most tokens of one answer; without it the server decides.")
    .meta({ examples: [8192] }),
  choices: z
    .array(z.string().min(1))
    .default([])
    .describe("Other models of the same server that people may choose for their chat with /model; operators may choose any.")
    .meta({ examples: [["small-model"]] }),
  parallel: count(0, 0, 10_000).describe(
    "Calls at the same time; 0 = no limit, 1 for servers with one slot (reviews then give way to answers).",
  ),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe("Extra HTTP headers for the model's server.")
    .meta({ examples: [{ "X-Title": "mneme" }] }),
  aux: auxModel.prefault({}).describe("A smaller model for side work."),
  fallbacks,
});

const access = z.strictObject({
  mode: choice(["pairing", "allowlist", "open"], "pairing").describe(
    "pairing: strangers get a code that an operator approves. allowlist: only who is listed. open: everybody, said loudly at start.",
  ),
  operators: accounts()
    .describe("Accounts that may approve others and use operators' commands.")
    .meta({ examples: [["telegram:123456789"]] }),
  users: accounts()
    .describe("Accounts that are admitted without pairing.")
    .meta({ examples: [["discord:123456789012345678", "slack:U0123456789"]] }),
  groups: accounts()
    .describe("Chats, guilds or workspaces where the bot answers everybody as a guest.")
    .meta({ examples: [["telegram:-1001234567890"]] }),
  bots: accounts()
    .describe("Other bots that may address this one, by a literal mention only.")
    .meta({ examples: [["discord:987654321098765432"]] }),
  linking: choice(["self", "operator", "off"], "self").describe(
    "Two accounts of one person share memory once both have confirmed: by themselves, only after an operator's word, or never.",
  ),
  roles: roles.prefault({}).describe("What each role may use."),
});

const sessions = z.strictObject({
  groupScope: choice(["chat", "member"], "chat").describe("In groups: one conversation for the chat, or one per member."),
  busyMode: choice(["queue", "steer", "interrupt"], "queue").describe(
    "A message during a turn: waits for the next turn, is given to the model after the running tool, or cancels the running turn.",
  ),
  reset: reset.prefault({}).describe("The end of conversations."),
  queueLimit: count(32, 1, 10_000).describe("Waiting messages per session; what does not fit is refused with a word to the person."),
});

const turns = z.strictObject({
  concurrency: count(256, 1, 100_000).describe("Turns at the same time, over all sessions."),
  perPerson: count(4, 1, 10_000).describe("Turns of one person at the same time."),
  perPersonPer10Min: count(30, 1, 1_000_000).describe("Turns of one person in any 10 minutes."),
  timeoutMs: count(600_000, 1000, 86_400_000).describe("Deadline of a turn; it stops the model call and the tools."),
  joinMs: count(1500, 0, 60_000).describe("What the same person adds within this time joins the turn that has just begun; 0 = off."),
});

const mcpServer = z.strictObject({
  command: z.string().min(1).optional().describe("Program to start (stdio). Either this or url."),
  args: z.array(z.string()).default([]).describe("Its arguments."),
  env: z
    .record(z.string(), z.string())
    .default({})
    .describe("Its variables; nothing else of the environment is passed but a short safe list."),
  cwd: z.string().min(1).optional().describe("Its working folder."),
  url: webUrl().optional().describe("Address of a server that speaks streamable HTTP."),
  headers: z.record(z.string(), z.string()).default({}).describe("HTTP headers, for example Authorization."),
  allow: z.array(z.string()).optional().describe("Names of the tools to offer; without it all."),
  readOnly: z.array(z.string()).default([]).describe("Tools without effects: they may run in parallel and again after a crash."),
  timeoutMs: count(60_000, 100, 3_600_000).describe("Limit of one call."),
});

export const configSchema = z
  .strictObject({
    agent: agent.prefault({}).describe("The agent itself."),
    model: model.prefault({}).describe("The language model."),
    telegram: telegram.prefault({}).describe("Telegram."),
    discord: discord.prefault({}).describe("Discord."),
    slack: slack.prefault({}).describe("Slack."),
    access: access.prefault({}).describe("Who may talk to the bot. Fails closed: empty lists admit nobody."),
    sessions: sessions.prefault({}).describe("Conversations."),
    turns: turns.prefault({}).describe("Limits of single turns."),
    groups: z
      .strictObject({
        contextMessages: count(30, 0, 200).describe("Earlier messages shown to the model when it is addressed in a group; 0 = none."),
        speakerProfile: choice(["ask", "on", "off"], "ask").describe(
          "A member's own USER.md beside their own message in a group: if they switch it on there (/profile on), always, or never.",
        ),
      })
      .prefault({})
      .describe("Group chats."),
    chats: chats.describe("What single chats, threads or whole workspaces do differently."),
    prices: prices.prefault({}).describe("What the models cost, for /usage and budgets."),
    budgets: budgets.prefault({}).describe("What a day may take; a clear word when it is used up."),
    delivery: z
      .strictObject({
        progress: choice(["off", "line"], "off").describe("line shows what the agent is doing in one line that is edited in place."),
        expireHours: count(24, 1, 720).describe("An answer that could not be delivered for this long is given up."),
        maxParts: count(8, 0, 100).describe("Messages of one answer; the rest goes as one attached .md file. 0 = no limit."),
      })
      .prefault({})
      .describe("Sending answers."),
    media: media.prefault({}).describe("Files that people send."),
    memory: z
      .strictObject({
        enabled: flag(true).describe("The agent's own notes (MEMORY.md)."),
        userProfileEnabled: flag(true).describe("What it knows of each person (USER.md)."),
        memoryCharLimit: count(2200, 100, 100_000).describe("Size of a MEMORY.md in characters."),
        userCharLimit: count(1375, 100, 100_000).describe("Size of a USER.md in characters."),
        nudgeInterval: count(10, 0, 10_000).describe("User turns between two memory reviews; 0 = no reviews."),
        flushMinTurns: count(6, 0, 10_000).describe(
          "Unreviewed user turns that earn a review before a session ends (2 in threads); 0 = never.",
        ),
        provider: choice(["none", "honcho", "supermemory"], "none").describe(
          "External memory service beside the built-in memory. MNEME_MEMORY_PROVIDER.",
        ),
      })
      .prefault({})
      .describe("What is remembered in every conversation."),
    providers: providers.prefault({}).describe("Limits of the external memory."),
    honcho: honcho.prefault({}).describe("Honcho; on with memory.provider: honcho."),
    supermemory: supermemory.prefault({}).describe("Supermemory; on with memory.provider: supermemory."),
    skills: z
      .strictObject({
        enabled: flag(true).describe("Skills: ways of doing things that the agent keeps and improves."),
        nudgeInterval: count(10, 0, 10_000).describe("Model answers with tool calls between two skill reviews; 0 = no reviews."),
      })
      .prefault({})
      .describe("Skills."),
    recall: z
      .strictObject({
        recap: choice(["on", "off"], "on").describe("Found conversations are summarised by model.aux; off gives excerpts."),
      })
      .prefault({})
      .describe("Search over past conversations."),
    learning: z
      .strictObject({
        notices: choice(["on", "off"], "on").describe("One line in the chat when a review saved something."),
        idleSeconds: count(5, 0, 3600).describe("A review starts when the session has been quiet for this long."),
      })
      .prefault({})
      .describe("Reviews in the background."),
    redis: z
      .strictObject({
        url: z
          .url({ protocol: /^rediss?$/ })
          .optional()
          .describe("redis://… puts background jobs on Redis (needed for mneme worker). Without it they run in this process. REDIS_URL.")
          .meta({ examples: ["redis://127.0.0.1:6379"] }),
        prefix: z
          .string()
          .regex(/^[A-Za-z0-9_-]{1,64}$/, "1 to 64 letters, digits, _ or -")
          .default("mneme")
          .describe("Beginning of all keys in Redis; one per bot."),
      })
      .prefault({})
      .describe("Redis."),
    mcp: z
      .strictObject({
        servers: z
          .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "a name of up to 32 small letters, digits and -"), mcpServer)
          .default({})
          .describe("Servers by name; their tools are called name_tool.")
          .meta({ examples: [{ files: { command: "npx", args: ["some-mcp-server", "/srv/files"], readOnly: ["list", "read"] } }] }),
      })
      .prefault({})
      .describe("Tools from MCP servers; operators only."),
    http: z
      .strictObject({
        host: z.string().min(1).default("127.0.0.1").describe("Address the HTTP server (webhooks, /healthz) listens on."),
        port: count(8787, 0, 65_535).describe("Its port; 0 = any free one, named in the log."),
      })
      .prefault({})
      .describe("The one HTTP server."),
    ui: z
      .strictObject({
        language: choice(["auto", "en", "zh"], "auto").describe("Language of notices and errors; auto follows the person's last messages."),
      })
      .prefault({})
      .describe("What people read from the program itself."),
    data: z
      .strictObject({ dir: z.string().min(1).default("data").describe("Folder of the database, memory files and skills. MNEME_DATA_DIR.") })
      .prefault({})
      .describe("Where everything is kept."),
    log: z
      .strictObject({ level: choice(["debug", "info", "warn", "error"], "info").describe("Least level that is logged. MNEME_LOG_LEVEL.") })
      .prefault({})
      .describe("The log."),
    timezone: timeZone().default("system").describe("Time zone of the conversations; system = the machine's."),
  })
  .superRefine(crossChecks);

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

type With<T, Key extends keyof T> = Omit<T, Key> & { readonly [Name in Key]-?: NonNullable<T[Name]> };

/** All settings, parsed and frozen. `data.dir` is absolute and `timezone` an IANA name. */
export type GatewayConfig = Frozen<z.output<typeof configSchema>>;
/** What the Telegram adapter is given: its branch, once there is a token. */
export type TelegramSettings = With<GatewayConfig["telegram"], "token">;
export type DiscordSettings = With<GatewayConfig["discord"], "token">;
export type SlackSettings = With<GatewayConfig["slack"], "botToken">;
export type AgentSettings = GatewayConfig["agent"];
export type ModelSettings = GatewayConfig["model"];
export type AccessSettings = GatewayConfig["access"];
export type McpServerSettings = GatewayConfig["mcp"]["servers"][string];
