/**
 * /skills: what is known to do here, what changed, taking it back, publishing; and /skill, which loads one into a message.
 * Only an operator publishes, and only the very text they were shown.
 */
import { accountKey } from "../domain/identity.js";
import type { Space } from "../domain/identity.js";
import type { Command, CommandContext, CommandReply } from "../gateway/commands.js";
import type { Clock } from "../ports/runtime.js";
import type { SkillEvent, SkillOwner } from "../ports/skill-log.js";
import type { Sessions } from "../ports/stores.js";
import { fitsHost } from "../skills/host-files.js";
import { changedLines } from "../skills/changed-lines.js";
import { ownerOf, sharedOwner } from "../skills/index-files.js";
import { turnWithSkill } from "../skills/loaded.js";
import type { SkillAuthor, SkillFiles } from "../skills/skill-files.js";
import { cut } from "../skills/skill.js";
import { quoteName } from "../safety/fence.js";
import { text } from "../words/catalogue.js";

export interface SkillCommandDeps {
  readonly files: SkillFiles;
  readonly sessions: Pick<Sessions, "rebuild">;
  readonly clock: Clock;
  readonly timeZone: string;
  readonly enabled: boolean;
  /** Names of the only skills that may be used in a chat; undefined = all. */
  readonly only?: (context: CommandContext) => Promise<readonly string[] | undefined>;
}

const logLength = 10;
const shownLines = 3;
const listedDescription = 120;
/** Characters of a skill that is shown before it is published. */
const shownText = 60_000;

/** What an operator was shown, until they confirm: their account and the skill → the fingerprint of its files. */
type Shown = Map<string, string>;

export function skillCommands(deps: SkillCommandDeps): Command[] {
  const shown: Shown = new Map();
  return [
    { name: "skills", help: "help.skills", who: "everybody", where: "anywhere", run: (context) => skills(deps, shown, context) },
    { name: "skill", help: "help.skill", who: "everybody", where: "anywhere", run: (context) => skill(deps, context) },
  ];
}

async function skills(deps: SkillCommandDeps, shown: Shown, context: CommandContext): Promise<CommandReply> {
  const { language } = context;
  if (!deps.enabled) return { markdown: text(language, "skills.off") };
  const [verb = "list", ...rest] = context.args.split(/\s+/u).filter((word) => word !== "");
  switch (verb.toLowerCase()) {
    case "list":
      return { markdown: list(deps, context) };
    case "log":
      return { markdown: await log(deps, context, rest[0]) };
    case "undo":
      return { markdown: await undo(deps, context) };
    case "share":
      return { markdown: await share(deps, shown, context, rest) };
    default:
      return { markdown: text(language, "skills.usage", { command: `\`${context.form("skills")}\`` }) };
  }
}

function list({ files }: SkillCommandDeps, context: CommandContext): string {
  const usable = files.index.visible(spaceOf(context)).filter(({ meta }) => fitsHost(meta.platforms, files.index.host));
  if (usable.length === 0) return text(context.language, "skills.empty");
  const rows = usable.map(({ meta }) => `- **${meta.name}**: ${inline(cut(meta.description, listedDescription))}`);
  return [`**${text(context.language, "skills.title")}**`, "", ...rows].join("\n");
}

async function log(deps: SkillCommandDeps, context: CommandContext, name: string | undefined): Promise<string> {
  const { files } = deps;
  const space = spaceOf(context);
  await files.noticeOutside(ownerOf(space));
  const owners = [ownerOf(space), sharedOwner];
  const events = (await Promise.all(owners.map((owner) => files.events(owner, logLength, name)))).flat();
  const newest = events.toSorted((a, b) => b.id - a.id).slice(0, logLength);
  if (newest.length === 0) return text(context.language, "skills.log-empty");
  const uses = (await files.log.uses(space.id)).filter((use) => use.skill === name);
  const lines: string[] = uses.map(({ skill: used, views, lastAt }) =>
    text(context.language, "skills.views", { name: used, views, when: when(deps, lastAt) }),
  );
  for (const event of newest) lines.push(...(await eventLines(deps, context, event)));
  return [`**${text(context.language, "skills.log-title")}**`, "", ...lines].join("\n");
}

async function eventLines(deps: SkillCommandDeps, context: CommandContext, event: SkillEvent): Promise<string[]> {
  const { language } = context;
  const what =
    event.action === "overlap"
      ? text(language, "skills.did-overlap", { note: inline(event.note ?? "") })
      : text(language, `skills.did-${event.action}`);
  const who = text(language, `skills.by-${event.origin}`);
  const line = text(language, "skills.log-line", { when: when(deps, event.at), name: event.skill, what, who });
  const first = `- ${line}${event.undoneBy === undefined ? "" : ` ${text(language, "memory.log-undone")}`}`;
  if (event.action !== "patch" && event.action !== "edit" && event.action !== "outside") return [first];
  const whole = await deps.files.log.event(event.id);
  const changes = changedLines(whole?.files ?? [], shownLines).slice(0, shownLines);
  return [
    first,
    ...changes.flatMap(({ removed, added }) => [
      ...removed.map((row) => `  − ${inline(row)}`),
      ...added.map((row) => `  + ${inline(row)}`),
    ]),
  ];
}

