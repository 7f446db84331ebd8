/**
 * /memory: what is known here, where it came from, taking it back and forgetting it. In a group it reaches the group's
 * notes only; what belongs to a person is shown in their direct messages alone.
 */
import { accountKey } from "../domain/identity.js";
import type { Command, CommandContext, CommandReply } from "../gateway/commands.js";
import type { Author, MemoryFiles, UndoResult } from "../memory/memory-files.js";
import type { MemoryEvent, MemoryOwner } from "../ports/memory-log.js";
import type { Sessions } from "../ports/stores.js";
import { quoteName } from "../safety/fence.js";
import { text } from "../words/catalogue.js";

export interface KnowledgeDeps {
  readonly files: MemoryFiles;
  readonly sessions: Sessions;
  readonly timeZone: string;
  readonly enabled: { readonly user: boolean; readonly memory: boolean };
  /** `72% — 990/1,375 chars`. */
  readonly usage: (owner: MemoryOwner) => string;
}

const logLength = 10;
const shownLength = 300;

export function knowledgeCommands(deps: KnowledgeDeps): Command[] {
  return [{ name: "memory", help: "help.memory", who: "everybody", where: "anywhere", run: (context) => memory(deps, context) }];
}

/** The stores the caller may see in this place. */
export function ownersFor(
  context: Pick<CommandContext, "inGroup" | "speaker" | "place">,
  enabled: KnowledgeDeps["enabled"],
): MemoryOwner[] {
  const user: MemoryOwner = { target: "user", id: context.speaker.personId };
  const notes: MemoryOwner = { target: "memory", id: context.place.spaceId };
  return [...(enabled.user && !context.inGroup ? [user] : []), ...(enabled.memory ? [notes] : [])];
}

async function memory(deps: KnowledgeDeps, context: CommandContext): Promise<CommandReply> {
  const [verb = "list", ...rest] = context.args.split(/\s+/u).filter((word) => word !== "");
  const argument = rest.join(" ");
  const owners = ownersFor(context, deps.enabled);
  if (owners.length === 0) return { markdown: text(context.language, "memory.off") };
  switch (verb.toLowerCase()) {
    case "list":
      return { markdown: list(deps, context, owners) };
    case "log":
      return { markdown: await log(deps, context, owners) };
    case "undo":
      return { markdown: await undo(deps, context, owners) };
    case "forget":
      return { markdown: await forget(deps, context, owners, argument) };
    default:
      return { markdown: text(context.language, "memory.usage", { command: `\`${context.form("memory")}\`` }) };
  }
}

function list(deps: KnowledgeDeps, context: CommandContext, owners: readonly MemoryOwner[]): string {
  const blocks = owners.flatMap((owner) => {
    const entries = deps.files.entries(owner);
    if (entries.length === 0) return [];
    const title = text(context.language, owner.target === "user" ? "memory.title-user" : "memory.title-memory", {
      usage: deps.usage(owner),
    });
    return [[`**${title}**`, "", ...entries.map((entry) => `- ${entry.replaceAll("\n", " ")}`)].join("\n")];
  });
  return blocks.length === 0 ? text(context.language, "memory.empty") : blocks.join("\n\n");
}

async function log(deps: KnowledgeDeps, context: CommandContext, owners: readonly MemoryOwner[]): Promise<string> {
  for (const owner of owners) await deps.files.noticeOutside(owner);
  const events = (await Promise.all(owners.map((owner) => deps.files.events(owner, logLength)))).flat();
  const newest = events.toSorted((a, b) => b.id - a.id).slice(0, logLength);
  if (newest.length === 0) return text(context.language, "memory.log-empty");
  return [text(context.language, "memory.log-title"), "", ...newest.map((event) => `- ${logLine(deps, context, event)}`)].join("\n");
}

function logLine(deps: KnowledgeDeps, context: CommandContext, event: MemoryEvent): string {
  const when = new Intl.DateTimeFormat("en-GB", { timeZone: deps.timeZone, dateStyle: "short", timeStyle: "short" }).format(event.at);
  const target = event.owner.target === "user" ? "USER.md" : "MEMORY.md";
  const before = shown(event.before);
  const after = shown(event.after);
  const line = ((): string => {
    if (event.action === "outside") return text(context.language, "memory.log-outside", { when, target });
    if (event.after === undefined || event.action === "forget")
      return text(context.language, "memory.log-remove", { when, target, before });
    if (event.before !== undefined) return text(context.language, "memory.log-replace", { when, target, before, text: after });
    return text(context.language, "memory.log-add", { when, target, text: after });
  })();
  return event.undoneBy === undefined ? line : `${line} ${text(context.language, "memory.log-undone")}`;
}

async function undo(deps: KnowledgeDeps, context: CommandContext, owners: readonly MemoryOwner[]): Promise<string> {
  const { speaker } = context;
  const me = accountKey(speaker.platform, speaker.accountId);
  const mayUndo = (event: MemoryEvent): boolean => !context.inGroup || speaker.role === "operator" || event.accountKey === me;
  const result = await deps.files.undo(owners, mayUndo, author(context));
  if (!result.ok) return undoRefusal(deps, context, result);
  await rebuild(deps, result.undone.owner);
  return text(context.language, "memory.undone", { text: shown(result.undone.after ?? result.undone.before) });
}

function undoRefusal(deps: KnowledgeDeps, context: CommandContext, result: Extract<UndoResult, { ok: false }>): string {
  switch (result.reason) {
    case "nothing":
      return text(context.language, "memory.undo-nothing");
    case "changed":
    case "forgotten":
      return text(context.language, "memory.undo-changed", { log: `\`${context.form("memory")} log\`` });
    case "full":
      return text(context.language, "memory.undo-limit", { limit: result.event === undefined ? 0 : deps.files.limit(result.event.owner) });
    default:
      return result.reason satisfies never;
  }
}

async function forget(deps: KnowledgeDeps, context: CommandContext, owners: readonly MemoryOwner[], piece: string): Promise<string> {
  if (piece === "") return text(context.language, "memory.forget-usage", { forget: `\`${context.form("memory")} forget\`` });
  if (context.inGroup && context.speaker.role === "guest") return text(context.language, "access.operators-only");
  const found = owners.flatMap((owner) => deps.files.find(owner, piece).map((entry) => ({ owner, entry })));
  const [only] = found;
  if (only === undefined) {
    return text(context.language, "memory.forget-none", { text: quoteName(piece), list: `\`${context.form("memory")} list\`` });
  }
  if (found.length > 1) return text(context.language, "memory.forget-many", { text: quoteName(piece) });
  await deps.files.forget(only.owner, only.entry, author(context));
  await rebuild(deps, only.owner);
  return text(context.language, "memory.forgotten", { text: shown(only.entry) });
}

/** Sessions that hold the old text in their prompt get a new one at their next turn. */
async function rebuild(deps: KnowledgeDeps, owner: MemoryOwner): Promise<void> {
  await deps.sessions.rebuild(owner.target === "user" ? { personId: owner.id } : { spaceId: owner.id });
}

function author(context: CommandContext): Author {
  const { speaker } = context;
  return {
    origin: "command",
    guard: { none: true },
    accountKey: accountKey(speaker.platform, speaker.accountId),
    personId: speaker.personId,
  };
}

function shown(entry: string | null | undefined): string {
  const flat = (entry ?? "…").replaceAll(/\s+/gu, " ");
  return flat.length > shownLength ? `${flat.slice(0, shownLength)}…` : flat;
}
