/**
 * One running turn per session, the rest waits: joins, queues, steers or interrupts. Lanes hold no truth: every waiting
 * act is an inbox row and every running turn a row of its own, so a restart rebuilds them.
 */
import { errorText } from "../domain/errors.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { concat, replaceText, type Act } from "./acts.js";
import { RunningTurn, type AbortReason } from "./running-turn.js";

export type BusyMode = "queue" | "steer" | "interrupt";

export interface LaneLimits {
  readonly concurrency: number;
  readonly perPerson: number;
  readonly queueLimit: number;
  readonly joinMs: number;
}

export interface LanesDeps {
  readonly limits: LaneLimits;
  /** What a message does while a turn of its conversation runs. */
  readonly busyMode: (act: Act) => BusyMode;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs a turn to its end. Must not reject; what it could not end itself it logs. */
  readonly runTurn: (turn: RunningTurn) => Promise<void>;
  /** The queue is full: tells the person and ends the rows. */
  readonly refuse: (act: Act) => void;
  /** The act waits behind a running turn: a sign that it was received. */
  readonly queued: (act: Act) => void;
}

interface Lane {
  running: RunningTurn | undefined;
  waiting: Act[];
}

export class Lanes {
  readonly #deps: LanesDeps;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes with something to do, in order of arrival. */
  readonly #ready = new Set<string>();
  readonly #perPerson = new Map<string, number>();
  readonly #paused = new Set<string>();
  #running = 0;
  #held = true;

  constructor(deps: LanesDeps) {
    this.#deps = deps;
  }

  /** Until this is called acts only queue up: what waited during a restart becomes one turn per speaker. */
  release(): void {
    this.#held = false;
    this.#startReady();
  }

  /** Starts no more turns. */
  hold(): void {
    this.#held = true;
  }

  /** The lane starts no turn until `unpause`: more that belongs together is on its way. */
  pause(key: string): void {
    this.#paused.add(key);
  }

