/** A process of its own that adds lines to one skill: `skill-writer-main DATA-DIR NAME COUNT`. Prints each line once it is stored. */
import { byCommand, plainRules, skillSetup } from "./skill-setup.js";

const [dataDir = "", name = "", count = "0"] = process.argv.slice(2);
const { db, files } = await skillSetup(dataDir);
const space = { id: "p1", kind: "person" } as const;
for (let index = 0; index < Number(count); index += 1) {
  const line = `- ${name} ${index}`;
  for (;;) {
    try {
      const change = { action: "patch", path: "SKILL.md", oldString: "<end>", newString: `${line}\n<end>`, replaceAll: false } as const;
      const outcome = await files.change(space, "shared-work", change, plainRules, byCommand);
      if (!outcome.ok) throw new Error(outcome.error);
      break;
    } catch (error) {
      if (!(error instanceof Error && "retryable" in error && error.retryable === true)) throw error;
    }
  }
  process.stdout.write(`${line}\n`);
}
await db.close();
