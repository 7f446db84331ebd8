/**
 * Whether a member's own profile stands beside their own message in a group: each person's choice per group (`groups.speakerProfile`). Never for
 * guests, never stored with the transcript, only in the turn of the one it is about.
 */
import type { Speaker } from "../domain/identity.js";
import type { Overlay } from "../ports/stores.js";
import { fence } from "../safety/fence.js";

export interface ProfilesDeps {
  readonly overlay: Overlay;
  readonly rule: "ask" | "on" | "off";
}

export class Profiles {
  readonly #deps: ProfilesDeps;

  constructor(deps: ProfilesDeps) {
    this.#deps = deps;
  }

  get rule(): ProfilesDeps["rule"] {
    return this.#deps.rule;
  }

  async isOn(speaker: Pick<Speaker, "personId" | "role">, spaceId: string): Promise<boolean> {
    if (speaker.role === "guest" || this.#deps.rule === "off") return false;
    return this.#deps.rule === "on" || (await this.#deps.overlay.get(`profile:${speaker.personId}`, spaceId)) === "on";
  }

  choose(personId: string, spaceId: string, on: boolean): Promise<void> {
    return this.#deps.overlay.set(`profile:${personId}`, spaceId, on ? "on" : undefined);
  }
}

const note =
  "What is known of the one who speaks, shown for this message only because they allow it here. Others read along: let it guide how you answer, do not repeat it unasked.";

/** The block for the end of the turn's last message; undefined for an empty profile. `profile`: rendered and scanned. */
export function profileText(profile: string): string | undefined {
  return profile === "" ? undefined : fence("speaker-profile", profile, {}, note);
}
