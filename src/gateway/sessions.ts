/**
 * Finds, creates and ends sessions; the prompt is frozen when one begins and rebuilt only in the cases listed here.
 * What goes into the prompt is not known here: `freeze` is given by the composition root.
 */
import { GatewayError } from "../domain/errors.js";
import type { NewIntent } from "../domain/job.js";
import type { Route } from "../domain/message.js";
import type { Speaker } from "../domain/identity.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import type { Frozen, Session, Sessions } from "../ports/stores.js";
import type { Act } from "./acts.js";
import { withoutReply } from "./routes.js";

export interface SessionBookDeps {
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Builds system text, tool schemas and model id for a session that begins or is rebuilt. */
  readonly freeze: (session: Session) => Promise<Omit<Frozen, "at">>;
  /** Version of the prompt's own texts; a change rebuilds every session at its next turn. */
  readonly promptVersion: number;
  /** The id of the model of a session's chat; a change rebuilds. */
  readonly modelOf: (session: Session) => Promise<string>;
  /** After this idle time the provider's cache is cold, so a new snapshot costs nothing. 0 = never. */
  readonly promptCacheMs: number;
  /** A running session's prompt is about to be built anew: what it taught is saved first, as a job. */
  readonly onRebuild: (session: Session) => Promise<void>;
  /** Why the session of a place ends before its next message (`sessions.reset`); undefined when it goes on. */
  readonly resetDue: (session: Session) => Promise<string | undefined>;
  /** Intents that a session's end makes necessary (flush). */
  readonly onEnd: (session: Session, reason: string) => Promise<readonly NewIntent[]>;
}

export class SessionBook {
  readonly #deps: SessionBookDeps;

  constructor(deps: SessionBookDeps) {
    this.#deps = deps;
  }

  /** The session an act belongs to, with a prompt that is valid for its next turn. */
  async open(act: Act): Promise<Session & { readonly frozen: Frozen }> {
    const { sessions, clock, ids } = this.#deps;
    const { place, speaker } = act;
    const found = await this.#current(place.key);
    const session = found ?? (await sessions.create(newSession(act, speaker, ids.next()), clock.now()));
    const frozen = session.frozen;
    if (frozen !== undefined && !(await this.#mustRebuild(session, frozen))) return { ...session, frozen };
    if (frozen !== undefined) await this.#deps.onRebuild(session);
    const fresh: Frozen = { ...(await this.#deps.freeze(session)), at: clock.now() };
    await sessions.freeze(session.id, fresh);
    return { ...session, frozen: fresh, needsRebuild: false };
  }

  /** The active session of a key, unless its time is over: then it ends here. */
  async #current(key: string): Promise<Session | undefined> {
    const session = await this.#deps.sessions.active(key);
    const reason = session === undefined ? undefined : await this.#deps.resetDue(session);
    if (reason === undefined) return session;
    await this.end(key, reason);
    return undefined;
  }

  /** Begins a conversation in a place ahead of its first message; the active one is ended. */
  async begin(act: Act, options: { readonly isPrivate: boolean }): Promise<Session> {
    const { sessions, clock, ids } = this.#deps;
    await this.end(act.place.key, "new");
    return sessions.create({ ...newSession(act, act.speaker, ids.next()), isPrivate: options.isPrivate }, clock.now());
  }

  /** Ends the active session of a key. Undefined when there is none; `flushes` when a job saves what it taught. */
  async end(key: string, reason: string): Promise<{ readonly session: Session; readonly flushes: boolean } | undefined> {
    const session = await this.#deps.sessions.active(key);
    if (session === undefined) return undefined;
    const intents = await this.endIntents(session, reason);
    await this.#deps.sessions.end(session.id, reason, this.#deps.clock.now(), intents);
    return { session, flushes: intents.length > 0 };
  }

  /** The jobs that a session's end makes necessary, for whoever ends it in a transaction of its own. */
  endIntents(session: Session, reason: string): Promise<readonly NewIntent[]> {
    return this.#deps.onEnd(session, reason);
  }

  /** The session of a turn that an earlier process began. */
  async reopen(id: string): Promise<Session & { readonly frozen: Frozen }> {
    const session = await this.#deps.sessions.byId(id);
    if (session === undefined) throw new GatewayError("turn.not-found", `session ${id} is gone`);
    if (session.frozen !== undefined) return { ...session, frozen: session.frozen };
    const fresh: Frozen = { ...(await this.#deps.freeze(session)), at: this.#deps.clock.now() };
    await this.#deps.sessions.freeze(id, fresh);
    return { ...session, frozen: fresh };
  }

  async #mustRebuild(session: Session, frozen: Frozen): Promise<boolean> {
    const { promptCacheMs, clock, promptVersion, modelOf } = this.#deps;
    if (session.needsRebuild || frozen.promptVersion !== promptVersion || frozen.model !== (await modelOf(session))) return true;
    return promptCacheMs > 0 && clock.now() - Math.max(session.lastActiveAt, frozen.at) > promptCacheMs;
  }
}

function newSession(act: Act, speaker: Speaker, id: string): Parameters<Sessions["create"]>[0] {
  const message = act.messages.at(-1);
  if (message === undefined) throw new RangeError("an act without a message");
  const route: Route = withoutReply(message.route);
  return {
    id,
    key: act.place.key,
    spaceId: act.place.spaceId,
    spaceKind: act.place.spaceKind,
    ...(message.chat.kind === "dm" ? { personId: speaker.personId } : {}),
    platform: message.platform,
    chatId: message.chat.id,
    chatKind: message.chat.kind,
    ...(message.threadId === undefined ? {} : { threadId: message.threadId }),
    origin: act.place.origin,
    route,
  };
}
