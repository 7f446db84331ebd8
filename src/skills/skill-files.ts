/**
 * Skill folders on disk. Every write reads the folder again inside the database's write transaction, and what changed
 * there by hand becomes an event first. Tools write into the space's own folder only; a shared skill is copied before.
 */
import { join } from "node:path";
import { GatewayError } from "../domain/errors.js";
import type { Space } from "../domain/identity.js";
import type { Clock } from "../ports/runtime.js";
import type { KnownFile, NewSkillEvent, SkillAction, SkillEvent, SkillFileChange, SkillLog, SkillOwner } from "../ports/skill-log.js";
import type { WriteGuard } from "../ports/memory-log.js";
import { skillText, type ChangeRules, type SkillChange } from "./changes.js";
import { applyFiles, hashOfBytes, readFolder, type AppliedChange, type FileChanges, type FolderState } from "./folder-files.js";
import { outsideChanges, restored, sameState, undoable, withHashes, type UndoHindrance } from "./history.js";
import { ownerOf, sharedOwner, type SkillIndex, type VisibleSkill } from "./index-files.js";
import { requireName, skillFile, skillsRoot, statOf } from "./safe-path-files.js";
import { changeInSpace, copyOf, type SkillOutcome } from "./space-change.js";
import { sweepLeftovers } from "./sweep-files.js";

/** Who makes a change, for the event row; `guard` is what must still hold at that moment. */
export interface SkillAuthor {
  readonly origin: "turn" | "review" | "command";
  readonly guard: WriteGuard;
  readonly accountKey?: string;
  readonly personId?: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly jobId?: string;
}

export type SkillUndo =
  | { readonly ok: true; readonly undone: SkillEvent }
  | { readonly ok: false; readonly reason: "nothing" | UndoHindrance; readonly event?: SkillEvent };

export interface SkillFilesDeps {
  readonly dataDir: string;
  readonly log: SkillLog;
  readonly index: SkillIndex;
  readonly clock: Clock;
}

interface Decision<T> {
  readonly files?: FileChanges;
  readonly event?: { readonly action: SkillAction; readonly note?: string; readonly undoes?: number };
  readonly result: T;
}

const historyLength = 10_000;
const maxTries = 20;

/** The folder changed between reading and writing it: decide anew. */
class ChangedMeanwhile extends Error {}

export class SkillFiles {
  readonly #deps: SkillFilesDeps;

  constructor(deps: SkillFilesDeps) {
    this.#deps = deps;
  }

  get index(): SkillIndex {
    return this.#deps.index;
  }

  get log(): SkillLog {
    return this.#deps.log;
  }

  /** The skill of this name that a space sees, or undefined. */
  find(space: Space, name: string): VisibleSkill | undefined {
    return this.index.visible(space).find(({ meta }) => meta.name === name);
  }

