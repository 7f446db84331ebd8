/**
 * The handle of a turn while it runs: what may still join it, what is steered into it, and why it was ended. The lane
 * owns it; the turn reads it.
 */
import type { Speaker } from "../domain/identity.js";
import type { TurnRow } from "../ports/stores.js";
import type { Act } from "./acts.js";

/** joined: the call is made again with more words · the others end the turn. */
export type AbortReason = "joined" | "stopped" | "interrupted" | "timeout" | "shutdown";

const maxJoins = 2;

export class RunningTurn {
  readonly key: string;
  readonly speaker: Speaker;
  /** A turn that an earlier process began. */
  readonly recovered: TurnRow | undefined;
  readonly startedAt: number;
  readonly ended: Promise<void>;
  act: Act;
  /** True once the turn is a row of its own: it then ends by its commit or is taken up at the next start. */
  hasRow: boolean;
  #controller = new AbortController();
  readonly #leaving = new AbortController();
  #reason: AbortReason | undefined;
  #joins = 0;
  #lastAt: number;
  #locked = false;
  #closed = false;
  #steered: Act[] = [];
  #joining: Act[] = [];
  #end!: () => void;

  constructor(start: { readonly act: Act; readonly now: number; readonly recovered?: TurnRow }) {
    this.act = start.act;
    this.key = start.act.place.key;
    this.speaker = start.act.speaker;
    this.recovered = start.recovered;
    this.hasRow = start.recovered !== undefined;
    this.startedAt = start.now;
    this.#lastAt = start.now;
    if (start.recovered !== undefined) this.#locked = true;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get reason(): AbortReason | undefined {
    return this.#reason;
  }

  /** Aborted when the process ends: what is not stored by now is left to the next one, even an ending. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Something was shown or a tool has started: nothing may join any more. */
  lock(): void {
    this.#locked = true;
  }

  /** The turn is about to commit: nothing may join or steer any more, and an abort comes too late. */
  close(): void {
    this.#closed = true;
  }

  abort(reason: AbortReason): void {
    if (reason === "shutdown") this.#leaving.abort();
    if (this.#closed || (this.#reason !== undefined && this.#reason !== "joined")) return;
    this.#reason = reason;
    this.#controller.abort(reason);
  }

  tryJoin(act: Act, joinMs: number, now: number): boolean {
    const may =
      joinMs > 0 &&
      !this.#locked &&
      !this.#closed &&
      this.#reason === undefined &&
      this.#joins < maxJoins &&
      act.speaker.accountId === this.speaker.accountId &&
      now - this.#lastAt <= joinMs;
    if (!may) return false;
    this.#joins += 1;
    this.#lastAt = now;
    this.#joining.push(act);
    this.abort("joined");
    return true;
  }

  /** The acts that joined since the last call; the turn starts its model call anew. None when it ends for another reason. */
  takeJoined(): Act[] {
    if (this.#reason !== undefined && this.#reason !== "joined") return [];
    const joined = this.#joining;
    this.#joining = [];
    if (this.#reason === "joined") {
      this.#reason = undefined;
      this.#controller = new AbortController();
    }
    return joined;
  }

  /** Words alone can be steered in: a message with files waits for a turn of its own. */
  trySteer(act: Act): boolean {
    if (act.messages.some((message) => message.attachments.length > 0)) return false;
    if (this.#closed || this.#reason !== undefined || act.speaker.accountId !== this.speaker.accountId) return false;
    this.#steered.push(act);
    return true;
  }

  takeSteered(): Act[] {
    const steered = this.#steered;
    this.#steered = [];
    return steered;
  }

  /** What the turn has not taken up: it goes back to its lane, or is stopped with it. */
  leftover(): Act[] {
    return [...this.#joining.splice(0), ...this.#steered.splice(0)];
  }

  end(): void {
    this.#end();
  }
}
