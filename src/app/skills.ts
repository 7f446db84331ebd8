/** Skills as one wired part: the folders, the three tools, the layers of the prompt. Also built beside a gateway, by the command line. */
import { processEnvironment } from "../../config/env.js";
import type { Layer } from "../agent/agent.js";
import type { Tool } from "../agent/tool.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { SkillLog } from "../ports/skill-log.js";
import type { Session, StoredEntry } from "../ports/stores.js";
import { skillsGuidance } from "../skills/guidance.js";
import { createHost } from "../skills/host-files.js";
import { SkillIndex } from "../skills/index-files.js";
import { loadedSkills } from "../skills/loaded.js";
import { Shelves } from "../skills/shelf-files.js";
import { SkillFiles } from "../skills/skill-files.js";
import { createSkillTools } from "../skills/tools.js";

export interface SkillsDeps {
  readonly dataDir: string;
  readonly log: SkillLog;
  /** All that the model sees of a session, also of one that continues another. */
  readonly history: (sessionId: string) => Promise<readonly StoredEntry[]>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Skills {
  readonly files: SkillFiles;
  readonly tools: readonly Tool[];
  /** Index (as the folders are now) and guidance. */
  readonly layers: (session: Pick<Session, "spaceId" | "spaceKind">, only?: readonly string[]) => Promise<readonly Layer[]>;
}

export function buildSkills({ dataDir, log, history, clock, logger }: SkillsDeps): Skills {
  const host = createHost({ system: process.platform, searchPath: processEnvironment()["PATH"] ?? "" });
  const index = new SkillIndex({ dataDir, shelves: new Shelves({ logger }), host, logger });
  const files = new SkillFiles({ dataDir, log, index, clock });
  const loaded = async (sessionId: string): Promise<string[]> => loadedSkills((await history(sessionId)).map((stored) => stored.entry));
  return {
    files,
    tools: createSkillTools({ files, clock, logger, loaded }),
    layers: (session, only) =>
      Promise.resolve([
        { id: "skills", text: index.text({ id: session.spaceId, kind: session.spaceKind }, only) },
        { id: "guidance-skills", text: skillsGuidance() },
      ]),
  };
}
