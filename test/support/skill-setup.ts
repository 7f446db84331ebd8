/** Skill folders on a real database in a private folder, for tests of everything that reads or writes skills. */
import { openDatabase, type Database } from "../../src/storage/database.js";
import { createSkillLog } from "../../src/storage/skill-log.js";
import type { SkillLog } from "../../src/ports/skill-log.js";
import { createHost } from "../../src/skills/host-files.js";
import { SkillIndex } from "../../src/skills/index-files.js";
import { Shelves } from "../../src/skills/shelf-files.js";
import { SkillFiles, type SkillAuthor } from "../../src/skills/skill-files.js";
import { collectingLogger, systemClock, type CollectedLog } from "./runtime.js";

export interface SkillSetup {
  readonly db: Database;
  readonly log: SkillLog;
  readonly files: SkillFiles;
  readonly index: SkillIndex;
  readonly shelves: Shelves;
  readonly logger: CollectedLog;
}

export const byCommand: SkillAuthor = { origin: "command", guard: { none: true }, accountKey: "test:1", personId: "p1" };
export const plainRules = { gentle: false };

export interface SkillSetupOptions {
  readonly system?: string;
  readonly log?: (log: SkillLog) => SkillLog;
}

export async function skillSetup(dataDir: string, { system = "linux", log: wrapped }: SkillSetupOptions = {}): Promise<SkillSetup> {
  const logger = collectingLogger();
  const db = await openDatabase({ file: `${dataDir}/mneme.db`, logger, clock: systemClock });
  const log = createSkillLog({ db });
  const shelves = new Shelves({ logger });
  const host = createHost({ system, searchPath: "/usr/bin:/bin" });
  const index = new SkillIndex({ dataDir, shelves, host, logger });
  const files = new SkillFiles({ dataDir, log: wrapped === undefined ? log : wrapped(log), index, clock: systemClock });
  return { db, log, files, index, shelves, logger };
}

/** A whole SKILL.md. */
export function skillMd(name: string, description: string, body = "1. Do it.\n2. Check it."): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;
}