  /** The folder of a skill. Throws `input.invalid` for a name or space that is no plain name. */
  folder(owner: SkillOwner, name: string): string {
    requireName(name);
    const root = skillsRoot(this.#deps.dataDir, owner);
    const direct = join(root, name);
    if (statOf(join(direct, skillFile)) !== undefined) return direct;
    const shelved = this.index.shelf(owner).find(({ meta }) => meta.name === name);
    return shelved === undefined ? direct : join(root, shelved.folder);
  }

  /** The files of a skill as they are now. */
  state(owner: SkillOwner, name: string): FolderState {
    return readFolder(this.folder(owner, name));
  }

  /**
   * Changes a skill in the space's own folder. A refusal leaves everything byte-untouched. In a person's space a shared skill is copied and the copy
   * changed; in a group shared skills stay as they are. Rejects with `turn.outdated`, `store.busy`, `store.full`, `input.invalid` (name).
   */
  async change(space: Space, name: string, change: SkillChange, rules: ChangeRules, author: SkillAuthor): Promise<SkillOutcome> {
    requireName(name);
    return this.#write<SkillOutcome>(ownerOf(space), name, author, (own) => {
      const { files, copied, outcome } = changeInSpace(name, space.kind, { own, shared: this.state(sharedOwner, name) }, change, rules);
      if (files === undefined) return { result: outcome };
      return { files, event: { action: change.action, ...(copied ? { note: "copied from the shared skill" } : {}) }, result: outcome };
    });
  }

  /** Copies a space's skill to the shared ones, replacing one of that name. `fingerprint`: what the operator saw; false when it has changed since. */
  async share(space: Space, name: string, fingerprint: string, author: SkillAuthor): Promise<boolean> {
    const source = this.state(ownerOf(space), name);
    if (skillText(source) === undefined || this.fingerprint(source) !== fingerprint) return false;
    if ([...source.files.values()].some((file) => file.bytes === undefined)) {
      throw new GatewayError("input.invalid", `The skill ${name} holds files that are too large to be shared from here.`);
    }
    return this.#write(sharedOwner, name, author, (state) => {
      const removed = [...state.files.keys()].filter((path) => !source.files.has(path));
      const files = new Map<string, Buffer | undefined>([...copyOf(source), ...removed.map((path) => [path, undefined] as const)]);
      for (const [path, bytes] of copyOf(source)) if (state.files.get(path)?.bytes?.equals(bytes) === true) files.delete(path);
      if (files.size === 0) return { result: true };
      return { files, event: { action: "share", note: `from space ${space.id}` }, result: true };
    });
  }

  /** Equal for equal files. */
  fingerprint(state: FolderState): string {
    return [...state.files].map(([path, { hash }]) => `${path} ${hash}`).join("\n");
  }

  /** Newest first; files without their bytes. */
  events(owner: SkillOwner, limit: number, name?: string): Promise<SkillEvent[]> {
    return this.#deps.log.events(owner, limit, name);
  }

  /** Records what was changed by hand (or cut short by a crash) in an owner's folder. Returns how many skills that concerned. */
  async noticeOutside(owner: SkillOwner): Promise<number> {
    const names = new Set([...this.index.shelf(owner).map(({ meta }) => meta.name), ...(await this.#deps.log.names(owner))]);
    let noticed = 0;
    for (const name of names) {
      if (sameState(await this.#deps.log.known(owner, name), this.state(owner, name))) continue;
      await this.#write(owner, name, { origin: "command", guard: { none: true } }, () => ({ result: undefined }));
      noticed += 1;
    }
    return noticed;
  }

  /** Reverses the newest change of these owners that is not undone yet and that `mayUndo` allows; said again it goes further back. */
  async undo(owners: readonly SkillOwner[], mayUndo: (event: SkillEvent) => boolean, author: SkillAuthor): Promise<SkillUndo> {
    // Shared skills are the operators' to put there and change; their history holds what was done from here.
    for (const owner of owners) if (owner.scope === "space") await this.noticeOutside(owner);
    const histories = await Promise.all(owners.map((owner) => this.#deps.log.events(owner, historyLength)));
    const [event] = undoable(histories.flat()).filter((row) => mayUndo(row));
    return event === undefined ? { ok: false, reason: "nothing" } : this.undoEvent(event, author);
  }

  /** Reverses one change, only if every file is still byte for byte as it left it. */
  async undoEvent(given: SkillEvent, author: SkillAuthor): Promise<SkillUndo> {
    const event = await this.#deps.log.event(given.id);
    if (event === undefined || event.undoneBy !== undefined) return { ok: false, reason: "nothing" };
    return this.#write<SkillUndo>(event.owner, event.skill, author, (state) => {
      const files = restored(state, event);
      if (typeof files === "string") return { result: { ok: false, reason: files, event } };
      return { files, event: { action: "undo", undoes: event.id }, result: { ok: true, undone: event } };
    });
  }

  /** Takes back what an earlier attempt of a job wrote, newest first. What was changed since stays. Returns how many changes were reversed. */
  async takeBack(jobId: string, author: SkillAuthor): Promise<number> {
    let reversed = 0;
    for (const event of undoable(await this.#deps.log.byJob(jobId))) {
      if ((await this.undoEvent(event, author)).ok) reversed += 1;
    }
    return reversed;
  }

  /** Stores a review's remark that skills overlap, for `/skills log`. The same remark of the same job is stored once. */
  async noteOverlap(space: Space, names: readonly string[], remark: string, author: SkillAuthor): Promise<void> {
    const skill = names.slice(0, 10).join(", ").slice(0, 300);
    const note = remark.replaceAll(/\s+/gu, " ").trim().slice(0, 500);
    const owner = ownerOf(space);
    const known = author.jobId === undefined ? [] : await this.#deps.log.byJob(author.jobId);
    if (note === "" || known.some((event) => event.action === "overlap" && event.note === note)) return;
    const event: NewSkillEvent = { owner, skill, action: "overlap", files: [], note, origin: author.origin, ...named(author) };
    await this.#deps.log.change(owner, skill, author.guard, this.#deps.clock.now(), () => ({ events: [event], result: undefined }));
  }

  /** The one write: guard, lock, read, notice what others changed, decide, event rows, rename. `decide` may run again. */
  async #write<T>(owner: SkillOwner, name: string, author: SkillAuthor, decide: (state: FolderState) => Decision<T>): Promise<T> {
    sweepLeftovers(skillsRoot(this.#deps.dataDir, owner), this.#deps.clock.now());
    for (let tries = 0; tries < maxTries; tries += 1) {
      let applied: AppliedChange | undefined;
      try {
        const result = await this.#deps.log.change(owner, name, author.guard, this.#deps.clock.now(), (known) => {
          // A commit that was refused runs this again: the first attempt's write goes first.
          applied?.revert();
          applied = undefined;
          return this.#plan(owner, name, author, known, decide, (change) => (applied = change));
        });
        applied?.finish();
        return result;
      } catch (error) {
        applied?.revert();
        if (!(error instanceof ChangedMeanwhile)) throw error;
      }
    }
    throw new GatewayError("store.busy", "The skill's folder kept changing; nothing was written.");
  }

  #plan<T>(
    owner: SkillOwner,
    name: string,
    author: SkillAuthor,
    known: ReadonlyMap<string, KnownFile>,
    decide: (state: FolderState) => Decision<T>,
    applied: (change: AppliedChange) => void,
  ): { readonly events: readonly NewSkillEvent[]; readonly write?: () => void; readonly result: T } {
    const folder = this.folder(owner, name);
    const state = readFolder(folder);
    const byHand = outsideChanges(known, state);
    const outside: NewSkillEvent[] =
      byHand.length === 0 ? [] : [{ owner, skill: name, action: "outside", origin: "outside", files: byHand }];
    const { files, event, result } = decide(state);
    if (files === undefined || event === undefined) return { events: outside, result };
    const changes: readonly SkillFileChange[] = withHashes(state, files, hashOfBytes);
    return {
      events: [...outside, { owner, skill: name, ...event, files: changes, origin: author.origin, ...named(author) }],
      write: () => {
        if (this.fingerprint(readFolder(folder)) !== this.fingerprint(state)) throw new ChangedMeanwhile();
        applied(applyFiles(folder, state, files));
      },
      result,
    };
  }
}

function named({ accountKey, personId, sessionId, turnId, jobId }: SkillAuthor): Partial<NewSkillEvent> {
  const all = { accountKey, personId, sessionId, turnId, jobId };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
