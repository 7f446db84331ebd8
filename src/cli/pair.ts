/**
 * `mneme pair list` and `mneme pair approve CODE`: who may talk to the bot, decided by whoever owns the machine. The first one
 * approved should be the operator, so the role is asked for as long as there is none.
 */
import { approveCode } from "../app/pairing-offline.js";
import type { Offline } from "../app/offline.js";
import { systemClock } from "../app/runtime.js";
import { GatewayError } from "../domain/errors.js";
import { accountKey, type Role } from "../domain/identity.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { clean, span, table } from "./layout.js";
import { inStores, offlineDeps } from "./offline.js";

export interface ApproveOptions {
  readonly operator?: boolean;
  readonly user?: boolean;
}

export async function pairList(context: CliContext, options: { readonly json?: boolean }): Promise<number> {
  const codes = await inStores(context, ({ pairing }) => pairing.pending());
  if (codes === undefined) return exitCodes.failed;
  const now = systemClock.now();
  if (options.json === true) {
    const shown = codes.map(({ code, subject, platform, subjectId, label, createdAt, expiresAt }) => ({
      code,
      subject,
      platform,
      subjectId,
      label,
      createdAt,
      expiresAt,
    }));
    context.print(JSON.stringify(shown, null, 2));
  } else if (codes.length === 0) {
    context.print("Nobody waits for approval. A code is made when somebody new writes to the bot, and is valid for an hour.");
  } else {
    context.print(
      table(
        ["code", "who", "account", "valid for"],
        codes.map((code) => [
          code.code,
          code.subject === "chat" ? `group ${code.label}` : code.label,
          accountKey(code.platform, code.subjectId),
          span(code.expiresAt - now),
        ]),
      ),
    );
  }
  return exitCodes.ok;
}

export async function pairApprove(context: CliContext, options: ApproveOptions, code = ""): Promise<number> {
  if (options.operator === true && options.user === true) {
    throw new GatewayError("input.invalid", "Give either --operator or --user, not both.");
  }
  const done = await inStores(context, async (offline) => {
    const role = await roleFor(context, options, offline, code);
    if (role === undefined) return { said: "Nothing was changed.", ok: false };
    const approval = await approveCode({ ...offlineDeps(context), ...offline }, code, role);
    if (!approval.ok) return { said: refusal(approval), ok: false };
    const { label, platform, subjectId, subject } = approval.code;
    const who = `${clean(label)} (${clean(accountKey(platform, subjectId))})`;
    const admitted = subject === "chat" ? `The group ${who} is admitted.` : `${who} is admitted as ${approval.role}.`;
    const word = approval.told ? "They are told in the chat." : `They are not told: ${platform} is not switched on in these settings.`;
    return { said: `${admitted} ${word}`, ok: true };
  });
  if (done === undefined) return exitCodes.failed;
  if (done.ok) context.print(done.said);
  else context.complain(done.said);
  return done.ok ? exitCodes.ok : exitCodes.failed;
}

function refusal(approval: { readonly why: "wrong" } | { readonly why: "locked"; readonly minutes: number }): string {
  return approval.why === "locked"
    ? `Too many wrong codes. Try again in ${approval.minutes} minutes.`
    : "There is no such code; it may have expired. `mneme pair list` shows those that are valid.";
}

/** The role that was given, or the sensible one: a user once there is an operator, before that a person is asked. */
async function roleFor(context: CliContext, options: ApproveOptions, offline: Offline, typed: string): Promise<Role | undefined> {
  if (options.operator === true) return "operator";
  if (options.user === true) return "user";
  const code = (await offline.pairing.pending()).find((pending) => pending.code === typed.trim().toUpperCase());
  const hasOperator = context.config().access.operators.length > 0 || (await offline.pairing.hasOperator());
  // A wrong code is told as such; a group has no role.
  if (hasOperator || code === undefined || code.subject === "chat") return "user";
  if (!context.isTerminal) {
    throw new GatewayError("input.invalid", "There is no operator yet. Say which role: --operator (may approve others) or --user.");
  }
  const { isCancel, select } = await import("@clack/prompts");
  const answer = await select<Role>({
    message: `There is no operator yet. ${clean(code.label)} (${clean(accountKey(code.platform, code.subjectId))}) becomes`,
    options: [
      { value: "operator", label: "operator", hint: "may approve others and use operators' commands" },
      { value: "user", label: "user", hint: "may talk to the bot" },
    ],
  });
  return isCancel(answer) ? undefined : answer;
}
