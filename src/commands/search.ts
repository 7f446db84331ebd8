/**
 * /search: past conversations by words or by a question, as excerpts and without a model call. In a direct message it reaches the
 * person's own conversations, in a group those of that group alone.
 */
import type { Command, CommandContext, CommandReply } from "../gateway/commands.js";
import type { SearchHit, SearchIndex, SearchScope } from "../ports/search.js";
import type { Sessions } from "../ports/stores.js";
import { excerptOf } from "../recall/excerpt.js";
import { parseQuery } from "../recall/query.js";
import { scopeOf } from "../recall/scope.js";
import { quoteName } from "../safety/fence.js";
import { text } from "../words/catalogue.js";

export interface SearchCommandDeps {
  readonly index: SearchIndex;
  readonly sessions: Pick<Sessions, "active">;
  readonly timeZone: string;
}

const sessionsShown = 5;
const excerptsShown = 2;
const excerptLength = 200;

export function searchCommands(deps: SearchCommandDeps): Command[] {
  return [{ name: "search", help: "help.search", who: "everybody", where: "anywhere", run: (context) => search(deps, context) }];
}

async function search(deps: SearchCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, args } = context;
  if (args.trim() === "") return { markdown: text(language, "search.usage", { command: `\`${context.form("search")}\`` }) };
  const found = await deps.index.search(parseQuery(args), await scopeHere(deps, context), sessionsShown);
  const query = quoteName(args);
  if (found.length === 0) return { markdown: text(language, "search.none", { query }) };
  const lines = found.flatMap((hit) => sessionLines(deps, hit, args));
  return { markdown: [text(language, "search.title", { query }), "", ...lines].join("\n") };
}

async function scopeHere({ index, sessions }: SearchCommandDeps, { place, speaker }: CommandContext): Promise<SearchScope> {
  const current = await sessions.active(place.key);
  return scopeOf(index, { spaceKind: place.spaceKind, spaceId: place.spaceId, personId: speaker.personId }, current?.id);
}

function sessionLines({ timeZone }: SearchCommandDeps, { session, messages }: SearchHit, query: string): string[] {
  const day = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" }).format(session.lastActiveAt);
  const excerpts = messages.slice(0, excerptsShown).map(({ text: said }) => `  > ${plain(excerptOf(said, query, excerptLength))}`);
  return [`- **${day}** ${plain(quoteName(session.title ?? session.preview))}`, ...excerpts];
}

/** What was said is shown as it was typed, not as markup of ours. */
function plain(said: string): string {
  return said.replaceAll(/[\\`*_[\]<>|~]/gu, (mark) => `\\${mark}`);
}
