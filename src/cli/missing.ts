/** The few lines of a start without settings; the same for every command that needs them. */
import type { Missing } from "../../config/readiness.js";
import type { CliContext } from "./context.js";

export function sayWhatIsMissing(context: CliContext, missing: readonly Missing[]): void {
  context.complain(
    [
      "mneme cannot start yet. Set in the environment, in .env or in mneme.yaml:",
      ...missing.map(({ key, remedy }) => `  ${key}: ${remedy}`),
      "On a terminal, `mneme init` asks for these, tries them out and writes the files.",
    ].join("\n"),
  );
}
