/**
 * A session's transcript as an external memory may have it: the speakers' own words and the final replies of answered turns.
 * Tool output, quotes, names, notices and anything recalled stay here.
 */
import type { ProviderPlace, SyncedTurn } from "../ports/memory-provider.js";
import type { ProviderStore } from "../ports/provider-store.js";
import type { Session, Sessions, StoredEntry, Turns } from "../ports/stores.js";
import { FenceScrubber, stripFences } from "../safety/fence.js";

export interface ConversationDeps {
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly store: ProviderStore;
  /** The person an account belongs to now; undefined when there is none. */
  readonly personOf: (platform: string, accountId: string) => Promise<string | undefined>;
}

export interface TurnInSession extends SyncedTurn {
  readonly firstMessageId: number;
  readonly lastMessageId: number;
  readonly answered: boolean;
}

/** More turns than any session has. */
const allTurns = 1_000_000;

/** All turns of a session up to a message, oldest first; whose speaker is unknown is left out. */
export async function conversationOf(deps: ConversationDeps, session: Session, upTo: number): Promise<TurnInSession[]> {
  const entries = (await deps.sessions.entries(session.id)).filter(({ id }) => id <= upTo);
  const answered = new Set((await deps.turns.recent(session.id, allTurns)).filter(({ state }) => state === "answered").map(({ id }) => id));
  const people = new Map<string, string | undefined>();
  const turns: TurnInSession[] = [];
  for (const group of byTurn(entries)) {
    const [first] = group;
    const accountId = group.find((stored) => stored.accountId !== undefined)?.accountId;
    if (first === undefined || accountId === undefined) continue;
    if (!people.has(accountId)) people.set(accountId, await deps.personOf(session.platform, accountId));
    const personId = people.get(accountId);
    if (personId === undefined) continue;
    turns.push({
      turnId: first.turnId,
      personId,
      user: spoken(group),
      assistant: finalReply(group),
      at: first.at,
      firstMessageId: first.id,
      lastMessageId: group.at(-1)?.id ?? first.id,
      answered: answered.has(first.turnId),
    });
  }
  return turns;
}

export async function placeOf(store: ProviderStore, session: Session, personId: string): Promise<ProviderPlace> {
  const [aliases, generation] = await Promise.all([store.aliases(personId), store.generation(session.id)]);
  return { sessionId: session.id, spaceId: session.spaceId, personId, isOwnSpace: session.spaceKind === "person", aliases, generation };
}

function byTurn(entries: readonly StoredEntry[]): StoredEntry[][] {
  const turns = new Map<string, StoredEntry[]>();
  for (const stored of entries) {
    const group = turns.get(stored.turnId);
    if (group === undefined) turns.set(stored.turnId, [stored]);
    else group.push(stored);
  }
  return [...turns.values()];
}

function spoken(group: readonly StoredEntry[]): string {
  const words = group.filter((stored) => stored.entry.role === "user").map((stored) => stored.text);
  return stripFences(words.join("\n")).trim();
}

function finalReply(group: readonly StoredEntry[]): string {
  const last = group.at(-1)?.entry;
  return last?.role === "assistant" ? withoutRecall(last.content).trim() : "";
}

/** A text of the model without what it may have repeated of the fenced recall. */
export function withoutRecall(text: string): string {
  const scrubber = new FenceScrubber();
  return scrubber.push(text) + scrubber.flush();
}
