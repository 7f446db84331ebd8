/**
 * Removes finished jobs from the ledger, at most once an hour, by whoever reads the ledger anyway. A failure is logged and tried again later.
 */
import { errorText } from "../domain/errors.js";
import type { JobLedger } from "../ports/job-queue.js";
import type { Clock, Logger } from "../ports/runtime.js";

const hourMs = 3_600_000;

export function pruneHourly({
  ledger,
  clock,
  logger,
}: {
  readonly ledger: JobLedger;
  readonly clock: Clock;
  readonly logger: Logger;
}): () => Promise<void> {
  let last: number | undefined;
  return async () => {
    const now = clock.now();
    if (last !== undefined && now - last < hourMs) return;
    last = now;
    try {
      const removed = await ledger.prune(now);
      if (removed > 0) logger.debug({ removed }, "Finished jobs were removed from the ledger.");
    } catch (error) {
      logger.warn({ error: errorText(error) }, "Finished jobs could not be removed from the ledger; tried again in an hour.");
    }
  };
}
