/**
 * Approves a pairing code beside the gateway and leaves the word to the person in the outbox; a running gateway sends it within
 * a second, a stopped one at its next start.
 */
import { registry } from "../../adapters/registry.js";
import type { GatewayConfig } from "../../config/schema.js";
import type { Role } from "../domain/identity.js";
import { Pairing, type Approval } from "../gateway/pairing.js";
import { withoutReply } from "../gateway/routes.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { PairingCode } from "../ports/access.js";
import { commandText, languageOf, text } from "../words/catalogue.js";
import type { GatewayParts } from "./gateway.js";
import type { Offline } from "./offline.js";

/** Who approves on the command line: owner of the wrong tries and name in the audit. */
const caller = "cli";

export interface ApproveDeps extends Pick<Offline, "pairing" | "stores"> {
  readonly config: GatewayConfig;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `told`: whether a word to the person waits in the outbox; it does not when their platform is switched off in these settings. */
export async function approveCode(deps: ApproveDeps, code: string, role: Role): Promise<Approval & { readonly told: boolean }> {
  const approval = await deps.pairing.approve(code, caller, role);
  return { ...approval, told: approval.ok && (await tell(deps, approval.code)) };
}

async function tell({ config, clock, logger, stores }: ApproveDeps, code: PairingCode): Promise<boolean> {
  const build = registry.find(({ platform }) => platform === code.platform)?.build(config);
  if (build === undefined) return false;
  const adapter = await build(config, { clock, logger });
  const language = languageOf(config.ui.language, []);
  const help = `\`${commandText(adapter.capabilities.commandForm, "help")}\``;
  const said = code.subject === "chat" ? text(language, "access.group-approved") : text(language, "pairing.approved", { help });
  const route = withoutReply(code.route);
  await stores.outbox.add(adapter.render(said).map((part) => ({ kind: "notice", route, part })));
  return true;
}

/** Pairing on the stores of a gateway in this process. */
export function pairingOf({ stores, clock }: Pick<GatewayParts, "stores" | "clock">): Pairing {
  return new Pairing({ access: stores.access, clock });
}
