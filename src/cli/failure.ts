/**
 * What a person sees of an error: a sentence and a remedy, without secrets and without a stack; `--verbose` adds the stack.
 * The exit code is decided by the error's code, never by its text.
 */
import { errorText, GatewayError, type ErrorCode } from "../domain/errors.js";
import type { Redactor } from "../safety/redact.js";

/** Exit codes of all commands. */
export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;

/** What to do, for errors whose message does not say it itself. */
const remedies: Partial<Record<ErrorCode, string>> = {
  "store.busy": "Another process keeps the database locked. Try again; `mneme status` says whether a gateway runs.",
  "store.full": "Free some space, or give another folder with --data DIR.",
  "store.corrupt": "`mneme doctor` says more.",
  "adapter.auth": "`mneme doctor` checks all credentials.",
  "adapter.lost": "Check the network, then try again.",
};

export interface Failure {
  readonly text: string;
  readonly exitCode: number;
}

/** Turns any thrown value into the text for standard error and the exit code. */
export function describeFailure(error: unknown, options: { readonly verbose: boolean; readonly redactor: Redactor }): Failure {
  const known = error instanceof GatewayError && error.code !== "internal" ? error : undefined;
  const sentence = known === undefined ? unexpected(error) : errorText(error);
  const remedy = known === undefined ? undefined : remedies[known.code];
  const lines = [sentence, ...(remedy === undefined ? [] : [remedy]), ...(options.verbose ? stacks(error) : [])];
  const usage = known?.code === "config.invalid" || known?.code === "input.invalid";
  return { text: options.redactor.text(lines.join("\n")), exitCode: usage ? exitCodes.usage : exitCodes.failed };
}

function unexpected(error: unknown): string {
  const system = error instanceof Error && "code" in error && typeof error.code === "string" && "syscall" in error;
  if (system) return `${errorText(error)}. Check the path and its permissions.`;
  return `Something went wrong inside mneme: ${errorText(error)}. Run the same command with --verbose and report what it says.`;
}

function stacks(error: unknown): string[] {
  const lines: string[] = [];
  for (let at: unknown = error; at instanceof Error && lines.length < 5; at = at.cause) lines.push(at.stack ?? errorText(at));
  return lines;
}
