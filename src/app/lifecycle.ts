/**
 * The life of a gateway process: runs until a signal or until its input ends, stops within a limit, and outlives the late
 * errors of client libraries. Must be the only one that listens for signals.
 */
import { errorText } from "../domain/errors.js";
import type { Logger } from "../ports/runtime.js";

export interface Lifetime {
  readonly gateway: { start(): Promise<void>; stop(graceMs?: number): Promise<void> };
  readonly logger: Logger;
  /** Called once when the start is over. */
  readonly started?: () => void;
  /** Ends the run when it resolves (the end of a terminal's input). Without it only a signal does. */
  readonly until?: Promise<void>;
  /** Ends the process at once; for the hard limit and a second signal. */
  readonly exit?: (code: number) => void;
  /** Where signals and late errors are heard: the process. */
  readonly events?: Pick<NodeJS.EventEmitter, "on" | "off">;
}

/** How long running answers get, and after which the process ends whatever still hangs. */
const graceMs = 20_000;
const hardLimitMs = 25_000;
const signals = ["SIGTERM", "SIGINT"] as const;

/**
 * Starts the gateway and resolves with the exit code once it has stopped: 0 after a signal or `until`, 1 when something did not
 * stop cleanly. Rejects with what made the start fail (everything is closed then).
 */
export async function runGateway(life: Lifetime): Promise<number> {
  const { gateway, logger, exit = (code) => process.exit(code), events = process } = life;
  // Timers of the program are unreferenced, and a platform that is down holds no socket: this keeps the process.
  const keepAlive = setInterval(() => undefined, 2_147_483_647);
  let asked = false;
  let ask: () => void = () => undefined;
  const stopAsked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked) return exit(signal === "SIGINT" ? 130 : 143);
    asked = true;
    logger.info({ signal, graceMs }, "stopping; a second signal ends at once");
    ask();
  };
  const onLateError = (error: unknown): void => logger.error({ error }, "an error that nobody handled; going on");
  for (const signal of signals) events.on(signal, onSignal);
  events.on("uncaughtException", onLateError);
  events.on("unhandledRejection", onLateError);
  try {
    const started = gateway.start().then(() => life.started?.());
    await Promise.race([stopAsked, started.then(() => Promise.race([stopAsked, life.until ?? never]))]);
    started.catch(onLateError);
    asked = true;
    return await stop({ gateway, logger, exit });
  } catch (error) {
    await stop({ gateway, logger, exit });
    throw error;
  } finally {
    clearInterval(keepAlive);
    for (const signal of signals) events.off(signal, onSignal);
    events.off("uncaughtException", onLateError);
    events.off("unhandledRejection", onLateError);
  }
}

const never = new Promise<never>(() => undefined);

async function stop({ gateway, logger, exit }: Required<Pick<Lifetime, "gateway" | "logger" | "exit">>): Promise<number> {
  const hard = setTimeout(() => {
    logger.error({ limitMs: hardLimitMs }, "something does not stop; ending without it. Nothing stored is lost");
    exit(1);
  }, hardLimitMs);
  try {
    await gateway.stop(graceMs);
    logger.info({}, "stopped");
    return 0;
  } catch (error) {
    logger.error({ error: errorText(error) }, "the stop was not clean; nothing stored is lost");
    return 1;
  } finally {
    clearTimeout(hard);
  }
}
