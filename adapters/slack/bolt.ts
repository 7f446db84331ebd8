/**
 * Loads the Slack library when it is first needed, so that a program without Slack never pays for it, and gives it our
 * log. Its debug lines are dropped: they carry message texts.
 */
import { createRequire } from "node:module";
import type * as Bolt from "@slack/bolt";
import type { Logger } from "../../src/ports/runtime.js";

export type BoltModule = typeof Bolt;

/** With `require`, because it is CommonJS: an import costs an eighth more. */
export function loadBolt(): Promise<BoltModule> {
  return new Promise((resolve) => resolve(createRequire(import.meta.url)("@slack/bolt") as BoltModule));
}

/** The library's logger interface on top of ours. The library's own words go out at `debug` and `warn` only. */
export function boltLogger(bolt: BoltModule, logger: Logger): Bolt.Logger {
  const line = (args: readonly unknown[]): string => args.map((arg) => (arg instanceof Error ? arg.message : String(arg))).join(" ");
  return {
    debug: () => undefined,
    info: (...args) => logger.debug({}, line(args)),
    warn: (...args) => logger.debug({}, line(args)),
    error: (...args) => logger.warn({}, line(args)),
    setLevel: () => undefined,
    getLevel: () => bolt.LogLevel.WARN,
    setName: () => undefined,
  };
}
