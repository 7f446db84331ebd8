/**
 * `mneme access`: who may talk to the bot, changed beside a running gateway, which obeys at once. What the settings file grants stays granted:
 * it is named, since only the file can take it back.
 */
import { systemClock } from "../app/runtime.js";
import { GatewayError } from "../domain/errors.js";
import { accountKey, type Role } from "../domain/identity.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { ago, table } from "./layout.js";
import { inStores } from "./offline.js";

const actor = "cli";
const roles: readonly string[] = ["operator", "user"] satisfies Role[];

export async function accessList(context: CliContext, options: { readonly json?: boolean }): Promise<number> {
  const { access } = context.config();
  const found = await inStores(context, async ({ stores }) => {
    const [accounts, audits] = await Promise.all([stores.access.accounts(), stores.access.audits(10)]);
    return { accounts, audits };
  });
  if (found === undefined) return exitCodes.failed;
  const listed = { operators: access.operators, users: access.users, groups: access.groups, bots: access.bots };
  const admitted = found.accounts.filter(({ admittedAt }) => admittedAt !== undefined);
  if (options.json === true) {
    context.print(JSON.stringify({ mode: access.mode, settings: listed, accounts: admitted, audits: found.audits }, null, 2));
    return exitCodes.ok;
  }
  const now = systemClock.now();
  const inSettings = Object.entries(listed).flatMap(([kind, keys]) => keys.map((key) => `${key} (${kind})`));
  context.print(`Mode: ${access.mode}`);
  context.print(`In the settings: ${inSettings.length === 0 ? "nobody" : inSettings.join(", ")}`);
  if (admitted.length > 0) {
    context.print(
      table(
        ["account", "name", "role", "admitted", "person"],
        admitted.map(({ platform, accountId, displayName, role, admittedAt, personId }) => [
          accountKey(platform, accountId),
          displayName,
          role,
          ago(admittedAt, now),
          personId,
        ]),
      ),
    );
  }
  if (found.audits.length > 0) {
    context.print("\nLast changes:");
    context.print(
      table(
        ["when", "by", "what", "whom"],
        found.audits.map(({ at, actor: by, act, subject, detail }) => [
          ago(at, now),
          by,
          act,
          detail === undefined ? subject : `${subject} (${detail})`,
        ]),
      ),
    );
  }
  return exitCodes.ok;
}

/** Admits an account, also one that has never written. */
export function accessGrant(context: CliContext, options: { readonly operator?: boolean }, account = ""): Promise<number> {
  return setRole(context, account, options.operator === true ? "operator" : "user");
}

export function accessRole(context: CliContext, _options: object, account = "", role = ""): Promise<number> {
  if (!roles.includes(role))
    throw new GatewayError("input.invalid", `The role is one of ${roles.join(", ")}; access revoke takes the admission away.`);
  return setRole(context, account, role as Role);
}

export function accessRevoke(context: CliContext, _options: object, account = ""): Promise<number> {
  return setRole(context, account, undefined);
}

/** A group instead of an account: `mneme access group platform:id [--revoke]`. */
export async function accessGroup(context: CliContext, options: { readonly revoke?: boolean }, chat = ""): Promise<number> {
  const { platform, id } = parsed(chat);
  const admitted = options.revoke !== true;
  const done = await inStores(context, async ({ stores }) => {
    await stores.access.admitChat(platform, id, admitted, actor, systemClock.now());
    return true;
  });
  if (done === undefined) return exitCodes.failed;
  context.print(`The group ${chat} is ${admitted ? "admitted" : "no longer admitted"}.`);
  if (!admitted && context.config().access.groups.includes(chat))
    context.complain(`access.groups in the settings still admits ${chat}: remove it there too.`);
  return exitCodes.ok;
}

async function setRole(context: CliContext, account: string, role: Role | undefined): Promise<number> {
  const { platform, id } = parsed(account);
  const done = await inStores(context, async ({ stores }) => {
    await stores.access.admit(platform, id, role, actor, systemClock.now());
    return true;
  });
  if (done === undefined) return exitCodes.failed;
  context.print(role === undefined ? `${account} is no longer admitted.` : `${account} is admitted as ${role}.`);
  const { operators, users } = context.config().access;
  const still = operators.includes(account) ? "access.operators" : users.includes(account) ? "access.users" : undefined;
  if (still !== undefined && role !== "operator") {
    context.complain(
      `${still} in the settings still ${still === "access.operators" ? "makes it an operator" : "admits it"}: change it there too.`,
    );
  }
  return exitCodes.ok;
}

function parsed(key: string): { readonly platform: string; readonly id: string } {
  const match = /^([a-z]+):(\S+)$/u.exec(key);
  const [, platform, id] = match ?? [];
  if (platform === undefined || id === undefined) {
    throw new GatewayError("input.invalid", `An account or chat is written platform:id; got ${JSON.stringify(key)}.`);
  }
  return { platform, id };
}
