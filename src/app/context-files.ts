/**
 * `SOUL.md` and `AGENTS.md` of the data folder for the system prompt. A file the scan refuses is left out with a
 * warning, never deleted; both together are at most 20,000 characters.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../ports/runtime.js";
import { scan } from "../safety/scan.js";

const names = ["SOUL.md", "AGENTS.md"] as const;
const maxCharacters = 20_000;

export async function readContextFiles(dataDir: string, logger: Logger): Promise<string> {
  const parts: string[] = [];
  let left = maxCharacters;
  for (const name of names) {
    const text = await readIfThere(join(dataDir, name));
    if (text === undefined || text.trim() === "") continue;
    const verdict = scan(text, "context");
    if (!verdict.ok) {
      logger.warn({ file: name, reason: verdict.reason }, "a context file is left out of the prompt: the scan refuses it");
      continue;
    }
    const kept = [...text.trim()].slice(0, left).join("");
    if (kept.length < text.trim().length) logger.warn({ file: name, limit: maxCharacters }, "a context file is cut");
    left -= [...kept].length;
    parts.push(`# ${name}\n${kept}`);
  }
  return parts.join("\n\n");
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
