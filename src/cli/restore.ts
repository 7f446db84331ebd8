/** `mneme restore`: puts a backup back into the data folder; what was there is put aside. */
import { restore } from "../app/restore.js";
import { systemClock } from "../app/runtime.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";

export async function restoreBackup(context: CliContext, options: { readonly force?: boolean }, folder?: string): Promise<number> {
  const { dir } = context.config().data;
  const { manifest, ended, aside } = await restore({
    source: folder ?? "",
    dataDir: dir,
    force: options.force === true,
    now: systemClock.now(),
  });
  context.print(`Restored ${manifest.files.length} files of ${manifest.madeAt} into ${dir}.`);
  if (aside !== undefined) context.print(`What was there is in ${aside}; delete it when it is no longer needed.`);
  const under = [`${ended.parts} unsent messages`, `${ended.turns} unfinished answers`, `${ended.messages} unanswered messages`].join(", ");
  if (ended.parts + ended.turns + ended.messages > 0) context.print(`Ended, since they were under way when the backup was made: ${under}.`);
  return exitCodes.ok;
}
