/** `mneme jobs`: background work in the ledger: what waits, what failed and why; retry and remove. */
import { GatewayError } from "../domain/errors.js";
import type { JobRow } from "../ports/job-queue.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { clean, stamp, table } from "./layout.js";
import { inStores } from "./offline.js";

export interface JobsListOptions {
  readonly state?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

const states = ["open", "active", "done", "failed"] as const;

export async function jobsList(context: CliContext, options: JobsListOptions): Promise<number> {
  const state = stateOf(options.state);
  const limit = Number(options.limit ?? "30");
  if (!Number.isInteger(limit) || limit < 1)
    throw new GatewayError("input.invalid", `--limit must be a whole number from 1, not "${clean(options.limit ?? "")}".`);
  const rows = await inStores(context, ({ jobs }) => jobs.list({ limit, ...(state === undefined ? {} : { state }) }));
  if (rows === undefined) return exitCodes.failed;
  if (options.json === true) context.print(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) context.print("No such jobs.");
  else context.print(shown(rows, context.config().timezone));
  return exitCodes.ok;
}

export async function jobsRetry(context: CliContext, _options: object, id?: string): Promise<number> {
  return one(context, id, (jobs, given) => jobs.retry(given, Date.now()), "is open again", "There is no failed job");
}

export async function jobsRemove(context: CliContext, _options: object, id?: string): Promise<number> {
  return one(context, id, (jobs, given) => jobs.remove(given, Date.now()), "is removed", "There is no job that could be removed");
}

type Act = (
  jobs: { retry(id: string, now: number): Promise<boolean>; remove(id: string, now: number): Promise<boolean> },
  id: string,
) => Promise<boolean>;

async function one(context: CliContext, id: string | undefined, act: Act, done: string, missing: string): Promise<number> {
  const given = id ?? "";
  const worked = await inStores(context, ({ jobs }) => act(jobs, given));
  if (worked === undefined) return exitCodes.failed;
  if (!worked) throw new GatewayError("input.invalid", `${missing} ${clean(given)}. \`mneme jobs list\` shows the ids.`);
  context.print(`The job ${clean(given)} ${done}.`);
  return exitCodes.ok;
}

function stateOf(given: string | undefined): JobRow["state"] | undefined {
  if (given === undefined) return undefined;
  const state = states.find((known) => known === given);
  if (state === undefined) throw new GatewayError("input.invalid", `--state must be one of ${states.join(", ")}, not "${clean(given)}".`);
  return state;
}

function shown(rows: readonly JobRow[], timezone: string): string {
  return table(
    ["id", "kind", "state", "due", "tries", "error"],
    rows.map((row) => [
      row.id,
      row.kind,
      row.state,
      stamp(row.runAt, timezone),
      `${row.attempts}/${row.maxAttempts}`,
      clean(row.error ?? ""),
    ]),
  );
}
