/**
 * The memory tool: checks what the model wants to keep and writes the files. The running session's snapshot is never
 * touched: what is saved here enters the prompt of the next session.
 */
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../agent/tool.js";
import { accountKey } from "../domain/identity.js";
import type { Clock } from "../ports/runtime.js";
import type { MemoryOwner, WriteGuard } from "../ports/memory-log.js";
import { scan, scanMessage } from "../safety/scan.js";
import { codePoints, grouped, parseEntries, usageOf, type Change, type Refusal } from "./entries.js";
import { memoryDescription, memoryGuidance, type MemorySwitches } from "./guidance.js";
import type { Author, MemoryFiles } from "./memory-files.js";
import { evidenceError, ownTextError, provenanceError } from "./sources.js";

export interface MemoryToolDeps {
  readonly files: MemoryFiles;
  readonly clock: Clock;
  readonly switches: MemorySwitches;
  /** Further texts of ours that must never be stored as a fact: the review instructions. */
  readonly ownTexts: readonly string[];
}

type Target = MemoryOwner["target"];

/** A call after the checks that need no file. */
interface Request {
  readonly target: Target;
  readonly change: Change;
  readonly evidence: string | undefined;
}

/** Lenient on purpose: what is wrong is answered with our own text, which tells the model how to do it right. */
const input = z.object({
  action: z.unknown().meta({ type: "string", enum: ["add", "replace", "remove"] }),
  target: z.unknown().meta({ type: "string", enum: ["user", "memory"] }),
  content: z.unknown().optional().meta({ type: "string", description: "The entry (add, replace)." }),
  old_text: z.unknown().optional().meta({ type: "string", description: "A short piece that occurs in one entry only (replace, remove)." }),
  evidence: z
    .unknown()
    .optional()
    .meta({ type: "string", description: "The person's own words this rests on, verbatim. Required in reviews." }),
});

/** The tool, or undefined when both stores are switched off. */
export function createMemoryTool(deps: MemoryToolDeps): Tool | undefined {
  const { switches } = deps;
  if (!switches.memory && !switches.user) return undefined;
  const failures = new FullStoreFailures();
  const ownTexts = [memoryDescription(switches), memoryGuidance(switches), ...deps.ownTexts];
  return defineTool<z.infer<typeof input>>({
    name: "memory",
    description: memoryDescription(switches),
    input,
    effect: "once",
    run: (call, context) => runMemory({ ...deps, ownTexts }, failures, call, context),
  });
}

async function runMemory(
  deps: MemoryToolDeps,
  failures: FullStoreFailures,
  call: z.infer<typeof input>,
  context: ToolContext,
): Promise<string> {
  const request = readRequest(deps.switches, call);
  if (typeof request === "string") return failed(call.target, request);
  const { target, change, evidence } = request;
  const blind = target === "user" && context.session.spaceKind === "group";
  const owner = ownerOf(target, context);
  const objection = placeError(request, context, blind) ?? (await textError(deps, request, context, owner, blind));
  if (objection !== undefined) return blind ? failed(target, objection) : answer(deps, owner, { error: objection });
  if (blind && change.action === "add") {
    const { personId } = context.speaker;
    await deps.files.log.addPending(personId, guardOf(context), change.content.trim(), evidence, context.session.id, deps.clock.now());
    return JSON.stringify({ success: true, message: "noted" });
  }
  const { applied, entries } = await deps.files.change(owner, change, authorOf(context, evidence));
  if (applied.ok) return answer(deps, owner, { message: messageFor(change, applied.changed) }, entries);
  const stop = applied.refusal.kind === "over-limit" && failures.count(context.turn) >= 3;
  return answer(deps, owner, { error: refusalText(applied.refusal) + (stop ? stopText : "") }, entries);
}

const stopText = " This has failed three times in this turn: stop trying to save it and go on with the answer.";