  unpause(key: string): void {
    if (this.#paused.delete(key)) this.#startReady();
  }

  /** A turn of an earlier process goes first in its lane. */
  resume(turn: RunningTurn): void {
    const lane = this.#lane(turn.key);
    lane.running = turn;
    this.#start(turn.key, lane, turn);
  }

  submit(act: Act): void {
    const lane = this.#lane(act.place.key);
    const running = lane.running;
    if (running !== undefined && running.tryJoin(act, this.#deps.limits.joinMs, this.#deps.clock.now())) return;
    if (running !== undefined && this.#deps.busyMode(act) === "steer" && running.trySteer(act)) return;
    const last = lane.waiting.at(-1);
    if (running === undefined && last !== undefined && last.speaker.accountId === act.speaker.accountId) {
      lane.waiting[lane.waiting.length - 1] = concat([last, act]);
      return;
    }
    if (lane.waiting.length >= this.#deps.limits.queueLimit) {
      this.#deps.refuse(act);
      return;
    }
    lane.waiting.push(act);
    if (running !== undefined) {
      if (this.#deps.busyMode(act) === "interrupt" && running.speaker.accountId === act.speaker.accountId) running.abort("interrupted");
      else this.#deps.queued(act);
    }
    this.#ready.add(act.place.key);
    this.#startReady();
  }

  /**
   * Stops the running turn of a session and takes what waits. `mayStop` decides per speaker. Returns what happened.
   */
  stop(
    key: string,
    mayStop: (act: { readonly speaker: Act["speaker"] }) => boolean,
  ): { readonly stopped: boolean; readonly dropped: Act[] } {
    const lane = this.#lanes.get(key);
    if (lane === undefined) return { stopped: false, dropped: [] };
    const dropped = lane.waiting.filter((act) => mayStop(act));
    lane.waiting = lane.waiting.filter((act) => !mayStop(act));
    const running = lane.running !== undefined && mayStop(lane.running) ? lane.running : undefined;
    running?.abort("stopped");
    dropped.unshift(...(running?.leftover() ?? []));
    return { stopped: running !== undefined, dropped };
  }

  state(key: string): { readonly runningSince: number | undefined; readonly waiting: number } {
    const lane = this.#lanes.get(key);
    return { runningSince: lane?.running?.startedAt, waiting: lane?.waiting.reduce((sum, act) => sum + act.inboxIds.length, 0) ?? 0 };
  }

  /** Keys of this chat's threads that are busy with the speaker, for `/stop` typed outside of them. */
  keysUnder(key: string, speaker: { readonly platform: string; readonly accountId: string }): string[] {
    const same = (other: Act["speaker"]): boolean => other.platform === speaker.platform && other.accountId === speaker.accountId;
    return [...this.#lanes]
      .filter(([candidate]) => candidate.startsWith(`${key}/`))
      .filter(([, lane]) => (lane.running !== undefined && same(lane.running.speaker)) || lane.waiting.some((act) => same(act.speaker)))
      .map(([candidate]) => candidate);
  }

  replaceText(messageKey: string, text: string): void {
    for (const lane of this.#lanes.values()) for (const act of lane.waiting) replaceText(act, messageKey, text);
  }

  get running(): number {
    return this.#running;
  }

  /** When the turn that runs longest began in this process. */
  get oldestAt(): number | undefined {
    const starts = [...this.#lanes.values()].flatMap((lane) => (lane.running === undefined ? [] : [lane.running.startedAt]));
    return starts.length === 0 ? undefined : Math.min(...starts);
  }

  /** Sessions in which messages wait though nothing keeps a turn from beginning: normally none for longer than a moment. */
  stalled(): string[] {
    if (this.#held || this.#running >= this.#deps.limits.concurrency) return [];
    return [...this.#lanes]
      .filter(
        ([
          key,
          {
            running,
            waiting: [first],
          },
        ]) => {
          if (first === undefined || running !== undefined || this.#paused.has(key)) return false;
          return (this.#perPerson.get(first.speaker.personId) ?? 0) < this.#deps.limits.perPerson;
        },
      )
      .map(([key]) => key);
  }

  /** Waits until no turn runs, at most `ms`; then the rest is left to the next process. */
  async drain(ms: number): Promise<void> {
    this.#held = true;
    const turns = [...this.#lanes.values()].flatMap((lane) => (lane.running === undefined ? [] : [lane.running]));
    const cancel = this.#deps.clock.after(ms, () => {
      for (const turn of turns) turn.abort("shutdown");
    });
    await Promise.allSettled(turns.map((turn) => turn.ended));
    cancel();
  }

  abortAll(reason: AbortReason): void {
    for (const lane of this.#lanes.values()) lane.running?.abort(reason);
  }

  #startReady(): void {
    if (this.#held) return;
    for (const key of this.#ready) {
      if (this.#running >= this.#deps.limits.concurrency) return;
      const lane = this.#lanes.get(key);
      const first = lane?.waiting[0];
      if (this.#paused.has(key)) continue;
      if (lane === undefined || lane.running !== undefined || first === undefined) {
        if (first === undefined) this.#ready.delete(key);
        continue;
      }
      if ((this.#perPerson.get(first.speaker.personId) ?? 0) >= this.#deps.limits.perPerson) continue;
      const mine = lane.waiting.filter((act) => act.speaker.accountId === first.speaker.accountId);
      lane.waiting = lane.waiting.filter((act) => act.speaker.accountId !== first.speaker.accountId);
      const turn = new RunningTurn({ act: concat(mine), now: this.#deps.clock.now() });
      lane.running = turn;
      if (lane.waiting.length === 0) this.#ready.delete(key);
      this.#start(key, lane, turn);
    }
  }

  #start(key: string, lane: Lane, turn: RunningTurn): void {
    const personId = turn.speaker.personId;
    this.#running += 1;
    this.#perPerson.set(personId, (this.#perPerson.get(personId) ?? 0) + 1);
    const done = this.#deps
      .runTurn(turn)
      .catch((error: unknown) => this.#deps.logger.error({ key, error: errorText(error) }, "a turn ended with an error of its own"))
      .finally(() => {
        this.#running -= 1;
        const left = (this.#perPerson.get(personId) ?? 1) - 1;
        if (left > 0) this.#perPerson.set(personId, left);
        else this.#perPerson.delete(personId);
        lane.running = undefined;
        lane.waiting.unshift(...turn.leftover());
        if (lane.waiting.length > 0) this.#ready.add(key);
        else this.#lanes.delete(key);
        turn.end();
        this.#startReady();
      });
    void done;
  }

  #lane(key: string): Lane {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { running: undefined, waiting: [] };
      this.#lanes.set(key, lane);
    }
    return lane;
  }
}
