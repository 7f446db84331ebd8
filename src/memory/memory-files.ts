/**
 * USER.md and MEMORY.md on disk. Every write re-reads the file inside the database's write transaction and renames a
 * new file into place as its last step, so neither another process nor an editor's save is ever overwritten unseen.
 */
import { join } from "node:path";
import { GatewayError } from "../domain/errors.js";
import type { MemoryAction, MemoryEvent, MemoryLog, MemoryOwner, NewMemoryEvent, WriteGuard } from "../ports/memory-log.js";
import type { Clock } from "../ports/runtime.js";
import { applyChange, matching, parseEntries, type Applied, type Change } from "./entries.js";
import { ChangedMeanwhile, readText, replaceFile, type Replaced } from "./hand-edits-files.js";
import { normalForm } from "./likeness.js";
import { hashOf, isWhole, reverse, textAfter, undoable, type Hindrance } from "./history.js";

export interface MemoryLimits {
  /** Code points of a USER.md, delimiters counted. */
  readonly user: number;
  /** Code points of a MEMORY.md. */
  readonly memory: number;
}

/** Who makes a change, for the event row; `guard` is what must still hold at that moment. */
export interface Author {
  readonly origin: "turn" | "review" | "command";
  readonly guard: WriteGuard;
  readonly accountKey?: string;
  readonly personId?: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly jobId?: string;
  readonly evidence?: string;
}

/** What a committed change did, for the mirror in an external memory and for notices. */
export interface Written {
  readonly owner: MemoryOwner;
  readonly action: MemoryAction;
  readonly before?: string;
  readonly after?: string;
}

export interface Outcome {
  readonly applied: Applied;
  /** Entries after the change, or as they are when it was refused. */
  readonly entries: readonly string[];
}

export type UndoResult =
  | { readonly ok: true; readonly undone: MemoryEvent }
  | { readonly ok: false; readonly reason: "nothing" | Hindrance; readonly event?: MemoryEvent };

export interface MemoryFilesDeps {
  readonly dataDir: string;
  readonly log: MemoryLog;
  readonly clock: Clock;
  readonly limits: MemoryLimits;
  /** Called after each committed change of an entry (not for outside changes). A rejection reaches the caller; the change stands. */
  readonly written?: (written: Written, author: Author) => Promise<void>;
}

const safeId = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/u;
const historyLength = 10_000;
const maxTries = 20;

/** The decision of one write: what the file becomes, and the row for it. Both undefined = nothing changes. */
export interface Decision<T> {
  readonly text?: string;
  readonly event?: Omit<NewMemoryEvent, "owner" | "fileHash" | "origin">;
  readonly result: T;
}

export class MemoryFiles {
  readonly #deps: MemoryFilesDeps;

  constructor(deps: MemoryFilesDeps) {
    this.#deps = deps;
  }

