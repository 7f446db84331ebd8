/** Skills for the command line, beside a running or stopped gateway: the same folders, the same history. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../domain/errors.js";
import type { SkillEvent, SkillOwner } from "../ports/skill-log.js";
import { sharedOwner } from "../skills/index-files.js";
import { changedLines, type ChangedLines } from "../skills/changed-lines.js";
import type { SkillFiles, SkillUndo } from "../skills/skill-files.js";
import { createSkillLog } from "../storage/skill-log.js";
import { withStores, type OfflineDeps } from "./offline.js";
import { buildSkills } from "./skills.js";

export interface SkillLine {
  readonly name: string;
  /** `shared`, or the space's id. */
  readonly where: string;
  readonly description: string;
  readonly version?: string;
  readonly category?: string;
  /** How it came to be, and when it was last changed, where the history knows it. */
  readonly madeBy?: SkillEvent["origin"];
  readonly madeIn?: string;
  readonly changedAt: number;
  readonly views: number;
  readonly lastUsedAt?: number;
  readonly warning?: string;
}

export interface SkillChangeLine {
  readonly event: Omit<SkillEvent, "files">;
  readonly changes: readonly ChangedLines[];
}

const shownLines = 20;
const wholeHistory = 10_000;

/** `space` undefined: the shared ones and those of all spaces. Undefined when there is no database yet. */
export function skillsOffline(deps: OfflineDeps, space: string | undefined): Promise<SkillLine[] | undefined> {
  return withSkills(deps, async (files) => {
    const owners = space === undefined ? [sharedOwner, ...spacesWithSkills(deps.config.data.dir)] : [ownerNamed(space)];
    const lines: SkillLine[] = [];
    for (const owner of owners) lines.push(...(await linesOf(files, owner)));
    return lines;
  });
}

/** The files of one skill as text, SKILL.md first; what is no text, or too large, is undefined. Rejects with `input.invalid` when it is not there. */
export function skillTexts(deps: OfflineDeps, name: string, space: string): Promise<[string, string | undefined][] | undefined> {
  return withSkills(deps, (files) => {
    const { files: held } = files.state(ownerNamed(space), name);
    if (held.size === 0)
      throw new GatewayError("input.invalid", `There is no skill ${name} in ${space}. \`mneme skills list\` shows all of them.`);
    const texts = [...held].map(([path, { bytes }]): [string, string | undefined] => [path, bytes?.toString("utf8")]);
    return Promise.resolve(texts.sort(([a], [b]) => Number(b === "SKILL.md") - Number(a === "SKILL.md")));
  });
}

/** Newest first, with the lines that changed. */
export function skillHistory(
  deps: OfflineDeps,
  space: string,
  name: string | undefined,
  limit: number,
): Promise<SkillChangeLine[] | undefined> {
  return withSkills(deps, async (files) => {
    const lines: SkillChangeLine[] = [];
    for (const { id } of await files.events(ownerNamed(space), limit, name)) {
      const whole = await files.log.event(id);
      if (whole === undefined) continue;
      const { files: changed, ...event } = whole;
      lines.push({ event, changes: changedLines(changed, shownLines) });
    }
    return lines;
  });
}

/** Takes back the newest change in a space (or among the shared ones). */
export function undoSkill(deps: OfflineDeps, space: string, name: string | undefined): Promise<SkillUndo | undefined> {
  return withSkills(deps, (files) =>
    files.undo([ownerNamed(space)], (event) => name === undefined || event.skill === name, {
      origin: "command",
      guard: { none: true },
      accountKey: "cli",
    }),
  );
}

function withSkills<T>(deps: OfflineDeps, work: (files: SkillFiles) => Promise<T>): Promise<T | undefined> {
  return withStores(deps, ({ db, stores }) => {
    const { clock, logger, config } = deps;
    return work(
      buildSkills({
        dataDir: config.data.dir,
        log: createSkillLog({ db }),
        history: (sessionId) => stores.sessions.entries(sessionId),
        clock,
        logger,
      }).files,
    );
  });
}

async function linesOf(files: SkillFiles, owner: SkillOwner): Promise<SkillLine[]> {
  const uses = owner.scope === "space" ? await files.log.uses(owner.id) : [];
  const lines: SkillLine[] = [];
  for (const { meta, changedAt, warning } of files.index.shelf(owner)) {
    const first = (await files.events(owner, wholeHistory, meta.name)).at(-1);
    const use = uses.find((one) => one.skill === meta.name);
    lines.push({
      name: meta.name,
      where: owner.scope === "shared" ? "shared" : owner.id,
      description: meta.description,
      changedAt,
      views: use?.views ?? 0,
      ...(meta.version === undefined ? {} : { version: meta.version }),
      ...(meta.category === undefined ? {} : { category: meta.category }),
      ...(first === undefined ? {} : { madeBy: first.origin }),
      ...(first?.sessionId === undefined ? {} : { madeIn: first.sessionId }),
      ...(use === undefined ? {} : { lastUsedAt: use.lastAt }),
      ...(warning === undefined ? {} : { warning }),
    });
  }
  return lines.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function ownerNamed(space: string): SkillOwner {
  return space === "shared" ? sharedOwner : { scope: "space", id: space };
}

function spacesWithSkills(dataDir: string): SkillOwner[] {
  const root = join(dataDir, "spaces");
  if (!existsSync(root)) return [];
  const ids = readdirSync(root).filter((id) => !id.startsWith(".") && existsSync(join(root, id, "skills")));
  return ids.sort().map((id) => ({ scope: "space", id }));
}
