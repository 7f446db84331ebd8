/**
 * skill_manage: the six changes, after the checks that need no file. It writes into the session's own space whatever it is
 * asked; a review may change only what this session has loaded, and never replaces or deletes a skill it did not make.
 */
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../agent/tool.js";
import { accountKey, type Space } from "../domain/identity.js";
import type { WriteGuard } from "../ports/memory-log.js";
import type { SkillChange } from "./changes.js";
import { manageDescription } from "./guidance.js";
import { nameRule, pathError } from "./safe-path-files.js";
import type { SkillAuthor, SkillFiles } from "./skill-files.js";
import { cut, isSkillName, supportingFileLimit } from "./skill.js";

/** Turn or job → the skills viewed in it. A run lives in one process, so memory is enough. */
export type SeenSkills = Map<string, Set<string>>;

export interface ManageToolDeps {
  readonly files: SkillFiles;
  readonly seen: SeenSkills;
  readonly loaded: (sessionId: string) => Promise<readonly string[]>;
}

const actions = ["create", "edit", "patch", "delete", "write_file", "remove_file"] as const;

/** Lenient on purpose: what is wrong is answered with our own text, which tells the model how to do it right. */
const input = z.object({
  action: z.unknown().meta({ type: "string", enum: [...actions] }),
  name: z.unknown().meta({ type: "string", description: "a-z, 0-9, . _ -; at most 64." }),
  content: z.unknown().optional().meta({ type: "string" }),
  category: z.unknown().optional().meta({ type: "string" }),
  old_string: z.unknown().optional().meta({ type: "string" }),
  new_string: z.unknown().optional().meta({ type: "string" }),
  replace_all: z.unknown().optional().meta({ type: "boolean" }),
  file_path: z.unknown().optional().meta({ type: "string" }),
  file_content: z.unknown().optional().meta({ type: "string" }),
});
type Call = z.infer<typeof input>;

export function createManageTool(deps: ManageToolDeps): Tool {
  return defineTool<Call>({
    name: "skill_manage",
    description: manageDescription,
    input,
    effect: "once",
    run: (call, context) => manage(deps, call, context),
  });
}

async function manage(deps: ManageToolDeps, call: Call, context: ToolContext): Promise<string> {
  const name = typeof call.name === "string" ? call.name.trim() : "";
  if (!isSkillName(name)) return failed(call, nameRule);
  const change = readChange(call);
  if (typeof change === "string") return failed(call, change);
  const objection = placeError(context) ?? (await reviewError(deps, name, change, context));
  if (objection !== undefined) return failed(call, objection);
  const space: Space = { id: context.session.spaceId, kind: context.session.spaceKind };
  const outcome = await deps.files.change(space, name, change, { gentle: context.origin === "review" }, authorOf(context));
  if (!outcome.ok) return failed(call, outcome.error, outcome.near);
  const copied = outcome.copied ? " The shared skill stays as it is; this space now has its own copy." : "";
  return JSON.stringify({ success: true, action: change.action, name, changed: outcome.changed, message: outcome.message + copied });
}

function readChange(call: Call): SkillChange | string {
  const { action } = call;
  switch (action) {
    case "create":
    case "edit": {
      if (!isFilled(call.content)) return `Empty content: ${action} needs the whole SKILL.md in content.`;
      const category = text(call.category).trim();
      return action === "create" && category !== "" ? { action, content: call.content, category } : { action, content: call.content };
    }
    case "patch":
      return readPatch(call);
    case "delete":
      return { action };
    case "write_file":
    case "remove_file": {
      const path = text(call.file_path).trim();
      const error = path === "" ? `Empty file_path: ${action} needs the file's path.` : pathError(path, "write");
      if (error !== undefined) return error;
      if (action === "remove_file") return { action, path };
      if (!isFilled(call.file_content)) return "Empty file_content: write_file needs the file's text.";
      if (Buffer.byteLength(call.file_content) > supportingFileLimit)
        return `A supporting file may have ${supportingFileLimit} bytes at most.`;
      return { action, path, content: call.file_content };
    }
    default:
      return `Unknown action. Use ${actions.join(", ")}.`;
  }
}

function readPatch(call: Call): SkillChange | string {
  const path = text(call.file_path).trim() || "SKILL.md";
  const error = pathError(path, "read");
  if (error !== undefined) return error;
  if (text(call.old_string) === "") return "Empty old_string: patch needs the exact text that is to be replaced.";
  if (typeof call.new_string !== "string") return "new_string is missing: give the text that replaces old_string (it may be empty).";
  return {
    action: "patch",
    path,
    oldString: text(call.old_string),
    newString: call.new_string,
    replaceAll: call.replace_all === true || call.replace_all === "true",
  };
}

/** What the place and the speaker forbid, whatever the change. */
function placeError({ session, speaker }: ToolContext): string | undefined {
  if (session.isPrivate) return "This session is private: nothing is saved from it.";
  if (speaker.role === "guest") return "Guests cannot change skills here.";
  return undefined;
}

async function reviewError(
  { files, seen, loaded }: ManageToolDeps,
  name: string,
  { action }: SkillChange,
  context: ToolContext,
): Promise<string | undefined> {
  if (context.origin !== "review" || action === "create") return undefined;
  if (context.jobId !== undefined) {
    const own = (await files.log.byJob(context.jobId)).some((event) => event.skill === name && event.action === "create");
    if (own) return undefined;
  }
  if (action === "delete") return "A review deletes no skill: say which skills overlap, and somebody will look.";
  const known = seen.get(context.jobId ?? context.turn.id)?.has(name) === true || (await loaded(context.session.id)).includes(name);
  return known ? undefined : `This session has not loaded ${name}: read it with skill_view before you change it.`;
}

function guardOf({ origin, jobId, turn }: ToolContext): WriteGuard {
  return origin === "review" && jobId !== undefined ? { jobId, fence: turn.claim } : { turnId: turn.id, claim: turn.claim };
}

function authorOf(context: ToolContext): SkillAuthor {
  const { speaker, session, turn, jobId, origin } = context;
  return {
    origin,
    guard: guardOf(context),
    accountKey: accountKey(speaker.platform, speaker.accountId),
    personId: speaker.personId,
    sessionId: session.id,
    turnId: turn.id,
    ...(jobId === undefined ? {} : { jobId }),
  };
}

function isFilled(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function failed({ action, name }: Call, error: string, near: readonly string[] = []): string {
  return JSON.stringify({
    success: false,
    action: cut(text(action), 20),
    name: cut(text(name), 80),
    error,
    ...(near.length === 0 ? {} : { nearest: near }),
  });
}
