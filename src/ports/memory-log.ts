/** The history of the memory files and the one transaction in which they change. Same promises as ports/stores.ts. */

/** Owner of a memory file: a person's USER.md or a space's MEMORY.md. */
export interface MemoryOwner {
  readonly target: "user" | "memory";
  /** Person id for `user`, space id for `memory`. */
  readonly id: string;
}

export type MemoryAction = "add" | "replace" | "remove" | "outside" | "undo" | "forget" | "pending" | "merge";

export interface MemoryEvent {
  readonly id: number;
  readonly owner: MemoryOwner;
  readonly action: MemoryAction;
  /** The entry before and after (the whole file for `outside`). Undefined where there was none; null once forgotten. */
  readonly before?: string | null;
  readonly after?: string | null;
  /** SHA-256 of the whole file after the change. */
  readonly fileHash: string;
  readonly origin: "turn" | "review" | "command" | "outside";
  readonly accountKey?: string;
  readonly personId?: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly jobId?: string;
  readonly evidence?: string;
  readonly at: number;
  /** Id of the event that undid this one. */
  readonly undoneBy?: number;
}

export type NewMemoryEvent = Omit<MemoryEvent, "id" | "at" | "undoneBy"> & { readonly undoes?: number };

/** What must still hold when a tool writes: the turn's claim, or a job's fencing number. */
export type WriteGuard =
  | { readonly turnId: string; readonly claim: number }
  | { readonly jobId: string; readonly fence: number }
  | { readonly none: true };

export interface MemoryLog {
  /**
   * Runs `work` inside one BEGIN IMMEDIATE transaction after checking the guard. `work` reads the file, returns the events to store (with
   * hashes) and a result; if it returns `write`, that runs last before COMMIT (temporary file, fsync, rename).
   */
  change<T>(
    owner: MemoryOwner,
    guard: WriteGuard,
    now: number,
    work: (last: MemoryEvent | undefined) => {
      readonly events: readonly NewMemoryEvent[];
      readonly write?: () => void;
      readonly result: T;
    },
  ): Promise<T>;
  /** Newest first. */
  events(owner: MemoryOwner, limit: number): Promise<MemoryEvent[]>;
  byJob(jobId: string): Promise<MemoryEvent[]>;
  /** Entries noted in groups for a person, not merged yet, oldest first; `take` in a change removes them. */
  pending(personId: string): Promise<{ id: number; content: string; evidence?: string; at: number }[]>;
  addPending(
    personId: string,
    guard: WriteGuard,
    content: string,
    evidence: string | undefined,
    sessionId: string,
    now: number,
  ): Promise<void>;
  dropPending(ids: readonly number[]): Promise<void>;
  /** Purges a text from the events of an owner. */
  purge(owner: MemoryOwner, text: string): Promise<void>;
}
