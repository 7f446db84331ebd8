/**
 * Who may search what, in one place: in direct messages the person's own accounts, in a group that group alone.
 */
import type { SearchIndex, SearchScope } from "../ports/search.js";

export interface Searcher {
  readonly spaceKind: "person" | "group";
  readonly spaceId: string;
  readonly personId: string;
}

/** `current`: the session that asks; it and what it continues are left out. */
export async function scopeOf(index: SearchIndex, searcher: Searcher, current: string | undefined): Promise<SearchScope> {
  const origins = searcher.spaceKind === "person" ? await index.originsOf(searcher.personId) : await index.originsOfGroup(searcher.spaceId);
  return { origins, exceptSessions: current === undefined ? [] : [current] };
}
