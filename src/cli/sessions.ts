/**
 * `mneme sessions`: lists, searches and imports conversations, without a model call. For the operator: it looks into all spaces unless
 * one is named.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { z } from "zod";
import { importOffline, searchOffline, sessionsOffline } from "../app/search-offline.js";
import { GatewayError } from "../domain/errors.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { clean, stamp, table } from "./layout.js";
import { offlineDeps } from "./offline.js";

export interface SessionsOptions {
  readonly space?: string;
  readonly all?: boolean;
  readonly limit?: string;
  readonly json?: boolean;
}

const maxLimit = 1000;
const shownLength = 100;

export async function sessionsSearch(context: CliContext, options: SessionsOptions, typed: string): Promise<number> {
  const question = typed.trim();
  if (question === "") throw new GatewayError("input.invalid", "Write what to search for behind `mneme sessions search`.");
  const found = await searchOffline(offlineDeps(context), question, spaceOf(options), limitOf(options.limit ?? "5"));
  if (found === undefined) return noDatabase(context);
  const { timezone } = context.config();
  if (options.json === true) context.print(JSON.stringify(found, null, 2));
  else if (found.length === 0) context.print("No past conversation matches. Try other or fewer words, OR between them, or a prefix*.");
  else {
    const rows = found.map((line) => [
      line.score.toFixed(3),
      line.session,
      line.space,
      stamp(line.startedAt, timezone),
      shortened(line.excerpt),
    ]);
    context.print(table(["score", "session", "space", "began", "excerpt"], rows));
  }
  return exitCodes.ok;
}

export async function sessionsList(context: CliContext, options: SessionsOptions): Promise<number> {
  const found = await sessionsOffline(offlineDeps(context), spaceOf(options), limitOf(options.limit ?? "20"));
  if (found === undefined) return noDatabase(context);
  const { timezone } = context.config();
  if (options.json === true) context.print(JSON.stringify(found, null, 2));
  else if (found.length === 0) context.print("There is no conversation yet.");
  else {
    const rows = found.map((one) => [
      stamp(one.lastActiveAt, timezone),
      one.sessionId,
      one.spaceId,
      one.platform,
      String(one.messageCount),
      shortened(one.title ?? one.preview),
    ]);
    context.print(table(["last active", "session", "space", "platform", "messages", "title"], rows));
  }
  return exitCodes.ok;
}

/** One message per line: {session, space, role, author, time, text}; `-` reads standard input. */
export async function sessionsImport(context: CliContext, options: Pick<SessionsOptions, "json">, file: string): Promise<number> {
  const beganAt = performance.now();
  const sums = await importOffline(offlineDeps(context), importedMessages(file === "-" ? context.input : createReadStream(file, "utf8")));
  const seconds = (performance.now() - beganAt) / 1000;
  if (options.json === true) context.print(JSON.stringify({ ...sums, seconds: Number(seconds.toFixed(2)) }));
  else {
    const known = sums.known === 0 ? "" : ` ${sums.known} were there already.`;
    context.print(`${sums.messages} messages of ${sums.sessions} sessions imported and indexed in ${seconds.toFixed(1)} s.${known}`);
  }
  return exitCodes.ok;
}

const line = z.object({
  session: z.union([z.string().min(1), z.number()]).transform(String),
  space: z.union([z.string().min(1), z.number()]).transform(String),
  role: z.enum(["user", "assistant", "tool"]).default("user"),
  author: z.string().nullish(),
  /** Epoch ms, epoch seconds, or a date that JavaScript reads. */
  time: z.union([z.number(), z.string()]).nullish(),
  text: z.string(),
});

type Imported = Parameters<typeof importOffline>[1] extends AsyncIterable<infer Message> ? Message : never;

async function* importedMessages(source: NodeJS.ReadableStream): AsyncGenerator<Imported> {
  let number = 0;
  let lastAt = 0;
  for await (const written of createInterface({ input: source, crlfDelay: Infinity })) {
    number += 1;
    if (written.trim() === "") continue;
    const { session, space, role, author, time, text } = parsed(written, number);
    const at = time === undefined || time === null ? lastAt : timeOf(time, number);
    lastAt = at;
    yield { session, space, role, at, text, ...(author === undefined || author === null || author === "" ? {} : { author }) };
  }
}

function parsed(written: string, number: number): z.infer<typeof line> {
  const result = line.safeParse(jsonOf(number === 1 ? written.replace(/^\ufeff/u, "") : written, number));
  if (result.success) return result.data;
  throw new GatewayError(
    "input.invalid",
    `Line ${number} is no message: ${clean(z.prettifyError(result.error))}. What came before it is imported.`,
  );
}

function jsonOf(written: string, number: number): unknown {
  try {
    return JSON.parse(written);
  } catch (error) {
    throw new GatewayError(
      "input.invalid",
      `Line ${number} is not JSON. One message per line is expected; what came before it is imported.`,
      {
        cause: error,
      },
    );
  }
}

/** Numbers below this are seconds. */
const firstMilliseconds = 100_000_000_000;

function timeOf(time: number | string, number: number): number {
  const given = typeof time === "number" ? time : /^-?\d+(?:\.\d+)?$/u.test(time) ? Number(time) : Date.parse(time);
  if (!Number.isFinite(given))
    throw new GatewayError("input.invalid", `Line ${number} has a time that cannot be read: use ISO 8601 or epoch milliseconds.`);
  return Math.round(
    typeof time === "string" && Number.isNaN(Number(time)) ? given : Math.abs(given) < firstMilliseconds ? given * 1000 : given,
  );
}

function spaceOf({ space, all }: SessionsOptions): string | undefined {
  if (space !== undefined && all === true) throw new GatewayError("input.invalid", "Give --space or --all, not both.");
  return space;
}

function limitOf(given: string): number {
  const limit = Number(given);
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit;
  throw new GatewayError("input.invalid", `--limit must be a whole number from 1 to ${maxLimit}, not "${clean(given)}".`);
}

function noDatabase(context: CliContext): number {
  context.complain(
    `There is no database in ${context.config().data.dir} yet. Start the gateway once (mneme start), import transcripts, or give the right folder with --data DIR.`,
  );
  return exitCodes.failed;
}

function shortened(text: string): string {
  const one = clean(text);
  return one.length > shownLength ? `${one.slice(0, shownLength)}…` : one;
}