  /** `people/<person>/USER.md` or `spaces/<space>/MEMORY.md` below the data folder. Throws `input.invalid` for an id that is no plain name. */
  path(owner: MemoryOwner): string {
    if (!safeId.test(owner.id)) throw new GatewayError("input.invalid", "The owner of a memory file is not a valid id.");
    return owner.target === "user"
      ? join(this.#deps.dataDir, "people", owner.id, "USER.md")
      : join(this.#deps.dataDir, "spaces", owner.id, "MEMORY.md");
  }

  limit(owner: MemoryOwner): number {
    return owner.target === "user" ? this.#deps.limits.user : this.#deps.limits.memory;
  }

  /** The file's text as it is; a missing file is empty. Throws when it cannot be read or is not UTF-8. */
  read(owner: MemoryOwner): string {
    return readText(this.path(owner));
  }

  entries(owner: MemoryOwner): string[] {
    return parseEntries(this.read(owner));
  }

  /** Applies one change of the pure rules. A refusal leaves the file byte-untouched. Rejects with `turn.outdated`, `store.busy` or `store.full`. */
  async change(owner: MemoryOwner, change: Change, author: Author): Promise<Outcome> {
    const outcome = await this.write<Outcome>(owner, author, (text) => {
      const applied = applyChange(text, change, this.limit(owner));
      const result = { applied, entries: parseEntries(applied.ok ? applied.text : text) };
      if (!applied.ok || !applied.changed) return { result };
      return { text: applied.text, event: { action: change.action, ...sides(applied) }, result };
    });
    const { applied } = outcome;
    if (applied.ok && applied.changed) await this.tell({ owner, action: change.action, ...sides(applied) }, author);
    return outcome;
  }

  /** Newest first; for `/memory log`. */
  events(owner: MemoryOwner, limit: number): Promise<MemoryEvent[]> {
    return this.#deps.log.events(owner, limit);
  }

  /** Records a change made by hand (or cut short by a crash) as `outside`. True when there was one. */
  async noticeOutside(owner: MemoryOwner): Promise<boolean> {
    const [last] = await this.#deps.log.events(owner, 1);
    if (hashOf(this.read(owner)) === (last?.fileHash ?? hashOf(""))) return false;
    await this.write(owner, { origin: "command", guard: { none: true } }, () => ({ result: undefined }));
    return true;
  }

  /**
   * Reverses the newest change among `owners` that is not undone yet and that `mayUndo` allows; said again it goes
   * further back. Only if the entry is still byte for byte as that change left it, and the old text fits.
   */
  async undo(owners: readonly MemoryOwner[], mayUndo: (event: MemoryEvent) => boolean, author: Author): Promise<UndoResult> {
    for (const owner of owners) await this.noticeOutside(owner);
    const histories = await Promise.all(owners.map((owner) => this.#deps.log.events(owner, historyLength)));
    const [event] = undoable(histories.flat()).filter((row) => mayUndo(row));
    return event === undefined ? { ok: false, reason: "nothing" } : this.undoEvent(event, author);
  }

  /** Reverses one given change, under the same conditions. */
  async undoEvent(event: MemoryEvent, author: Author): Promise<UndoResult> {
    const { owner } = event;
    const back = swapped(event);
    const result = await this.write<UndoResult>(owner, author, (text) => {
      const reversed = reverse(text, event, this.limit(owner));
      if (typeof reversed === "string") return { result: { ok: false, reason: reversed, event } };
      const action: MemoryAction = isWhole(event) ? "outside" : "undo";
      return { text: reversed.text, event: { action, ...back, undoes: event.id }, result: { ok: true, undone: event } };
    });
    if (result.ok && !isWhole(event)) await this.tell({ owner, action: "undo", ...back }, author);
    return result;
  }

  /** Takes back what an earlier attempt of a job wrote, newest first. What was changed since stays. Returns how many changes were reversed. */
  async takeBack(jobId: string, author: Author): Promise<number> {
    let reversed = 0;
    for (const event of undoable(await this.#deps.log.byJob(jobId))) {
      if ((await this.undoEvent(event, author)).ok) reversed += 1;
    }
    return reversed;
  }

  /** The entries that a piece of text names, for a confirmation before `forget`. */
  find(owner: MemoryOwner, text: string): string[] {
    return matching(this.read(owner), text);
  }

  /** Removes an entry (given whole) and purges its text from the events too. Repeating it is harmless. True when the file held it. */
  async forget(owner: MemoryOwner, entry: string, author: Author): Promise<boolean> {
    const held = await this.write<boolean>(owner, author, (text) => {
      if (!parseEntries(text).includes(entry)) return { result: false };
      const applied = applyChange(text, { action: "remove", oldText: entry }, this.limit(owner));
      if (!applied.ok) throw new GatewayError("internal", "An entry that is there could not be removed.");
      return { text: applied.text, event: { action: "forget", before: null, after: null }, result: true };
    });
    await this.#deps.log.purge(owner, entry);
    if (owner.target === "user") await this.#forgetNotes(owner.id, entry);
    await this.tell({ owner, action: "forget", before: entry }, author);
    return held;
  }

  /** A note from a group that says the same must not bring the text back at the next merge. */
  async #forgetNotes(personId: string, entry: string): Promise<void> {
    const notes = await this.#deps.log.pending(personId);
    const same = notes.filter(({ content }) => normalForm(content) === normalForm(entry));
    await this.#deps.log.dropPending(same.map(({ id }) => id));
  }

  /** Calls the mirror; for the writes built on `write`. */
  async tell(written: Written, author: Author): Promise<void> {
    await this.#deps.written?.(written, author);
  }

  get log(): MemoryLog {
    return this.#deps.log;
  }

  /**
   * The one write: guard, lock, re-read, notice what others changed, decide, event rows, rename. `decide` runs inside
   * the transaction, must be pure, and runs again when the file or its history changed meanwhile.
   */
  async write<T>(owner: MemoryOwner, author: Author, decide: (text: string) => Decision<T>): Promise<T> {
    const path = this.path(owner);
    for (let tries = 0; tries < maxTries; tries += 1) {
      const done = await this.#tryWrite(owner, author, path, decide);
      if (done !== "again") return done.result;
    }
    throw new GatewayError("store.busy", "The memory file kept changing; nothing was written.");
  }

  async #tryWrite<T>(
    owner: MemoryOwner,
    author: Author,
    path: string,
    decide: (text: string) => Decision<T>,
  ): Promise<{ readonly result: T } | "again"> {
    const known = await this.#knownText(owner, path);
    let replaced: Replaced | undefined;
    try {
      return await this.#deps.log.change<{ readonly result: T } | "again">(owner, author.guard, this.#deps.clock.now(), (last) => {
        const text = readText(path);
        const drifted = hashOf(text) !== (last?.fileHash ?? hashOf(""));
        if (drifted && known.lastId !== last?.id) return { events: [], result: "again" };
        const outside = drifted ? [outsideEvent(owner, text, known.text)] : [];
        const { text: next, event, result } = decide(text);
        if (next === undefined || event === undefined) return { events: outside, result: { result } };
        const row: NewMemoryEvent = { owner, ...event, fileHash: hashOf(next), origin: author.origin, ...named(author) };
        return {
          events: [...outside, row],
          write: () => {
            replaced?.close();
            replaced = replaceFile(path, text, next);
          },
          result: { result },
        };
      });
    } catch (error) {
      if (error instanceof ChangedMeanwhile) return "again";
      throw error;
    } finally {
      replaced?.rescue();
      replaced?.close();
    }
  }

  /** What the file held after the last event, needed only when somebody else changed it. */
  async #knownText(owner: MemoryOwner, path: string): Promise<{ readonly lastId: number | undefined; readonly text: string | undefined }> {
    const [last] = await this.#deps.log.events(owner, 1);
    if (hashOf(readText(path)) === (last?.fileHash ?? hashOf(""))) return { lastId: last?.id, text: undefined };
    const events = await this.#deps.log.events(owner, historyLength);
    return { lastId: events[0]?.id, text: textAfter(events) };
  }
}

function outsideEvent(owner: MemoryOwner, after: string, before: string | undefined): NewMemoryEvent {
  return { owner, action: "outside", origin: "outside", fileHash: hashOf(after), after, ...(before === undefined ? {} : { before }) };
}

/** The before and after of a change, for its event row. */
export function sides(applied: Applied): { before?: string; after?: string } {
  if (!applied.ok) return {};
  return {
    ...(applied.before === undefined ? {} : { before: applied.before }),
    ...(applied.after === undefined ? {} : { after: applied.after }),
  };
}

function swapped({ before, after }: MemoryEvent): { before?: string; after?: string } {
  return { ...(typeof after === "string" ? { before: after } : {}), ...(typeof before === "string" ? { after: before } : {}) };
}

function named({ accountKey, personId, sessionId, turnId, jobId, evidence }: Author): Partial<NewMemoryEvent> {
  const all = { accountKey, personId, sessionId, turnId, jobId, evidence };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
