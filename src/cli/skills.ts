/**
 * `mneme skills`: lists and shows skills, their history, and takes changes back. For the operator: it looks into all spaces; what is
 * changed must be named with --space, because the shared ones are everybody's.
 */
import { skillHistory, skillsOffline, skillTexts, undoSkill, type SkillChangeLine } from "../app/skills-offline.js";
import { GatewayError } from "../domain/errors.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { clean, stamp, table } from "./layout.js";
import { offlineDeps } from "./offline.js";

export interface SkillsOptions {
  readonly space?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

const maxLimit = 1000;
const shownLength = 80;
const sharedSpace = "shared";

export async function skillsList(context: CliContext, options: SkillsOptions): Promise<number> {
  const lines = await skillsOffline(offlineDeps(context), options.space);
  if (lines === undefined) return noDatabase(context);
  const { timezone } = context.config();
  if (options.json === true) context.print(JSON.stringify(lines, null, 2));
  else if (lines.length === 0) context.print("There are no skills yet.");
  else {
    const rows = lines.map((line) => [
      line.name,
      line.where,
      line.madeBy ?? "by hand",
      String(line.views),
      line.lastUsedAt === undefined ? "never" : stamp(line.lastUsedAt, timezone),
      line.warning === undefined ? shortened(line.description) : `(warning: ${line.warning}) ${shortened(line.description)}`,
    ]);
    context.print(table(["skill", "where", "made in", "views", "last used", "description"], rows));
  }
  return exitCodes.ok;
}

export async function skillsShow(context: CliContext, options: SkillsOptions, name: string): Promise<number> {
  const texts = await skillTexts(offlineDeps(context), name, options.space ?? sharedSpace);
  if (texts === undefined) return noDatabase(context);
  if (options.json === true) context.print(JSON.stringify(Object.fromEntries(texts), null, 2));
  else
    for (const [path, text] of texts)
      context.print(`== ${clean(path)} ==\n${text === undefined ? "(too large to be shown)" : printable(text)}\n`);
  return exitCodes.ok;
}

export async function skillsLog(context: CliContext, options: SkillsOptions, name?: string): Promise<number> {
  const lines = await skillHistory(offlineDeps(context), options.space ?? sharedSpace, name, limitOf(options.limit ?? "20"));
  if (lines === undefined) return noDatabase(context);
  const { timezone } = context.config();
  if (options.json === true) context.print(JSON.stringify(lines, null, 2));
  else if (lines.length === 0)
    context.print(`No change of a skill is known in ${options.space ?? sharedSpace}. Name a space with --space ID.`);
  else for (const line of lines) context.print(historyText(line, timezone));
  return exitCodes.ok;
}

export async function skillsUndo(context: CliContext, options: SkillsOptions, name?: string): Promise<number> {
  if (options.space === undefined) {
    throw new GatewayError("input.invalid", "Say where with --space ID, or --space shared. `mneme skills list` shows which there are.");
  }
  const result = await undoSkill(offlineDeps(context), options.space, name);
  if (result === undefined) return noDatabase(context);
  if (result.ok) {
    context.print(`Taken back: ${result.undone.action} of the skill ${result.undone.skill}.`);
    return exitCodes.ok;
  }
  const reasons = {
    nothing: "There is no change that could be taken back.",
    changed: `The skill ${result.event?.skill ?? ""} was changed again since, so that change cannot be taken back.`,
    forgotten: `What the skill ${result.event?.skill ?? ""} held before was too large to be kept.`,
  };
  context.complain(reasons[result.reason]);
  return exitCodes.failed;
}

function historyText({ event, changes }: SkillChangeLine, timezone: string): string {
  const who = [
    event.origin,
    event.accountKey,
    event.sessionId === undefined ? undefined : `session ${event.sessionId}`,
    event.jobId,
  ].filter((part) => part !== undefined);
  const undone = event.undoneBy === undefined ? "" : " (taken back)";
  const head = `${stamp(event.at, timezone)}  ${event.skill}: ${event.action}${undone}  [${clean(who.join(", "))}]`;
  const note = event.note === undefined ? [] : [`    ${clean(event.note)}`];
  const rows = changes.flatMap(({ path, removed, added }) => [
    `    ${clean(path)}`,
    ...removed.map((row) => `      - ${clean(row)}`),
    ...added.map((row) => `      + ${clean(row)}`),
  ]);
  return [head, ...note, ...rows].join("\n");
}

/** Text of a skill without what could move the cursor; its lines stay. */
function printable(text: string): string {
  return text
    .split(/\r?\n/u)
    .map((row) => row.replaceAll(/(?!\t)\p{Cc}/gu, " "))
    .join("\n");
}

function limitOf(given: string): number {
  const limit = Number(given);
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit;
  throw new GatewayError("input.invalid", `--limit must be a whole number from 1 to ${maxLimit}, not "${clean(given)}".`);
}

function noDatabase(context: CliContext): number {
  context.complain(
    `There is no database in ${context.config().data.dir} yet. Start the gateway once (mneme start), or give the right folder with --data DIR.`,
  );
  return exitCodes.failed;
}

function shortened(text: string): string {
  const one = clean(text);
  return one.length > shownLength ? `${one.slice(0, shownLength)}…` : one;
}
