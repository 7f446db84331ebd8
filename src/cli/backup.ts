/** `mneme backup`: a copy of everything in the data folder, consistent also while the gateway runs. */
import { backUp, manifestName } from "../app/backup.js";
import { systemClock } from "../app/runtime.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";

export async function backup(context: CliContext, _options: object, folder?: string): Promise<number> {
  const target = folder ?? "";
  const { files } = await backUp({ dataDir: context.config().data.dir, target, now: systemClock.now() });
  const megabytes = files.reduce((sum, { size }) => sum + size, 0) / 1024 / 1024;
  context.print(`Backed up ${files.length} files, ${megabytes.toFixed(1)} MB, to ${target}. ${manifestName} lists them with their hashes.`);
  context.print(
    "It holds what people said and what is known of them: keep it as safe as the data folder. Settings and .env are not in it.",
  );
  return exitCodes.ok;
}