function readRequest(switches: MemorySwitches, call: z.infer<typeof input>): Request | string {
  const { action, target } = call;
  const offered = (["user", "memory"] as const).filter((name) => switches[name]);
  if (target !== "user" && target !== "memory") return `Unknown target. Use ${offered.join(" or ")}.`;
  if (!switches[target]) return `The target ${target} is switched off. Use ${offered.join(" or ")}.`;
  const content = textOf(call.content);
  const oldText = textOf(call.old_text);
  const evidence = textOf(call.evidence) === "" ? undefined : textOf(call.evidence);
  if (action !== "add" && action !== "replace" && action !== "remove") return "Unknown action. Use add, replace or remove.";
  if (action !== "remove" && content === "") return `Empty content: ${action} needs the entry in content.`;
  if (action !== "add" && oldText === "") return `Empty old_text: ${action} needs a short piece of the entry it means.`;
  if (action === "add") return { target, evidence, change: { action, content } };
  return { target, evidence, change: action === "replace" ? { action, oldText, content } : { action, oldText } };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

/** What the place and the speaker forbid, whatever the text. */
function placeError({ target, change }: Request, context: ToolContext, blind: boolean): string | undefined {
  if (context.session.isPrivate) return "This session is private: nothing is saved from it.";
  if (target !== "user") return undefined;
  if (context.speaker.role === "guest") return "Guests have no profile: nothing is saved about them.";
  if (!blind) return undefined;
  if (context.origin === "review") return "A review of a group saves nothing about a person.";
  return change.action === "add" ? undefined : "In a group only add is possible for the target user.";
}

/** What speaks against the text itself: scan, our own prompts, where it came from. */
async function textError(
  deps: MemoryToolDeps,
  request: Request,
  context: ToolContext,
  owner: MemoryOwner,
  blind: boolean,
): Promise<string | undefined> {
  const { change, evidence } = request;
  if (change.action === "remove") return undefined;
  const scanned = scan(change.content);
  if (!scanned.ok) return scanMessage(scanned.reason);
  const held = blind ? [] : deps.files.entries(owner);
  return (
    ownTextError(change.content, deps.ownTexts) ??
    provenanceError(change.content, context, held) ??
    evidenceError(evidence, change, context, held)
  );
}

function ownerOf(target: Target, context: ToolContext): MemoryOwner {
  return { target, id: target === "user" ? context.speaker.personId : context.session.spaceId };
}

function guardOf({ origin, jobId, turn }: ToolContext): WriteGuard {
  return origin === "review" && jobId !== undefined ? { jobId, fence: turn.claim } : { turnId: turn.id, claim: turn.claim };
}

function authorOf(context: ToolContext, evidence: string | undefined): Author {
  const { speaker, session, turn, jobId, origin } = context;
  return {
    origin,
    guard: guardOf(context),
    accountKey: accountKey(speaker.platform, speaker.accountId),
    personId: speaker.personId,
    sessionId: session.id,
    turnId: turn.id,
    ...(jobId === undefined ? {} : { jobId }),
    ...(evidence === undefined ? {} : { evidence }),
  };
}

const changedMessages = { add: "Saved.", replace: "Replaced.", remove: "Removed." } as const;

/** The messages of a call that changed a store. */
export const savedMessages: ReadonlySet<string> = new Set(Object.values(changedMessages));

function messageFor(change: Change, changed: boolean): string {
  return changed ? changedMessages[change.action] : "Already stored: nothing had to change.";
}

function refusalText(refusal: Refusal): string {
  switch (refusal.kind) {
    case "empty":
      return "Empty content.";
    case "delimiter":
      return "An entry may not contain a line that holds only §.";
    case "no-match":
      return "No entry contains old_text. The entries are listed here.";
    case "ambiguous":
      return `old_text occurs in ${refusal.beginnings.length} different entries; give more of the one you mean: ${refusal.beginnings.map((text) => `"${text}"`).join(", ")}`;
    case "near-duplicate":
      return `Almost the same is stored already: "${refusal.existing}". Use replace with it as old_text if this one is better.`;
    case "over-limit":
      return `The store is full: ${grouped(refusal.size)}/${grouped(refusal.limit)} chars now, ${grouped(refusal.needed)} with this entry of ${grouped(refusal.entrySize)} chars. Replace or remove entries first (all are listed here), then save it in the same turn.`;
    default:
      return refusal satisfies never;
  }
}

/** The result, always with the same keys. Entries that the scan refuses are masked, so that hostile text edited in by hand is not read. */
function answer(
  deps: MemoryToolDeps,
  owner: MemoryOwner,
  outcome: { readonly message: string } | { readonly error: string },
  known?: readonly string[],
): string {
  const entries = known ?? parseEntries(deps.files.read(owner));
  return JSON.stringify({
    success: "message" in outcome,
    target: owner.target,
    entries: entries.map(masked),
    usage: usageOf(entries, deps.files.limit(owner)),
    entry_count: entries.length,
    ...outcome,
  });
}

/** A refusal that may show nothing of the store: a wrong target, or a group. */
function failed(target: unknown, error: string): string {
  return JSON.stringify({
    success: false,
    target: typeof target === "string" ? target : "",
    entries: [],
    usage: "",
    entry_count: 0,
    error,
  });
}

function masked(entry: string): string {
  const result = scan(entry);
  return result.ok ? entry : `[hidden: refused by the security scan (${result.reason}), ${codePoints(entry)} chars]`;
}

const rememberedTurns = 500;

/** Counts saves that failed on a full store, per turn; a turn runs in one process, so memory is enough. */
class FullStoreFailures {
  readonly #counts = new Map<string, number>();

  count({ id, claim }: ToolContext["turn"]): number {
    const key = `${id}/${claim}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.delete(key);
    this.#counts.set(key, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > rememberedTurns && oldest !== undefined) this.#counts.delete(oldest);
    return count;
  }
}
