/** What the commands on a data folder share: stores without the gateway's lock, warnings on standard error. */
import { withStores, type Offline, type OfflineDeps } from "../app/offline.js";
import { createLogger } from "../app/logger.js";
import { createIds, systemClock } from "../app/runtime.js";
import type { CliContext } from "./context.js";

export function offlineDeps(context: CliContext): OfflineDeps {
  const config = context.config();
  const logger = createLogger({ level: "error", redactor: context.redactor(), destination: 2 });
  return { config, clock: systemClock, ids: createIds({ clock: systemClock }), logger };
}

/** Undefined after saying that nothing is stored yet. */
export async function inStores<T>(context: CliContext, work: (offline: Offline) => Promise<T>): Promise<T | undefined> {
  const deps = offlineDeps(context);
  const result = await withStores(deps, work);
  if (result === undefined) {
    context.complain(
      `There is no database in ${deps.config.data.dir} yet. Start the gateway once (mneme start), or give the right folder with --data DIR.`,
    );
  }
  return result;
}
