/**
 * `mneme chat`: the same gateway with the terminal as its one platform; whoever sits here is an operator. With piped input
 * it answers what came in and ends, so that it can be used in scripts.
 */
import { mkdirSync, openSync, writeSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { buildTerminal, terminal } from "../../adapters/registry.js";
import { whatIsMissing } from "../../config/readiness.js";
import { buildGateway } from "../app/build.js";
import type { Gateway } from "../app/gateway.js";
import { runGateway } from "../app/lifecycle.js";
import { createLogger } from "../app/logger.js";
import { createIds, systemClock } from "../app/runtime.js";
import type { Logger } from "../ports/runtime.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { sayWhatIsMissing } from "./missing.js";

const lookEveryMs = 25;

export async function chat(context: CliContext): Promise<number> {
  const config = context.config();
  const missing = whatIsMissing(config, "chat");
  if (missing.length > 0) {
    sayWhatIsMissing(context, missing);
    return exitCodes.usage;
  }
  const { isTerminal } = context;
  const { logger, logFile } = chatLog(context, isTerminal);
  const clock = systemClock;
  const beganAt = clock.now();
  let ended: () => void = () => undefined;
  const inputEnded = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const adapter = await buildTerminal(
    { input: context.input, output: context.output, name: personName(), interactive: isTerminal, onEnd: () => ended() },
    { clock, logger },
  );
  const operators = [`${terminal.platform}:${terminal.accountId}`];
  const gateway = await buildGateway({ config, adapters: [adapter], clock, ids: createIds({ clock }), logger, operators, serve: false });
  if (isTerminal) {
    context.print(`${config.agent.name} · ${config.model.id ?? ""} · /help shows what it can do, Ctrl+D ends. Log: ${logFile}`);
  }
  let failed = false;
  const until = inputEnded.then(async () => {
    if (isTerminal) return;
    await allAnswered(gateway);
    failed = await anyFailed(gateway, beganAt);
  });
  const exitCode = await runGateway({ gateway, logger, until });
  // The prompt still stands on the last line.
  if (isTerminal) context.print("");
  return exitCode === exitCodes.ok && failed ? exitCodes.failed : exitCode;
}

/** Nothing may disturb the conversation on the screen: its log is a file. In a pipe only warnings are shown, on standard error. */
function chatLog(context: CliContext, isTerminal: boolean): { readonly logger: Logger; readonly logFile: string } {
  const { data, log } = context.config();
  const redactor = context.redactor();
  const logFile = join(data.dir, "chat.log");
  if (!isTerminal) return { logger: createLogger({ level: "warn", redactor, destination: 2 }), logFile };
  mkdirSync(data.dir, { recursive: true, mode: 0o700 });
  const file = openSync(logFile, "w", 0o600);
  return { logger: createLogger({ level: log.level, redactor, destination: { write: (line) => void writeSync(file, line) } }), logFile };
}

function personName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry in the machine's list, as in some containers.
    return "you";
  }
}

/** Resolves when everything typed has its answer on the screen. */
async function allAnswered({ parts }: Gateway): Promise<void> {
  const { pipeline, joiner, lanes, stores } = parts;
  for (;;) {
    await pipeline.idle();
    joiner.flushAll();
    const open = (await stores.inbox.open()).some(({ event }) => event.platform === terminal.platform);
    const unsent = (await stores.outbox.counts()).some(
      ({ platform, state }) => platform === terminal.platform && (state === "waiting" || state === "sending"),
    );
    if (!open && !unsent && lanes.running === 0) return;
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

async function anyFailed({ parts }: Gateway, since: number): Promise<boolean> {
  const rows = await parts.stores.inbox.list({ platform: terminal.platform, limit: 100 });
  return rows.some(({ receivedAt, disposition }) => receivedAt >= since && disposition === "failed");
}
