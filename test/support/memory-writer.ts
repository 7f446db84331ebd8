/** A process of its own that adds entries to one MEMORY.md: `memory-writer DATA-DIR NAME COUNT`. Prints each entry once it is stored. */
import { byCommand, memorySetup } from "./memory-setup.js";

const [dataDir = "", name = "", count = "0"] = process.argv.slice(2);
const { db, files } = await memorySetup(dataDir, { user: 1_000_000, memory: 1_000_000 });
for (let index = 0; index < Number(count); index += 1) {
  const content = `${name} number${index} fact${index}`;
  for (;;) {
    try {
      const { applied } = await files.change({ target: "memory", id: "space1" }, { action: "add", content, allowNear: true }, byCommand);
      if (!applied.ok) throw new Error(applied.refusal.kind);
      break;
    } catch (error) {
      if (!(error instanceof Error && "retryable" in error && error.retryable === true)) throw error;
    }
  }
  process.stdout.write(`${content}\n`);
}
await db.close();
