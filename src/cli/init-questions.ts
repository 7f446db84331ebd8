/**
 * The questions of the guided set-up. An answer is tried out before it is taken: tokens by the platform's own check, the
 * model by one tiny call.
 */
import { type CANCEL_SYMBOL, confirm, isCancel, log, multiselect, password, select, spinner, text } from "@clack/prompts";
import { registry } from "../../adapters/registry.js";
import { enabledPlatforms } from "../../config/readiness.js";
import type { GatewayConfig } from "../../config/schema.js";
import { listModels, modelAddress, probeAdapter, probeModel, type ProbeDeps } from "../app/probes.js";
import { GatewayError } from "../domain/errors.js";
import type { Finding } from "../ports/platform-adapter.js";

/** What was answered: variables for .env, keys for the settings file. */
export interface Answers {
  readonly secrets: Record<string, string>;
  readonly settings: Record<string, string>;
}

export interface Asking extends ProbeDeps {
  /** The settings as they would be with these answers. Throws ConfigError. */
  readonly configWith: (answers: Answers) => GatewayConfig;
}

interface Platform {
  readonly name: string;
  readonly title: string;
  readonly hint: string;
  readonly tokens: readonly { readonly variable: string; readonly message: string }[];
}

const platforms: readonly Platform[] = [
  {
    name: "telegram",
    title: "Telegram",
    hint: "a bot from @BotFather",
    tokens: [{ variable: "TELEGRAM_BOT_TOKEN", message: "Telegram: the bot's token (from @BotFather, /newbot)" }],
  },
  {
    name: "discord",
    title: "Discord",
    hint: "an application of the developer portal with the Message Content intent",
    tokens: [
      { variable: "DISCORD_BOT_TOKEN", message: "Discord: the bot's token (discord.com/developers/applications, Bot, Reset Token)" },
    ],
  },
  {
    name: "slack",
    title: "Slack",
    hint: "an app made from config/slack-app-manifest.yaml",
    tokens: [
      { variable: "SLACK_BOT_TOKEN", message: "Slack: the bot token (xoxb-…, OAuth & Permissions)" },
      { variable: "SLACK_APP_TOKEN", message: "Slack: the app-level token (xapp-…, Basic Information, with connections:write)" },
    ],
  },
];

const openAi = "https://api.openai.com/v1";
const typed = "\u0000typed";
const mostListed = 200;

/** The answer, or the end of the set-up when the person pressed Ctrl+C. */
export function answered<T>(value: T | typeof CANCEL_SYMBOL): T {
  if (isCancel(value)) throw new GatewayError("input.invalid", "The set-up was stopped; nothing was written.");
  return value;
}

export function show({ level, subject, message, remedy }: Finding): void {
  const line = `${subject}: ${message}${remedy === undefined ? "" : `\n→ ${remedy}`}`;
  if (level === "ok") log.success(line);
  else if (level === "warning") log.warn(line);
  else log.error(line);
}

/** Which platforms, and their tokens. */
export async function askPlatforms(answers: Answers, asking: Asking): Promise<void> {
  const on = enabledPlatforms(asking.configWith(answers)) as string[];
  const chosen = answered(
    await multiselect({
      message: "Which platforms shall the bot be on? (none: only `mneme chat`)",
      options: platforms.map(({ name, title, hint }) => ({ value: name, label: title, hint })),
      initialValues: on,
      required: false,
    }),
  );
  for (const platform of platforms.filter(({ name }) => chosen.includes(name))) {
    if (on.includes(platform.name) && answered(await confirm({ message: `${platform.title}: keep the token that is set already?` })))
      continue;
    await askTokens(platform, answers, asking);
  }
}

async function askTokens(platform: Platform, answers: Answers, asking: Asking): Promise<void> {
  for (;;) {
    const tokens: Record<string, string> = {};
    for (const { variable, message } of platform.tokens) {
      tokens[variable] = answered(
        await password({ message, validate: (value) => ((value ?? "").trim() === "" ? "It cannot be empty." : undefined) }),
      ).trim();
    }
    const tried: Answers = { ...answers, secrets: { ...answers.secrets, ...tokens } };
    const findings = await checkPlatform(platform, tried, asking);
    for (const finding of findings) show(finding);
    const failed = findings.some(({ level }) => level === "error");
    const next = failed ? await afterFailure(`${platform.title} did not accept that.`) : "keep";
    if (next === "keep") Object.assign(answers.secrets, tokens);
    if (next !== "again") return;
  }
}

