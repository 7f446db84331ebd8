/**
 * skills_list and skill_view: what the model may read of the skills its space sees. Results always begin with `success`;
 * skill_manage is in manage-tool.ts.
 */
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../agent/tool.js";
import { errorText } from "../domain/errors.js";
import type { Space } from "../domain/identity.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { listDescription, viewDescription } from "./guidance.js";
import { fitsHost } from "./host-files.js";
import type { VisibleSkill } from "./index-files.js";
import { createManageTool, type SeenSkills } from "./manage-tool.js";
import type { SkillFiles } from "./skill-files.js";
import { cut } from "./skill.js";
import { readSkillFile } from "./view-files.js";

export interface SkillToolsDeps {
  readonly files: SkillFiles;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names of the skills that a session has loaded (loaded.ts over its transcript); a review may change these only. */
  readonly loaded: (sessionId: string) => Promise<readonly string[]>;
}

/** The three tools, in the order they are offered. */
export function createSkillTools(deps: SkillToolsDeps): Tool[] {
  const seen: SeenSkills = new Map();
  return [listTool(deps), viewTool(deps, seen), createManageTool({ ...deps, seen })];
}

export function spaceOf(context: Pick<ToolContext, "session">): Space {
  return { id: context.session.spaceId, kind: context.session.spaceKind };
}

/** Of one list result, so that no result is cut in the middle. */
const listLength = 40_000;
const listedDescription = 300;

function listTool({ files }: SkillToolsDeps): Tool {
  return defineTool({
    name: "skills_list",
    description: listDescription,
    input: z.object({}),
    effect: "read",
    run: (_input, context) => Promise.resolve(listResult(files, spaceOf(context))),
  });
}

function listResult(files: SkillFiles, space: Space): string {
  const { host } = files.index;
  const usable = files.index.visible(space).filter(({ meta }) => fitsHost(meta.platforms, host));
  const rows: object[] = [];
  let length = 0;
  for (const skill of usable) {
    const row = summary(files, skill);
    length += JSON.stringify(row).length;
    if (length > listLength) break;
    rows.push(row);
  }
  const left = usable.length - rows.length;
  return JSON.stringify({ success: true, count: usable.length, skills: rows, ...(left > 0 ? { left_out: left } : {}) });
}

function summary(files: SkillFiles, { meta, owner, warning }: VisibleSkill): object {
  const missing = meta.commands.filter((command) => !files.index.host.has(command));
  return {
    name: meta.name,
    description: cut(meta.description, listedDescription),
    ...(meta.category === undefined ? {} : { category: meta.category }),
    ...(meta.tags.length === 0 ? {} : { tags: meta.tags.slice(0, 20) }),
    ...(owner.scope === "shared" ? { shared: true } : {}),
    ...(missing.length === 0 ? {} : { missing_commands: missing }),
    ...(warning === undefined ? {} : { warning: warningText(warning) }),
  };
}

const viewInput = z.object({
  name: z.string(),
  file: z.string().optional().describe("A supporting file, as listed in files."),
  offset: z.number().int().min(0).optional().describe("Where to read on in a long file: next_offset of the last result."),
});

function viewTool(deps: SkillToolsDeps, seen: SeenSkills): Tool {
  return defineTool<z.infer<typeof viewInput>>({
    name: "skill_view",
    description: viewDescription,
    input: viewInput,
    effect: "read",
    run: async (input, context) => {
      const space = spaceOf(context);
      const skill = deps.files.find(space, input.name.trim());
      if (skill === undefined) return failed(input.name, noSuchSkill(deps.files, space, input.name.trim()));
      const read = readSkillFile(deps.files.folder(skill.owner, skill.meta.name), input.file?.trim() ?? "", input.offset ?? 0);
      if ("error" in read) return failed(input.name, read.error, read.files);
      remember(seen, context, skill.meta.name);
      await countView(deps, context, skill.meta.name);
      return viewResult(deps.files, skill, read);
    },
  });
}

function viewResult(files: SkillFiles, skill: VisibleSkill, read: Extract<ReturnType<typeof readSkillFile>, { content: string }>): string {
  const { meta } = skill;
  const isFit = fitsHost(meta.platforms, files.index.host);
  // `success` and `name` stand first: loaded.ts reads them even where the result was cut.
  return JSON.stringify({
    success: true,
    name: meta.name,
    ...(meta.version === undefined ? {} : { version: meta.version }),
    ...(skill.owner.scope === "shared" ? { shared: true } : {}),
    ...missingCommands(files, skill),
    ...(isFit ? {} : { note: `This skill is for other systems: ${meta.platforms.join(", ")}.` }),
    ...(skill.warning === undefined ? {} : { warning: warningText(skill.warning) }),
    ...read,
  });
}

function missingCommands(files: SkillFiles, { meta }: VisibleSkill): object {
  const missing = meta.commands.filter((command) => !files.index.host.has(command));
  return missing.length === 0 ? {} : { missing_commands: missing };
}

/** A count that cannot be stored must not cost the person the skill. */
async function countView({ files, clock, logger }: SkillToolsDeps, { session, origin }: ToolContext, name: string): Promise<void> {
  if (origin !== "turn" || session.isPrivate) return;
  try {
    await files.log.viewed(session.spaceId, name, clock.now());
  } catch (error) {
    logger.warn({ skill: name, error: errorText(error) }, "the view of a skill could not be counted");
  }
}

function remember(seen: SeenSkills, { turn, jobId }: ToolContext, name: string): void {
  const key = jobId ?? turn.id;
  const names = seen.get(key) ?? new Set();
  seen.delete(key);
  seen.set(key, names.add(name));
  const [oldest] = seen.keys();
  if (seen.size > mostRuns && oldest !== undefined) seen.delete(oldest);
}

const mostRuns = 500;

function noSuchSkill(files: SkillFiles, space: Space, name: string): string {
  const near = files.index
    .visible(space)
    .map(({ meta }) => meta.name)
    .filter((other) => name !== "" && (other.includes(name) || name.includes(other)));
  const hint = near.length === 0 ? "" : ` Similar: ${near.slice(0, 5).join(", ")}.`;
  return `There is no skill called ${cut(name, 80)} here.${hint} skills_list shows all of them.`;
}

function warningText(reason: string): string {
  return `The security scan found ${reason} in this skill, which was put here by hand. Take care with what it asks for.`;
}

function failed(name: string, error: string, files?: readonly string[]): string {
  return JSON.stringify({ success: false, name: cut(name, 80), error, ...(files === undefined ? {} : { files }) });
}
