/**
 * `mneme start`: the gateway with every platform that has a token. Standard output is the log (JSON); what a person must do
 * goes to standard error, or is asked for when a person is there.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { whatIsMissing } from "../../config/readiness.js";
import { runGateway } from "../app/lifecycle.js";
import { createLogger } from "../app/logger.js";
import { createIds, systemClock } from "../app/runtime.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { sayWhatIsMissing } from "./missing.js";

export async function start(context: CliContext): Promise<number> {
  let askedMs = 0;
  const config = await readyConfig(context, (ms) => {
    askedMs = ms;
  });
  if (config === undefined) return exitCodes.usage;
  const logger = createLogger({ level: config.log.level, redactor: context.redactor(), destination: 1 });
  const [{ buildGateway }, { buildAdapters }] = await Promise.all([import("../app/build.js"), import("../../adapters/registry.js")]);
  const clock = systemClock;
  const adapters = await buildAdapters(config, { clock, logger });
  const gateway = await buildGateway({ config, adapters, clock, ids: createIds({ clock }), logger });
  return runGateway({
    gateway,
    logger,
    started: () => {
      const platforms = Object.fromEntries(gateway.parts.supervisor.states().map(({ platform, ok }) => [platform, ok]));
      logger.info({ platforms, data: config.data.dir, ms: Math.round(performance.now() - askedMs) }, "the gateway is running");
    },
  });
}

/** Settings that are complete; asks for what is missing where somebody can be asked. Undefined: it was said what to set. */
async function readyConfig(context: CliContext, asked: (ms: number) => void): Promise<GatewayConfig | undefined> {
  if (whatIsMissing(context.config(), "start").length > 0 && context.isTerminal) {
    const { init } = await import("./init.js");
    const beganAt = performance.now();
    if ((await init(context, {})) !== exitCodes.ok) return undefined;
    asked(performance.now() - beganAt);
  }
  const missing = whatIsMissing(context.config(), "start");
  if (missing.length === 0) return context.config();
  sayWhatIsMissing(context, missing);
  return undefined;
}