async function checkPlatform(platform: Platform, tried: Answers, asking: Asking): Promise<Finding[]> {
  const waiting = spinner();
  waiting.start(`Asking ${platform.title}`);
  try {
    const config = asking.configWith(tried);
    const build = registry.find((entry) => entry.platform === platform.name)?.build(config);
    if (build === undefined)
      return [{ level: "error", subject: platform.title, message: "The settings keep this platform off (enabled: false)." }];
    return await probeAdapter(await build(config, asking), asking.clock);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [{ level: "error", subject: platform.title, message: error.message }];
  } finally {
    waiting.stop(`${platform.title} was asked`);
  }
}

async function afterFailure(message: string): Promise<"again" | "keep" | "skip"> {
  return answered(
    await select<"again" | "keep" | "skip">({
      message,
      options: [
        { value: "again", label: "Enter it again" },
        { value: "keep", label: "Keep it all the same" },
        { value: "skip", label: "Leave it out" },
      ],
    }),
  );
}

/** Server, key and name of the model. */
export async function askModel(answers: Answers, asking: Asking): Promise<void> {
  for (;;) {
    const { model } = asking.configWith(answers);
    const baseUrl = answered(
      await text({
        message: "Address of the model's server (any OpenAI-compatible one)",
        initialValue: model.baseUrl,
        validate: (value) =>
          /^https?:\/\/[^\s/]+/.test(value ?? "") && URL.canParse(value ?? "")
            ? undefined
            : "An address that begins with http:// or https://.",
      }),
    );
    const apiKey = await askKey(baseUrl, model.apiKey);
    const id = await askModelName({ baseUrl, apiKey, headers: model.headers }, model.id);
    const tried: Answers = {
      secrets: { ...answers.secrets, ...(apiKey === undefined || apiKey === model.apiKey ? {} : { OPENAI_API_KEY: apiKey }) },
      settings: { ...answers.settings, "model.id": id, ...(baseUrl === model.baseUrl ? {} : { "model.baseUrl": baseUrl }) },
    };
    const address = modelAddress(asking.configWith(tried));
    const waiting = spinner();
    waiting.start("Asking the model for one word");
    const finding = address === undefined ? undefined : await probeModel(address, asking);
    waiting.stop("The model was asked");
    if (finding !== undefined) show(finding);
    const next = finding?.level === "error" ? await afterFailure("The model did not answer.") : "keep";
    if (next === "keep") {
      Object.assign(answers.secrets, tried.secrets);
      Object.assign(answers.settings, tried.settings);
    }
    if (next !== "again") return;
  }
}

async function askKey(baseUrl: string, known: string | undefined): Promise<string | undefined> {
  if (known !== undefined && answered(await confirm({ message: "Keep the key that is set already?" }))) return known;
  const needed = baseUrl.startsWith(openAi);
  const key = answered(
    await password({
      message: needed ? "Key for the model's server" : "Key for the model's server (empty: it needs none)",
      validate: (value) => (needed && (value ?? "").trim() === "" ? "This server needs a key." : undefined),
    }),
  );
  // An empty answer may come as undefined.
  const trimmed = ((key as string | undefined) ?? "").trim();
  return trimmed === "" ? undefined : trimmed;
}

async function askModelName(server: Parameters<typeof listModels>[0], known: string | undefined): Promise<string> {
  const names = await listModels(server);
  if (names.length > 0 && names.length <= mostListed) {
    const chosen = answered(
      await select({
        message: "Which model?",
        options: [...names.map((name) => ({ value: name, label: name })), { value: typed, label: "another one (type its name)" }],
        ...(known === undefined ? {} : { initialValue: known }),
        maxItems: 12,
      }),
    );
    if (chosen !== typed) return chosen;
  }
  return answered(
    await text({
      message: "The model's name as its server calls it",
      ...(known === undefined ? {} : { initialValue: known }),
      validate: (value) => ((value ?? "").trim() === "" ? "It cannot be empty." : undefined),
    }),
  ).trim();
}
