/**
 * The first operator, by pairing: the bot is started for as long as it takes that person to write to it. Only who writes now
 * and is confirmed here becomes an operator.
 */
import { mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { confirm, log } from "@clack/prompts";
import { buildAdapters } from "../../adapters/registry.js";
import { enabledPlatforms } from "../../config/readiness.js";
import { buildGateway } from "../app/build.js";
import type { Gateway } from "../app/gateway.js";
import { createLogger } from "../app/logger.js";
import { approveCode, pairingOf } from "../app/pairing-offline.js";
import { createIds, systemClock as clock } from "../app/runtime.js";
import { accountKey } from "../domain/identity.js";
import type { PairingCode } from "../ports/access.js";
import type { CliContext } from "./context.js";
import { answered } from "./init-questions.js";
import { clean } from "./layout.js";

const lookEveryMs = 300;
const sendLimitMs = 5_000;
/** What a terminal sends for Ctrl+C when it does not make it a signal. */
const controlC = 3;

export async function pairFirstOperator(context: CliContext): Promise<void> {
  const config = context.config();
  if (config.access.operators.length > 0 || enabledPlatforms(config).length === 0) return;
  if (!answered(await confirm({ message: "Pair yourself as the first operator now? The bot is started for it." }))) {
    log.info("Later: write to the bot, then `mneme pair approve CODE --operator`.");
    return;
  }
  mkdirSync(config.data.dir, { recursive: true, mode: 0o700 });
  const file = openSync(join(config.data.dir, "init.log"), "w", 0o600);
  const logger = createLogger({
    level: config.log.level,
    redactor: context.redactor(),
    destination: { write: (line) => void writeSync(file, line) },
  });
  const gateway = await buildGateway({
    config,
    adapters: await buildAdapters(config, { clock, logger }),
    clock,
    ids: createIds({ clock }),
    logger,
  });
  try {
    if (await pairingOf(gateway.parts).hasOperator()) return log.info("There is an operator already.");
    await gateway.start();
    for (const { platform, ok, lastError } of gateway.parts.supervisor.states()) {
      if (!ok) log.warn(`${platform} is not connected: ${context.redactor().text(lastError ?? "not yet")}`);
    }
    log.step("Write anything to the bot in a direct message. Ctrl+C leaves this out.");
    const code = await firstCode(context, gateway);
    if (code === undefined) return log.info("Left out. Later: `mneme pair approve CODE --operator`.");
    const who = `${clean(code.label)} (${clean(accountKey(code.platform, code.subjectId))})`;
    if (!answered(await confirm({ message: `${who} wrote to the bot. Is that you, the operator?`, initialValue: false }))) return;
    const approval = await approveCode(
      { config, clock, logger, pairing: pairingOf(gateway.parts), stores: gateway.parts.stores },
      code.code,
      "operator",
    );
    if (approval.ok) log.success(`${who} is the operator.`);
    else log.error("The code is no longer valid. Later: `mneme pair approve CODE --operator`.");
    await wordSent(gateway, code.platform);
  } finally {
    await gateway.stop(1_000);
  }
}

/**
 * The first person's code; undefined after Ctrl+C. What is typed meanwhile is thrown away: a key pressed too early must not
 * answer the question who becomes an operator.
 */
async function firstCode({ input }: CliContext, gateway: Gateway): Promise<PairingCode | undefined> {
  const interrupt = new AbortController();
  const onTyped = (typed: Buffer): void => {
    if (typed.includes(controlC)) interrupt.abort();
  };
  const pairing = pairingOf(gateway.parts);
  input.setRawMode(true);
  input.on("data", onTyped).resume();
  try {
    while (!interrupt.signal.aborted) {
      const code = (await pairing.pending()).find(({ subject }) => subject === "account");
      if (code !== undefined) return code;
      await pause(lookEveryMs);
    }
    return undefined;
  } finally {
    input.off("data", onTyped).pause();
    input.setRawMode(false);
  }
}

async function wordSent({ parts }: Gateway, platform: string): Promise<void> {
  parts.delivery.wake();
  const end = clock.now() + sendLimitMs;
  while (clock.now() < end) {
    const counts = await parts.stores.outbox.counts();
    if (!counts.some((row) => row.platform === platform && (row.state === "waiting" || row.state === "sending"))) return;
    await pause(lookEveryMs);
  }
}

/** A timer that keeps the process, unlike the clock's. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
