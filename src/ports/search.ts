/** Search over what was said. Scope is enforced inside the SQL, before ranking: a search can only ever see its own origins. */

/** What the query language became (recall/query.ts): full-text expressions whose every term is quoted. */
export interface SearchQuery {
  /**
   * `strict`: the expression and nothing else (it has operators). `keywords`: the expression; where no message fits it, the broad terms.
   * `natural`: the broad terms, ranked with their surroundings.
   */
  readonly mode: "strict" | "keywords" | "natural";
  /** For the exact message index; empty when the query has no searchable term. */
  readonly exact: string;
  /** The terms of `exact` that a message is looked for by: what ranks it. */
  readonly terms: readonly string[];
  /** Single terms for both indexes, stop words dropped; may be empty. */
  readonly broad: readonly string[];
}

export type SearchRole = "user" | "assistant" | "tool";

export interface SearchScope {
  /** Origins (domain/identity.ts, originOf) the caller may see; empty = nothing is found. `all` is for the operator's command line only. */
  readonly origins: readonly string[] | "all";
  /** Sessions that are left out, together with all they continue or are continued by: the current one. */
  readonly exceptSessions: readonly string[];
  /** Roles whose messages are searched; undefined = all. */
  readonly roles?: readonly SearchRole[];
}

/** A session together with those it continues: its id and title are the newest one's. */
export interface FoundSession {
  readonly sessionId: string;
  readonly spaceId: string;
  readonly platform: string;
  readonly title?: string;
  /** Beginning of what was said first. */
  readonly preview: string;
  readonly startedAt: number;
  readonly lastActiveAt: number;
  readonly messageCount: number;
}

export interface FoundMessage {
  readonly id: number;
  readonly sessionId: string;
  readonly role: SearchRole;
  readonly author?: string;
  readonly at: number;
  /** At most 20,000 characters of it. */
  readonly text: string;
}

export interface SearchHit {
  readonly session: FoundSession;
  /** Above 0; comparable within one answer only. */
  readonly score: number;
  /** Matching messages, best first, at most 5; never empty. */
  readonly messages: readonly FoundMessage[];
}

export interface SearchIndex {
  /** Best sessions first, at most `limit`. Rejects on a fault; an empty list means that nothing matches. */
  search(query: SearchQuery, scope: SearchScope, limit: number): Promise<SearchHit[]>;
  /** Newest first. Roles are not looked at. */
  recent(scope: SearchScope, limit: number): Promise<FoundSession[]>;
  /** What was said around a message of the scope, with the sessions it continues: about `characters` before and after it. Empty when the scope does not hold it. */
  around(messageId: number, scope: SearchScope, characters: number): Promise<FoundMessage[]>;
  /** Indexes the stretches of a session that are new or have grown, up to a message id. Idempotent. */
  indexStretches(sessionId: string, upTo: number): Promise<void>;
  /** Checks both tables; for the doctor. Blocks for seconds on a large store. */
  check(): Promise<{ readonly ok: boolean; readonly detail: string }>;
  /** Feeds both tables anew from the messages. */
  rebuild(): Promise<void>;
  /** Origins a person may search: those of their accounts' DMs. */
  originsOf(personId: string): Promise<string[]>;
  /** Origins of a group's space: its chat, and the ids it had before. Empty for a person's space. */
  originsOfGroup(spaceId: string): Promise<string[]>;
  /** Ends the thread that reads. */
  close(): Promise<void>;
}
