/**
 * `mneme doctor`: checks what can be checked without starting, and names the remedy for what is wrong. Everything outside is
 * asked at once, so the slowest service decides how long it takes.
 */
import { buildAdapters } from "../../adapters/registry.js";
import { whatIsMissing } from "../../config/readiness.js";
import type { GatewayConfig } from "../../config/schema.js";
import { probeModels } from "../app/model-probe.js";
import { probeAdapter, probeRedis } from "../app/probes.js";
import { probeProvider } from "../app/provider.js";
import { withStores, type OfflineDeps } from "../app/offline.js";
import type { Finding } from "../ports/platform-adapter.js";
import type { CliContext } from "./context.js";
import { checkMachine } from "./doctor-machine.js";
import { exitCodes } from "./failure.js";
import { clean } from "./layout.js";
import { offlineDeps } from "./offline.js";

export async function doctor(context: CliContext, options: { readonly json?: boolean }): Promise<number> {
  const deps = offlineDeps(context);
  const { config } = deps;
  const groups = await Promise.all([
    checkMachine(deps, context.cwd),
    probeModels(deps.config, deps),
    platformFindings(deps),
    redisFindings(deps),
    probeProvider(deps.config),
  ]);
  const findings = [...settingsFindings(config), ...groups.flat(), ...(await accessFindings(deps))];
  const failed = findings.some(({ level }) => level === "error");
  if (options.json === true) context.print(JSON.stringify(findings, null, 2));
  else context.print([...findings.map(lines), "", verdict(findings)].join("\n"));
  return failed ? exitCodes.failed : exitCodes.ok;
}

/** A finding on one line, its remedy beneath it. */
export function lines({ level, subject, message, remedy }: Finding): string {
  const first = `${level.padEnd(8)} ${clean(subject)}: ${clean(message)}`;
  return remedy === undefined ? first : `${first}\n${" ".repeat(8)} → ${clean(remedy)}`;
}

function verdict(findings: readonly Finding[]): string {
  const count = (level: Finding["level"]): number => findings.filter((finding) => finding.level === level).length;
  const [errors, warnings] = [count("error"), count("warning")];
  if (errors + warnings === 0) return "All is well.";
  return `${errors} ${errors === 1 ? "error" : "errors"}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}.`;
}

function settingsFindings(config: GatewayConfig): Finding[] {
  const missing = whatIsMissing(config, "start");
  if (missing.length === 0) return [{ level: "ok", subject: "settings", message: "Complete." }];
  return missing.map(({ key, remedy }) => ({ level: "error", subject: "settings", message: `${key} is not set.`, remedy }));
}

async function platformFindings(deps: OfflineDeps): Promise<Finding[]> {
  const adapters = await buildAdapters(deps.config, deps);
  return (await Promise.all(adapters.map((adapter) => probeAdapter(adapter, deps.clock)))).flat();
}

async function redisFindings({ config, logger, clock }: OfflineDeps): Promise<Finding[]> {
  return config.redis.url === undefined ? [] : probeRedis(config.redis.url, logger, clock);
}

async function accessFindings(deps: OfflineDeps): Promise<Finding[]> {
  const { access } = deps.config;
  const findings: Finding[] = [];
  if (access.mode === "open") {
    findings.push({
      level: "warning",
      subject: "access",
      message: "Access is open: everybody who finds the bot may use it and its model.",
      remedy: "Set access.mode to pairing.",
    });
  }
  const hasOperator = access.operators.length > 0 || ((await hasStoredOperator(deps)) ?? false);
  if (hasOperator)
    return [...findings, { level: "ok", subject: "access", message: `There is an operator; access.mode is ${access.mode}.` }];
  findings.push({
    level: "warning",
    subject: "access",
    message: "There is no operator yet.",
    remedy: "Write to the bot; it answers with a code. Then: mneme pair approve CODE --operator",
  });
  return findings;
}

/** Undefined where the database cannot be read: that is a finding of its own. */
async function hasStoredOperator(deps: OfflineDeps): Promise<boolean | undefined> {
  return withStores(deps, ({ pairing }) => pairing.hasOperator()).catch(() => undefined);
}
