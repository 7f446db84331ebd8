/**
 * `mneme init`: asks for what is missing, tries it out, writes .env and the settings file, pairs the first operator. Nothing
 * is written before the person has seen what will be; without a terminal it only says what is needed.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { configFileVariable } from "../../config/env.js";
import { loadConfig } from "../../config/load.js";
import { whatIsMissing } from "../../config/readiness.js";
import { secretsOf } from "../../config/secrets.js";
import { createLogger } from "../app/logger.js";
import { createIds, systemClock as clock } from "../app/runtime.js";
import { createRedactor } from "../safety/redact.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { textOf, withSettings, withVariables, writePrivate } from "./init-files.js";
import type { Answers, Asking } from "./init-questions.js";
import { sayWhatIsMissing } from "./missing.js";

/** The variables that say the same as a key of the settings file, and win over it. */
const variableOf: Readonly<Record<string, string>> = { "model.id": "MNEME_MODEL", "model.baseUrl": "OPENAI_BASE_URL" };

export async function init(context: CliContext, options: { readonly yes?: boolean }): Promise<number> {
  if (!context.isTerminal || options.yes === true) return sayNeeds(context);
  const { intro, outro, log } = await import("@clack/prompts");
  const { askModel, askPlatforms } = await import("./init-questions.js");
  const answers: Answers = { secrets: {}, settings: {} };
  const asking = createAsking(context);
  intro("Set-up of mneme. Nothing is written before you have seen it; Ctrl+C stops.");
  await askModel(answers, asking);
  await askPlatforms(answers, asking);
  if (!(await write(context, answers))) {
    outro("Nothing was written.");
    return exitCodes.failed;
  }
  context.forgetConfig();
  for (const { key, remedy } of whatIsMissing(context.config(), "chat")) log.warn(`${key} is still missing. ${remedy}`);
  const { pairFirstOperator } = await import("./init-pairing.js");
  await pairFirstOperator(context);
  outro("Done. `mneme start` runs the gateway, `mneme chat` talks to it here, `mneme doctor` checks everything.");
  return exitCodes.ok;
}

function sayNeeds(context: CliContext): number {
  const missing = whatIsMissing(context.config(), "start");
  if (missing.length > 0) {
    sayWhatIsMissing(context, missing);
    return exitCodes.usage;
  }
  context.print("Everything that is needed is set. `mneme doctor` checks it, `mneme start` runs the gateway.");
  return exitCodes.ok;
}

function settingsFile({ options, env, cwd }: CliContext): string {
  const named = env[configFileVariable];
  return resolve(cwd, options.config ?? (named === undefined || named === "" ? "mneme.yaml" : named));
}

function createAsking(context: CliContext): Asking {
  const file = settingsFile(context);
  const configFile = existsSync(file) ? file : undefined;
  const env = { ...context.env, [configFileVariable]: "" };
  const configWith: Asking["configWith"] = ({ secrets, settings }) => {
    const given = Object.entries(settings).map(([key, value]) => [variableOf[key] ?? key, value] as const);
    return loadConfig({
      configFile,
      dataDir: context.options.data,
      cwd: context.cwd,
      env: { ...env, ...secrets, ...Object.fromEntries(given) },
    });
  };
  const redactor = createRedactor({ secrets: secretsOf(configWith({ secrets: {}, settings: {} })) });
  return { configWith, clock, ids: createIds({ clock }), logger: createLogger({ level: "error", redactor, destination: 2 }) };
}

/** Shows what will be written and writes it when the person agrees. */
async function write(context: CliContext, { secrets, settings }: Answers): Promise<boolean> {
  const { confirm, log, note } = await import("@clack/prompts");
  const { answered } = await import("./init-questions.js");
  const envFile = join(context.cwd, ".env");
  const yamlFile = settingsFile(context);
  const [envText, yamlText] = [textOf(envFile), textOf(yamlFile)];
  const parts = [
    ...(Object.keys(secrets).length === 0
      ? []
      : [`${verb(envText)} ${envFile} (readable by you alone):\n  ${Object.keys(secrets).join(", ")}`]),
    ...(Object.keys(settings).length === 0
      ? []
      : [
          `${verb(yamlText)} ${yamlFile}:\n  ${Object.entries(settings)
            .map(([key, value]) => `${key}: ${value}`)
            .join("\n  ")}`,
        ]),
  ];
  if (parts.length === 0) {
    log.info("Everything is set already; nothing has to be written.");
    return true;
  }
  note(parts.join("\n"), "To be written");
  if (!answered(await confirm({ message: "Write this? Everything else in these files stays." }))) return false;
  if (Object.keys(secrets).length > 0) writePrivate(envFile, withVariables(envText ?? "", secrets));
  if (Object.keys(settings).length > 0) writePrivate(yamlFile, withSettings(yamlText ?? "", settings, yamlFile));
  const winners = [...Object.keys(secrets), ...Object.keys(settings).map((key) => variableOf[key] ?? "")].filter(
    (name) => (context.env[name] ?? "") !== "",
  );
  if (winners.length > 0) log.warn(`${winners.join(", ")} of the environment wins over these files as long as it is set there.`);
  return true;
}

function verb(existing: string | undefined): string {
  return existing === undefined ? "New" : "Change";
}
