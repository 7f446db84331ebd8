/** Commands about the conversation itself: /help, /new, /stop, /again, /status. Each says only what has been confirmed. */
import type { Command, CommandContext, CommandReply, CommandRunner } from "../gateway/commands.js";
import type { Lanes } from "../gateway/lanes.js";
import type { SessionBook } from "../gateway/sessions.js";
import { withoutReply } from "../gateway/routes.js";
import type { Clock } from "../ports/runtime.js";
import type { Inbox, Outbox } from "../ports/mailbox.js";
import type { Sessions, Turns } from "../ports/stores.js";
import { text } from "../words/catalogue.js";

export interface ConversationDeps {
  readonly lanes: Lanes;
  readonly book: SessionBook;
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly timeZone: string;
  readonly model: string;
  /** Asked when a command runs, since the table is built from these commands. */
  readonly runner: () => CommandRunner;
  /** `72% — 990/1,375 chars` per store that the caller may see here. */
  readonly memoryUsage: (context: CommandContext) => Promise<{ readonly user?: string; readonly memory?: string }>;
  /** One line per platform and one for jobs; operators only. */
  readonly operatorLines: (context: CommandContext) => Promise<readonly string[]>;
  readonly wake: () => void;
}

export function conversationCommands(deps: ConversationDeps): Command[] {
  return [
    { name: "help", help: "help.help", who: "everybody", where: "anywhere", run: async (context) => help(deps, context) },
    { name: "new", help: "help.new", who: "everybody", where: "anywhere", run: (context) => startAnew(deps, context) },
    { name: "stop", help: "help.stop", who: "everybody", where: "anywhere", urgent: true, run: (context) => stop(deps, context) },
    { name: "again", help: "help.again", who: "everybody", where: "anywhere", run: (context) => again(deps, context) },
    { name: "status", help: "help.status", who: "everybody", where: "anywhere", run: (context) => status(deps, context) },
  ];
}

function help(deps: ConversationDeps, context: CommandContext): CommandReply {
  const lines = deps
    .runner()
    .list(context.speaker.role)
    .filter((command) => !(context.inGroup && command.where === "dm"))
    .map((command) => `- \`${context.form(command.name)}\`: ${text(context.language, command.help)}`);
  return { markdown: [text(context.language, "help.heading"), "", ...lines].join("\n") };
}

/** A running turn of the caller is stopped first, so that it cannot answer into the new conversation. */
async function startAnew(deps: ConversationDeps, context: CommandContext): Promise<CommandReply> {
  await stopTurns(deps, context);
  const ended = await deps.book.end(context.place.key, "new");
  return { markdown: text(context.language, ended?.flushes === true ? "session.new-saving" : "session.new") };
}

async function stop(deps: ConversationDeps, context: CommandContext): Promise<CommandReply> {
  const { stopped, dropped } = await stopTurns(deps, context);
  if (dropped > 0) return { markdown: text(context.language, "stop.done-many", { count: dropped }) };
  return { markdown: text(context.language, stopped ? "stop.done" : "stop.nothing") };
}

/** One's own turns; an operator's word stops any. Outside a thread it reaches the caller's turns in the chat's threads. */
export async function stopTurns(
  deps: Pick<ConversationDeps, "lanes" | "inbox">,
  context: CommandContext,
): Promise<{ readonly stopped: boolean; readonly dropped: number }> {
  const { speaker, place } = context;
  const mayStop = (act: { readonly speaker: { readonly accountId: string; readonly platform: string } }): boolean =>
    speaker.role === "operator" || (act.speaker.accountId === speaker.accountId && act.speaker.platform === speaker.platform);
  const inThread = context.message.threadId !== undefined && context.inGroup;
  const keys = inThread || !context.inGroup ? [place.key] : [place.key, ...deps.lanes.keysUnder(place.key, speaker)];
  let stopped = false;
  let dropped = 0;
  for (const key of new Set(keys)) {
    const result = deps.lanes.stop(key, mayStop);
    stopped ||= result.stopped;
    for (const act of result.dropped) {
      dropped += act.inboxIds.length;
      await deps.inbox.settle(act.inboxIds, "stopped", { reason: "stopped by a command" });
    }
  }
  return { stopped, dropped };
}

async function again(deps: ConversationDeps, context: CommandContext): Promise<CommandReply> {
  const { platform, chat, threadId, route } = context.message;
  const rows = await deps.outbox.lastReply(platform, chat.id, threadId);
  if (rows.length === 0) return { markdown: text(context.language, "again.nothing") };
  await deps.outbox.add(
    rows.map((row) => ({
      kind: "command" as const,
      route: withoutReply(route),
      part: row.part,
      ...(row.file === undefined ? {} : { file: row.file }),
      ...(row.sessionId === undefined ? {} : { sessionId: row.sessionId }),
    })),
  );
  await deps.outbox.noteUnknown(platform, chat.id, threadId);
  deps.wake();
  return { markdown: "" };
}

async function status(deps: ConversationDeps, context: CommandContext): Promise<CommandReply> {
  const { language, place } = context;
  const lines = [`**${text(language, "status.title")}**`, text(language, "status.model", { model: deps.model })];
  const session = await deps.sessions.active(place.key);
  if (session !== undefined) {
    const messages = (await deps.sessions.entries(session.id)).filter((entry) => entry.entry.role !== "tool").length;
    lines.push(text(language, "status.session", { messages, since: when(deps, session.createdAt) }));
    const recent = await deps.turns.recent(session.id, 1_000);
    const sum = recent.reduce(
      (total, turn) => ({
        input: total.input + turn.usage.inputTokens,
        cached: total.cached + turn.usage.cachedTokens,
        output: total.output + turn.usage.outputTokens,
      }),
      { input: 0, cached: 0, output: 0 },
    );
    lines.push(text(language, "status.usage", sum));
  }
  const lane = deps.lanes.state(place.key);
  lines.push(
    lane.runningSince === undefined
      ? text(language, "status.turn-idle", { waiting: lane.waiting })
      : text(language, "status.turn-running", {
          seconds: Math.round((deps.clock.now() - lane.runningSince) / 1_000),
          waiting: lane.waiting,
        }),
  );
  const usage = await deps.memoryUsage(context);
  if (usage.user !== undefined) lines.push(text(language, "status.memory", { user: usage.user, memory: usage.memory ?? "–" }));
  else if (usage.memory !== undefined) lines.push(text(language, "status.memory-group", { memory: usage.memory }));
  const last = await deps.inbox.list({ platform: context.message.platform, chatId: context.message.chat.id, limit: 5 });
  const own = last.filter((row) => row.event.account.id === context.speaker.accountId);
  if (own.length > 0) {
    const list = own.map((row) => `${when(deps, row.receivedAt)} ${row.disposition ?? row.state}`).join("; ");
    lines.push(text(language, "status.last-messages", { list }));
  }
  if (context.speaker.role === "operator" && !context.inGroup) lines.push(...(await deps.operatorLines(context)));
  return { markdown: lines.join("\n\n") };
}

function when(deps: ConversationDeps, at: number): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone: deps.timeZone, dateStyle: "short", timeStyle: "short" }).format(at);
}
