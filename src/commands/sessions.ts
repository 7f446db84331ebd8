/**
 * Commands about one's conversations: /sessions, /resume, /title, /retry, /undo, /private, /timezone. Ids, titles and numbers are looked up in
 * the space of the place they are typed in and nowhere else.
 */
import { accountKey } from "../domain/identity.js";
import type { Command, CommandContext, CommandReply } from "../gateway/commands.js";
import type { SessionBook } from "../gateway/sessions.js";
import { withoutReply } from "../gateway/routes.js";
import { knownZone, type TimeZones } from "../gateway/time-zones.js";
import type { Clock } from "../ports/runtime.js";
import type { LastTurn, SessionCare } from "../ports/session-care.js";
import type { Session, Sessions } from "../ports/stores.js";
import { quoteName } from "../safety/fence.js";
import { text } from "../words/catalogue.js";

export interface SessionCommandDeps {
  readonly sessions: Sessions;
  readonly care: SessionCare;
  readonly book: SessionBook;
  readonly zones: TimeZones;
  readonly clock: Clock;
  /** Ends the caller's running turn in this place, and what waits of theirs. */
  readonly stop: (context: CommandContext) => Promise<unknown>;
  /** What a turn saved in files, one line each: that is not taken back with it. */
  readonly savedBy: (turnId: string) => Promise<readonly string[]>;
  /** A turn was taken back: the external memory forgets it too. True when it cannot. */
  readonly undone: (session: Session, turnId: string) => Promise<boolean>;
}

type Listed = Awaited<ReturnType<Sessions["list"]>>[number];

const listed = 200;
const shown = 10;
const titleLength = 80;

export function sessionCommands(deps: SessionCommandDeps): Command[] {
  const anywhere = { who: "everybody", where: "anywhere" } as const;
  return [
    { name: "sessions", help: "help.sessions", ...anywhere, run: (context) => list(deps, context) },
    { name: "resume", help: "help.resume", ...anywhere, run: (context) => resume(deps, context) },
    { name: "title", help: "help.title", ...anywhere, run: (context) => title(deps, context) },
    { name: "retry", help: "help.retry", ...anywhere, run: (context) => retry(deps, context) },
    { name: "undo", help: "help.undo", ...anywhere, run: (context) => undo(deps, context) },
    { name: "private", help: "help.private", who: "everybody", where: "dm", run: (context) => goPrivate(deps, context) },
    { name: "timezone", help: "help.timezone", who: "everybody", where: "dm", run: (context) => timeZone(deps, context) },
  ];
}

/**
 * What may be named in this place: its space's conversations, private ones left out, newest first. One that went on in another session after
 * it was condensed is shown once, with its beginning and all its messages; it is resumed where it stands now.
 */
async function visible({ sessions }: SessionCommandDeps, context: CommandContext): Promise<Listed[]> {
  const all = await sessions.list(context.place.spaceId, listed);
  const byId = new Map(all.map((session) => [session.id, session]));
  const continued = new Set(all.map((session) => session.parentId));
  const whole = (session: Listed): Listed => {
    const parent = session.parentId === undefined ? undefined : byId.get(session.parentId);
    if (parent === undefined) return session;
    const { preview, createdAt, messageCount } = whole(parent);
    return { ...session, preview, createdAt, messageCount: session.messageCount + messageCount };
  };
  return all
    .filter((session) => !continued.has(session.id))
    .map((session) => whole(session))
    .filter((session) => !session.isPrivate && session.messageCount > 0);
}

async function list(deps: SessionCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language } = context;
  const found = (await visible(deps, context)).slice(0, shown);
  if (found.length === 0) return { markdown: text(language, "sessions.none") };
  const zone = await zoneOf(deps, context);
  const lines = found.map((session, index) => {
    const line = { n: index + 1, name: nameOf(session), messages: session.messageCount, when: when(session.lastActiveAt, zone) };
    const here = session.key === context.place.key && session.endedAt === undefined;
    return text(language, here ? "sessions.line-here" : "sessions.line", line);
  });
  return {
    markdown: [
      text(language, "sessions.title"),
      "",
      ...lines,
      "",
      text(language, "sessions.hint", { resume: `\`${context.form("resume")}\`` }),
    ].join("\n"),
  };
}

async function resume(deps: SessionCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, args, place, message } = context;
  if (args === "") return list(deps, context);
  const found = named(await visible(deps, context), args);
  if (found === undefined || found === "many") {
    const key = found === "many" ? "resume.many" : "resume.none";
    return { markdown: text(language, key, { name: quoteName(args), sessions: `\`${context.form("sessions")}\`` }) };
  }
  await deps.stop(context);
  const current = await deps.sessions.active(place.key);
  if (current?.id === found.id) return { markdown: text(language, "resume.here", { name: nameOf(found) }) };
  const intents = current === undefined ? [] : await deps.book.endIntents(current, "resumed another");
  const { platform, chat, threadId, route } = message;
  const target = {
    key: place.key,
    platform,
    chatId: chat.id,
    chatKind: chat.kind,
    ...(threadId === undefined ? {} : { threadId }),
    route: withoutReply(route),
  };
  const done = await deps.care.resume(found.id, target, deps.clock.now(), intents);
  if (done === "busy") return { markdown: text(language, "sessions.busy", { stop: `\`${context.form("stop")}\`` }) };
  if (done === "gone")
    return { markdown: text(language, "resume.none", { name: quoteName(args), sessions: `\`${context.form("sessions")}\`` }) };
  return { markdown: text(language, "resume.done", { name: nameOf(found) }) };
}

