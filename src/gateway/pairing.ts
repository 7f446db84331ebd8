/**
 * Pairing codes: issued to a stranger or a group, approved by an operator. Used by the gateway and by the command line
 * alike; the limits live here only.
 */
import { randomInt } from "node:crypto";
import { accountKey, type Role } from "../domain/identity.js";
import type { Route } from "../domain/message.js";
import type { Clock } from "../ports/runtime.js";
import type { Access, PairingCode } from "../ports/access.js";

/** Letters and digits that nobody confuses: no 0 O 1 I L. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const codeLength = 8;
const hourMs = 3_600_000;
/** A code message is sent at most once in this time. */
const showEveryMs = 600_000;
const maxPending = 50;
const maxWrongTries = 5;

export interface PairingSubject {
  readonly subject: PairingCode["subject"];
  readonly platform: string;
  readonly subjectId: string;
  readonly label: string;
  readonly route: Route;
}

export type Approval =
  | { readonly ok: true; readonly code: PairingCode; readonly role: Role }
  | { readonly ok: false; readonly why: "wrong" }
  | { readonly ok: false; readonly why: "locked"; readonly minutes: number };

export class Pairing {
  readonly #access: Access;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: { readonly access: Access; readonly clock: Clock }) {
    this.#access = deps.access;
    this.#clock = deps.clock;
  }

  /** The code to show now. `shown`: it was shown lately · `full`: too many are pending; then nothing is said. One offer at a time, so that the limit is exact. */
  offer(subject: PairingSubject): Promise<PairingCode | "shown" | "full"> {
    const offered = this.#last.then(() => this.#offer(subject));
    this.#last = offered.catch(() => undefined);
    return offered;
  }

  async #offer(subject: PairingSubject): Promise<PairingCode | "shown" | "full"> {
    const now = this.#clock.now();
    const pending = await this.#access.codes(now);
    const mine = pending.find(
      (code) => code.subject === subject.subject && code.platform === subject.platform && code.subjectId === subject.subjectId,
    );
    if (mine !== undefined) {
      if (now - mine.shownAt < showEveryMs) return "shown";
      const shown = { ...mine, shownAt: now, route: subject.route };
      await this.#access.putCode(shown);
      return shown;
    }
    if (pending.length >= maxPending) return "full";
    const code: PairingCode = { ...subject, code: newCode(), createdAt: now, expiresAt: now + hourMs, shownAt: now };
    await this.#access.putCode(code);
    return code;
  }

  /** Approves a code once. `caller` is who types it: five wrong ones lock that caller for an hour. */
  async approve(typed: string, caller: string, role: Role): Promise<Approval> {
    const now = this.#clock.now();
    if ((await this.#access.wrongTries(caller, now - hourMs)) >= maxWrongTries) return { ok: false, why: "locked", minutes: 60 };
    const wanted = typed.trim().toUpperCase();
    const code = (await this.#access.codes(now)).find((candidate) => candidate.code === wanted);
    if (code === undefined) {
      await this.#access.noteWrongTry(caller, now);
      await this.#access.audit({ at: now, actor: caller, act: "approve-wrong-code", subject: "-" });
      return { ok: false, why: "wrong" };
    }
    // Dropped first: a code works once even if two approve it at the same moment.
    await this.#access.dropCode(code.code);
    if (code.subject === "chat") await this.#access.admitChat(code.platform, code.subjectId, true, caller, now);
    else await this.#access.admit(code.platform, code.subjectId, role, caller, now);
    await this.#access.audit({ at: now, actor: caller, act: "approve", subject: accountKey(code.platform, code.subjectId), detail: role });
    return { ok: true, code, role };
  }

  pending(): Promise<PairingCode[]> {
    return this.#access.codes(this.#clock.now());
  }

  /** True while nobody is an operator yet (configured operators are the caller's to know). */
  async hasOperator(): Promise<boolean> {
    return (await this.#access.accounts({ role: "operator" })).length > 0;
  }
}

/** Eight characters that nobody confuses, from the system's random source. */
export function newCode(): string {
  return Array.from({ length: codeLength }, () => alphabet[randomInt(alphabet.length)]).join("");
}
