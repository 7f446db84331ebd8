/** `mneme memory export` and `mneme memory forget`: a person's right to see and to delete what is held about them, here and at the external memory. */
import { resolve } from "node:path";
import { exportPerson, forgetPersonOffline, personIdOf } from "../app/person-offline.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { inStores, offlineDeps } from "./offline.js";

export async function memoryExport(context: CliContext, options: { readonly person: string; readonly out: string }): Promise<number> {
  const deps = offlineDeps(context);
  const out = resolve(context.cwd, options.out);
  const exported = await inStores(context, async (offline) => exportPerson(deps, offline, await personIdOf(offline, options.person), out));
  if (exported === undefined) return exitCodes.failed;
  context.print([`Written to ${out}:`, ...exported.written.map((name) => `  ${name}`)].join("\n"));
  if (exported.missing === undefined) return exitCodes.ok;
  context.complain(`The part of the external memory is missing: ${exported.missing}`);
  return exitCodes.failed;
}

export async function memoryForget(context: CliContext, options: { readonly person: string; readonly yes?: boolean }): Promise<number> {
  const deps = offlineDeps(context);
  if (options.yes !== true) {
    context.complain(
      "This deletes files, conversations and external memory of this person for good. Say --yes to do it; `mneme memory export` first keeps a copy.",
    );
    return exitCodes.usage;
  }
  const result = await inStores(context, async (offline) => forgetPersonOffline(deps, offline, await personIdOf(offline, options.person)));
  if (result === undefined) return exitCodes.failed;
  if (result === "busy") {
    context.complain("A turn or job of this person is running; nothing was deleted here. Try again in a moment.");
    return exitCodes.failed;
  }
  context.print(
    result === "done"
      ? "Deleted, here and at the external memory."
      : "Deleted here. The external memory does not answer; the gateway goes on trying.",
  );
  return exitCodes.ok;
}
