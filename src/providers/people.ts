/**
 * People's rights at the external memory: export, forget, linking and taking a turn back. Everything is written down as jobs, so
 * a service that is down is asked again; until a deletion is done, nothing is recalled from the spaces it concerns.
 */
import { payloadVersion, type NewIntent } from "../domain/job.js";
import type { PersonAtProvider } from "../ports/memory-provider.js";
import type { ProviderStore } from "../ports/provider-store.js";
import type { Clock, Ids } from "../ports/runtime.js";
import type { Access } from "../ports/access.js";
import type { Session, Sessions } from "../ports/stores.js";
import type { ProviderGuard } from "./guard.js";
import { forgetTurnsIntent, mirrorIntent, startOverIntent } from "./intents.js";

export interface PeopleDeps {
  readonly memory: ProviderGuard;
  readonly store: ProviderStore;
  readonly sessions: Sessions;
  readonly access: Access;
  readonly clock: Clock;
  readonly ids: Ids;
  /** After intents were stored. */
  readonly wake: () => void;
}

export interface Unlinked {
  /** The person who stays. */
  readonly stays: string;
  /** The leaving account's person from now on: the one it was before, or a new one. */
  readonly leaves: string;
  /** The leaving account's person before it was linked. */
  readonly was: string;
  /** Sessions of the leaving account; their rows name its person and space already. */
  readonly sessionIds: readonly string[];
}

/** Time for the deletion of what is here, ms. */
const localDeletionMs = 5_000;

export class ProviderPeople {
  readonly #deps: PeopleDeps;

  constructor(deps: PeopleDeps) {
    this.#deps = deps;
  }

  /** What the service holds about a person, as JSON. Rejects with `provider.unavailable`. */
  async exportPerson(personId: string): Promise<unknown> {
    const { person } = await this.#at(personId);
    return this.#deps.memory.exportPerson(person);
  }

  /**
   * Deletes a person there. To be called while transcripts and accounts are still here (they say where the person spoke); the rows may go
   * right after. Group conversations are deleted there and stored anew from what remains here.
   */
  async forgetPerson(personId: string): Promise<void> {
    await this.#write(await this.#forgetIntents(personId));
  }

  /** The same at once, for the command line beside a stopped gateway. False when the service could not be reached: the jobs are kept. */
  async forgetPersonNow(personId: string): Promise<boolean> {
    const intents = await this.#forgetIntents(personId);
    const { person } = await this.#at(personId);
    try {
      await this.#deps.memory.forgetPerson(person);
      await this.#write(intents.filter((intent) => intent.kind !== "provider-forget"));
      return true;
    } catch {
      // Whatever the reason, the jobs repeat it; the guard has logged it.
      await this.#write(intents);
      return false;
    }
  }

  async #forgetIntents(personId: string): Promise<NewIntent[]> {
    const { store, ids, clock } = this.#deps;
    const now = clock.now();
    // The rows here go right after this call: a job that ran before would store them there anew.
    const runAt = now + localDeletionMs;
    const { person, groups } = await this.#at(personId);
    const key = ids.next();
    const sessionId = `forget-${personId}`;
    const payload = {
      v: payloadVersion,
      sessionId,
      spaceId: personId,
      upTo: 0,
      removes: true,
      personId,
      aliases: [...person.aliases],
      groupSpaceIds: [...person.groupSpaceIds],
      sessions: person.sessions.map((session) => ({ ...session })),
    } as const;
    for (const id of [personId, ...person.aliases]) {
      await store.dropCached({ personId: id }, now);
      await store.dropCached({ spaceId: id }, now);
    }
    for (const { spaceId } of groups) await store.dropCached({ spaceId }, now);
    return [
      { id: `fgt-${key}`, kind: "provider-forget", sessionId, spaceId: personId, payload, runAt },
      mirrorIntent({ target: "user", id: personId }, true, `${key}-u`, runAt),
      mirrorIntent({ target: "memory", id: personId }, true, `${key}-m`, runAt),
      ...groups.map(({ sessionId: id, spaceId }) => startOverIntent({ id, spaceId }, key, runAt)),
    ];
  }

  /** `alias` was another person until now and is `personId` from now on: both pasts are read, new things go to `personId`. */
  async link(personId: string, alias: string): Promise<void> {
    const { memory, store, ids, clock } = this.#deps;
    const now = clock.now();
    for (const known of [alias, ...(await store.aliases(alias))]) if (known !== personId) await store.addAlias(personId, known, now);
    await this.#dropBoth(personId, alias);
    const key = ids.next();
    await this.#write([...mirrorsOf(personId, `${key}-a`, now), ...mirrorsOf(alias, `${key}-b`, now)]);
    await memory.linkPeople(personId, alias);
  }

  /** Nothing of the leaving account stays readable for the other: its conversations move to its own person there. */
  async unlink({ stays, leaves, was, sessionIds }: Unlinked): Promise<void> {
    const { store, sessions, ids, clock } = this.#deps;
    const now = clock.now();
    await store.dropAlias(stays, was);
    if (leaves !== was) await store.addAlias(leaves, was, now);
    await this.#dropBoth(stays, leaves);
    const key = ids.next();
    const moved = (await Promise.all(sessionIds.map((id) => sessions.byId(id)))).filter((session) => session !== undefined);
    await this.#write([
      ...moved.map((session) => startOverIntent({ id: session.id, spaceId: stays }, key, now)),
      ...mirrorsOf(stays, `${key}-a`, now),
      ...mirrorsOf(leaves, `${key}-b`, now),
    ]);
  }

  /** After /undo and /retry. `kept`: it was synced and the service cannot take single turns back, which the answer has to say. */
  async forgetTurn(session: Pick<Session, "id" | "spaceId">, turnId: string): Promise<"not-synced" | "deleting" | "kept"> {
    const { memory, store, clock } = this.#deps;
    await store.dropCached({ sessionId: session.id }, clock.now());
    if ((await store.ref(memory.name, "turn", turnId)) === undefined) return "not-synced";
    if (!memory.canForgetTurns) return "kept";
    await this.#write([forgetTurnsIntent(session, [turnId], clock.now())]);
    return "deleting";
  }

  async #dropBoth(one: string, other: string): Promise<void> {
    for (const id of [one, other]) {
      await this.#deps.store.dropCached({ spaceId: id }, this.#deps.clock.now());
      await this.#deps.store.dropCached({ personId: id }, this.#deps.clock.now());
    }
  }

  async #write(intents: readonly NewIntent[]): Promise<void> {
    await this.#deps.store.addIntents(intents, this.#deps.clock.now());
    this.#deps.wake();
  }

  async #at(personId: string): Promise<{
    readonly person: PersonAtProvider;
    readonly groups: readonly { readonly sessionId: string; readonly spaceId: string }[];
  }> {
    const { store, access } = this.#deps;
    const aliases = await store.aliases(personId);
    const accounts = await access.accounts({ personId });
    const { own, groups } = await store.sessionsOf([personId, ...aliases], accounts);
    const sessions = await Promise.all(own.map(async (sessionId) => ({ sessionId, generation: await store.generation(sessionId) })));
    return { person: { personId, aliases, groupSpaceIds: [...new Set(groups.map(({ spaceId }) => spaceId))], sessions }, groups };
  }
}

function mirrorsOf(id: string, key: string, now: number): NewIntent[] {
  return [mirrorIntent({ target: "user", id }, true, `${key}-u`, now), mirrorIntent({ target: "memory", id }, true, `${key}-m`, now)];
}
