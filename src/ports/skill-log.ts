/**
 * What happened to the skill folders, and the lock under which they are written: like the memory log, all of it inside
 * one write transaction, so two processes never write one folder at once.
 */
import type { WriteGuard } from "./memory-log.js";

/** Whose folder a skill lies in: a space's own, or the one that all share (its id is empty). */
export interface SkillOwner {
  readonly scope: "shared" | "space";
  readonly id: string;
}

/** `outside`: made by hand, or cut short by a crash. `overlap`: no change, but a review's remark that skills overlap. */
export type SkillAction = "create" | "edit" | "patch" | "delete" | "write_file" | "remove_file" | "share" | "outside" | "undo" | "overlap";

/** One file of a skill before and after a change. A hash without bytes: the file was too large to be kept. */
export interface SkillFileChange {
  /** Below the skill's folder, with `/`. */
  readonly path: string;
  /** SHA-256; undefined where there was no file. */
  readonly beforeHash?: string;
  readonly afterHash?: string;
  readonly before?: Uint8Array;
  readonly after?: Uint8Array;
}

export interface SkillEvent {
  readonly id: number;
  readonly owner: SkillOwner;
  /** Name of the skill; for `overlap` the names, joined by a comma. */
  readonly skill: string;
  readonly action: SkillAction;
  readonly files: readonly SkillFileChange[];
  /** A remark: where a copy came from, which skills overlap. */
  readonly note?: string;
  readonly origin: "turn" | "review" | "command" | "outside";
  readonly accountKey?: string;
  readonly personId?: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly jobId?: string;
  readonly at: number;
  /** Id of the event that undid this one. */
  readonly undoneBy?: number;
}

export type NewSkillEvent = Omit<SkillEvent, "id" | "at" | "undoneBy"> & { readonly undoes?: number };

/** A file as the newest event left it. */
export interface KnownFile {
  readonly hash: string;
  /** Undefined: too large to be kept. */
  readonly bytes?: Uint8Array;
}

export interface SkillUse {
  readonly skill: string;
  readonly views: number;
  readonly lastAt: number;
}

export interface SkillLog {
  /**
   * Runs `work` inside one write transaction after checking the guard (`turn.outdated` otherwise). `work` is given what the events say the
   * folder holds, reads the folder, returns the events to store and a result; `write` runs last before COMMIT. It may run again.
   */
  change<T>(
    owner: SkillOwner,
    skill: string,
    guard: WriteGuard,
    now: number,
    work: (known: ReadonlyMap<string, KnownFile>) => {
      readonly events: readonly NewSkillEvent[];
      readonly write?: () => void;
      readonly result: T;
    },
  ): Promise<T>;
  /** Newest first; files without their bytes. With a name only that skill's. */
  events(owner: SkillOwner, limit: number, skill?: string): Promise<SkillEvent[]>;
  /** Oldest first; files without their bytes. */
  byJob(jobId: string): Promise<SkillEvent[]>;
  /** One event with the bytes of its files. */
  event(id: number): Promise<SkillEvent | undefined>;
  /** Names of the skills that the events say exist in this folder. */
  names(owner: SkillOwner): Promise<string[]>;
  /** What the events say a skill's folder holds, without the bytes. */
  known(owner: SkillOwner, skill: string): Promise<ReadonlyMap<string, KnownFile>>;
  /** Counts a view. `spaceId`: where it was used, also of a shared skill. Not worth a sync to disk. */
  viewed(spaceId: string, skill: string, now: number): Promise<void>;
  uses(spaceId: string): Promise<SkillUse[]>;
  /** Removes all events and counts of a space, when its person is forgotten. */
  forgetSpace(spaceId: string): Promise<void>;
}
