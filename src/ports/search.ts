/** Search over what was said. Scope is enforced inside the SQL, before ranking: a search can only ever see its own origins. */

/** What the query language became (recall/query.ts): full-text expressions whose every term is quoted. */
export interface SearchQuery {
  /** For the exact message index; empty when the query has no searchable term. */
  readonly exact: string;
  /** For the stretch index (stop words dropped); may be empty. */
  readonly broad: string;
}

export interface SearchScope {
  /** Origin tokens (domain/identity.ts, originOf) the caller may see. Empty = nothing is found. */
  readonly origins: readonly string[];
  /** Sessions that are left out: the current one and its ancestors. */
  readonly exceptSessions: readonly string[];
  /** Roles whose messages are searched; undefined = all. */
  readonly roles?: readonly ("user" | "assistant" | "tool")[];
}

export interface SearchHit {
  readonly sessionId: string;
  readonly score: number;
  /** Matching messages, best first. */
  readonly messageIds: readonly number[];
}

export interface SearchIndex {
  /** Best sessions first, at most `limit`. Rejects on a fault; an empty list means that nothing matches. */
  search(query: SearchQuery, scope: SearchScope, limit: number): Promise<SearchHit[]>;
  /** Indexes the stretches of a session that are complete or have grown, up to a message id. Idempotent. */
  indexStretches(sessionId: string, upTo: number): Promise<void>;
  /** Checks both tables; for the doctor. */
  check(): Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** Feeds both tables anew from the messages. */
  rebuild(): Promise<void>;
  /** Origins a person may search: those of their accounts' DMs. */
  originsOf(personId: string): Promise<string[]>;
}
