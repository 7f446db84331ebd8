/**
 * Recall before a model call: warm results of the last turn first, otherwise one call with a hard deadline. It never rejects and
 * never holds a reply for longer than that; without recall the turn goes on as if there were no external memory.
 */
import { errorText } from "../domain/errors.js";
import type { ProviderPlace } from "../ports/memory-provider.js";
import type { ProviderStore } from "../ports/provider-store.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Session, TurnRow } from "../ports/stores.js";
import { placeOf } from "./conversation.js";
import type { ProviderGuard } from "./guard.js";
import { recallBlock, type RecalledPiece } from "./recalled.js";
import { readable } from "./place.js";
import { cacheMs } from "./sync.js";

export interface RecallDeps {
  readonly memory: ProviderGuard;
  readonly store: ProviderStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Turns whose recall is kept, so that every request of one turn carries the same bytes. */
const keptTurns = 1000;

export class Recall {
  readonly #deps: RecallDeps;
  readonly #byTurn = new Map<string, Promise<string | undefined>>();

  constructor(deps: RecallDeps) {
    this.#deps = deps;
  }

  /** The fenced block for the end of this turn's user message; undefined when there is nothing, or in a private session. */
  forTurn(session: Session, turn: Pick<TurnRow, "id" | "said" | "speaker">): Promise<string | undefined> {
    if (session.isPrivate) return Promise.resolve(undefined);
    const key = `${turn.id}\n${turn.said}`;
    const known = this.#byTurn.get(key);
    if (known !== undefined) return known;
    const made = this.#recall(session, turn);
    this.#byTurn.set(key, made);
    const [oldest] = this.#byTurn.keys();
    if (this.#byTurn.size > keptTurns && oldest !== undefined) this.#byTurn.delete(oldest);
    return made;
  }

  async #recall(session: Session, turn: Pick<TurnRow, "id" | "said" | "speaker">): Promise<string | undefined> {
    const { memory, store, logger } = this.#deps;
    try {
      const place = await placeOf(store, session, turn.speaker.personId);
      memory.onTurnStart(place);
      if (await store.deleting(readable(place).map(({ spaceId }) => spaceId))) return undefined;
      const pieces = await this.#pieces(place, turn.said);
      return recallBlock(pieces, (reason) =>
        logger.warn({ provider: memory.name, session: session.id, reason }, "recalled text was left out"),
      );
    } catch (error) {
      logger.info({ provider: memory.name, session: session.id, error: errorText(error) }, "this turn goes on without recall");
      return undefined;
    }
  }

  async #pieces(place: ProviderPlace, said: string): Promise<RecalledPiece[]> {
    const { memory, store, clock } = this.#deps;
    const now = clock.now();
    const cached = await store.cached(place.sessionId, now - cacheMs);
    const answer = cached.find(({ layer }) => layer === "answer");
    const considered = answer === undefined ? [] : [{ text: answer.text, ageMs: now - answer.at }];
    const warm = cached.find(({ layer }) => layer === "context");
    if (warm !== undefined) return [{ text: warm.text }, ...considered];
    if (said.trim() === "" || (await memory.closedFor()) > 0) return considered;
    const fresh = await memory.prefetch(said, place).catch((error: unknown) => {
      this.#deps.logger.info({ provider: memory.name, error: errorText(error) }, "nothing could be recalled in time");
      return undefined;
    });
    return fresh === undefined ? considered : [{ text: fresh.text }, ...considered];
  }
}