async function undo(deps: SkillCommandDeps, context: CommandContext): Promise<string> {
  const { speaker, language } = context;
  const isOperator = speaker.role === "operator";
  const owners: SkillOwner[] = [ownerOf(spaceOf(context)), ...(isOperator ? [sharedOwner] : [])];
  const me = accountKey(speaker.platform, speaker.accountId);
  const mayUndo = (event: SkillEvent): boolean => isOperator || (speaker.role !== "guest" && (!context.inGroup || event.accountKey === me));
  const result = await deps.files.undo(owners, mayUndo, author(context));
  if (!result.ok) {
    if (result.reason === "nothing") return text(language, "skills.undo-nothing");
    return text(language, "skills.undo-changed", { name: result.event?.skill ?? "" });
  }
  // The index of running sessions may still promise what is no longer there.
  await deps.sessions.rebuild({ spaceId: context.place.spaceId });
  return text(language, "skills.undone", { name: result.undone.skill });
}

async function share(deps: SkillCommandDeps, shown: Shown, context: CommandContext, words: readonly string[]): Promise<string> {
  const { language, speaker } = context;
  const { files } = deps;
  if (speaker.role !== "operator") return text(language, "access.operators-only");
  const [name = "", word = ""] = words;
  const command = `\`${context.form("skills")} share ${name}\``;
  if (name === "") return text(language, "skills.usage", { command: `\`${context.form("skills")}\`` });
  const space = spaceOf(context);
  const own = files.index.shelf(ownerOf(space)).find(({ meta }) => meta.name === name);
  if (own === undefined) {
    const known = files.find(space, name) !== undefined;
    return known ? text(language, "skills.share-own-only", { name }) : notFound(context, name);
  }
  const key = `${accountKey(speaker.platform, speaker.accountId)} ${space.id} ${name}`;
  if (word.toLowerCase() !== "confirm") return show(deps, shown, context, key, name, command);
  const seen = shown.get(key);
  shown.delete(key);
  if (seen === undefined || !(await files.share(space, name, seen, author(context)))) {
    return text(language, "skills.share-changed", { name, share: command });
  }
  return text(language, "skills.shared", { name });
}

function show(deps: SkillCommandDeps, shown: Shown, context: CommandContext, key: string, name: string, command: string): string {
  const { language } = context;
  const state = deps.files.state(ownerOf(spaceOf(context)), name);
  const blocks = [...state.files].map(([path, { bytes }]) => `${path}\n${fenced(bytes?.toString("utf8") ?? "…")}`);
  const whole = blocks.join("\n\n");
  if (whole.length > shownText) return text(language, "skills.share-too-long", { name });
  if (shown.size >= 100) shown.clear();
  shown.set(key, deps.files.fingerprint(state));
  const listed = text(language, "skills.share-files", { files: [...state.files.keys()].join(", ") });
  return text(language, "skills.share-confirm", { name, share: command, text: `${listed}\n\n${whole}` });
}

async function skill({ files, clock, enabled, only }: SkillCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, args } = context;
  if (!enabled) return { markdown: text(language, "skills.off") };
  const [name = ""] = args.split(/\s/u);
  if (name === "") return { markdown: text(language, "skill.usage", { command: `\`${context.form("skill")}\`` }) };
  const space = spaceOf(context);
  const allowed = await only?.(context);
  const found = allowed?.includes(name.toLowerCase()) === false ? undefined : files.find(space, name.toLowerCase());
  const bytes = found === undefined ? undefined : files.state(found.owner, found.meta.name).files.get("SKILL.md")?.bytes;
  if (found === undefined || bytes === undefined) return { markdown: notFound(context, name) };
  await files.log.viewed(space.id, found.meta.name, clock.now());
  const words = args.slice(name.length).trim();
  return {
    markdown: "",
    turnText: turnWithSkill(found.meta.name, bytes.toString("utf8"), words === "" ? `/skill ${found.meta.name}` : words),
    said: words,
  };
}

function notFound(context: CommandContext, name: string): string {
  return text(context.language, "skills.not-found", { name: quoteName(name), skills: `\`${context.form("skills")}\`` });
}

function spaceOf({ place }: CommandContext): Space {
  return { id: place.spaceId, kind: place.spaceKind };
}

function author({ speaker }: CommandContext): SkillAuthor {
  return {
    origin: "command",
    guard: { none: true },
    accountKey: accountKey(speaker.platform, speaker.accountId),
    personId: speaker.personId,
  };
}

function when({ timeZone }: SkillCommandDeps, at: number): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "short", timeStyle: "short" }).format(at);
}

/** Text of a skill on one line, so that it cannot take the shape of our own lines. */
function inline(value: string): string {
  return value.replaceAll(/\s+/gu, " ").trim();
}

/** A code block that the text cannot close. */
function fenced(value: string): string {
  const longest = Math.max(2, ...[...value.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${value.trimEnd()}\n${fence}`;
}