/** By number in the list, by id, by title or its beginning. */
function named(sessions: readonly Listed[], typed: string): Listed | "many" | undefined {
  const exact = sessions.find((session) => session.id === typed);
  if (exact !== undefined) return exact;
  if (/^\d{1,2}$/u.test(typed)) return sessions.slice(0, shown)[Number(typed) - 1];
  const words = typed.toLowerCase();
  const titled = sessions.filter((session) => session.title?.toLowerCase() === words);
  const found = titled.length > 0 ? titled : sessions.filter((session) => nameOf(session).toLowerCase().includes(words));
  return found.length > 1 ? "many" : found[0];
}

async function title(deps: SessionCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, place, args } = context;
  const session = await deps.sessions.active(place.key);
  if (session === undefined) return { markdown: text(language, "title.none") };
  if (args === "") {
    return {
      markdown:
        session.title === undefined ? text(language, "title.unset") : text(language, "title.is", { title: quoteName(session.title) }),
    };
  }
  const clean = args.replaceAll(/\s+/gu, " ").slice(0, titleLength);
  await deps.sessions.setTitle(session.id, clean);
  return { markdown: text(language, "title.set", { title: quoteName(clean) }) };
}

async function retry(deps: SessionCommandDeps, context: CommandContext): Promise<CommandReply> {
  const taken = await takeBack(deps, context);
  if ("markdown" in taken) return taken;
  const { turn } = taken;
  if (turn.said === "" && turn.message === undefined) return { markdown: text(context.language, "undo.nothing") };
  return { markdown: "", turnText: turn.said, ...(turn.message === undefined ? {} : { turnFrom: turn.message }) };
}

async function undo(deps: SessionCommandDeps, context: CommandContext): Promise<CommandReply> {
  const taken = await takeBack(deps, context);
  if ("markdown" in taken) return taken;
  const { language } = context;
  const saved = await deps.savedBy(taken.turn.turnId);
  const outside = taken.keptOutside ? ` ${text(language, "undo.kept-outside")}` : "";
  const done = `${text(language, "undo.done", { text: quoteName(taken.turn.said) })}${outside}`;
  // A group does not hear what was saved for one of its members.
  if (saved.length === 0 || context.inGroup) return { markdown: done };
  return { markdown: [done, "", text(language, "undo.kept"), ...saved.map((line) => `- ${line}`)].join("\n") };
}

/** Removes the place's last turn, when it is the caller's own (or the caller is an operator). */
async function takeBack(
  deps: SessionCommandDeps,
  context: CommandContext,
): Promise<CommandReply | { readonly turn: LastTurn; readonly keptOutside: boolean }> {
  const { language, place, speaker } = context;
  const session = await deps.sessions.active(place.key);
  const turn = session === undefined ? undefined : await deps.care.lastTurn(session.id);
  if (session === undefined || turn === undefined) return { markdown: text(language, "undo.nothing") };
  const own = accountKey(turn.platform, turn.accountId) === accountKey(speaker.platform, speaker.accountId);
  if (!own && (context.inGroup ? speaker.role !== "operator" : place.spaceId !== speaker.personId)) {
    return { markdown: text(language, "undo.not-yours") };
  }
  const removed = await deps.care.removeTurn(session.id, turn.turnId);
  if (!removed) return { markdown: text(language, "sessions.busy", { stop: `\`${context.form("stop")}\`` }) };
  return { turn, keptOutside: await deps.undone(session, turn.turnId) };
}

async function goPrivate(deps: SessionCommandDeps, context: CommandContext): Promise<CommandReply> {
  await deps.stop(context);
  const { place, speaker, message } = context;
  await deps.book.begin({ inboxIds: [], messages: [message], speaker, place, receivedAt: deps.clock.now() }, { isPrivate: true });
  return { markdown: text(context.language, "private.begun", { new: `\`${context.form("new")}\`` }) };
}

async function timeZone(deps: SessionCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, args, speaker } = context;
  const command = `\`${context.form("timezone")}\``;
  if (args === "") return { markdown: text(language, "timezone.is", { zone: await zoneOf(deps, context), command }) };
  if (args.toLowerCase() === "default") {
    await deps.zones.choose(speaker.personId, undefined);
    return { markdown: text(language, "timezone.set", { zone: await zoneOf(deps, context) }) };
  }
  const zone = knownZone(args);
  if (zone === undefined) return { markdown: text(language, "timezone.unknown", { zone: quoteName(args) }) };
  await deps.zones.choose(speaker.personId, zone);
  await deps.sessions.rebuild({ personId: speaker.personId });
  return { markdown: text(language, "timezone.set", { zone }) };
}

function zoneOf(deps: SessionCommandDeps, { message, speaker }: CommandContext): Promise<string> {
  return deps.zones.of({ chatKind: message.chat.kind, personId: speaker.personId }, message.timeZone);
}

function nameOf(session: Listed): string {
  return quoteName(session.title ?? session.preview);
}

function when(at: number, zone: string): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" }).format(at);
}
