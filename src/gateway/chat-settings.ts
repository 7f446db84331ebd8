/**
 * What single chats do differently: the settings' `chats:` and, over it, what people chose with /model and /busy. Held in memory, because the
 * lanes ask for every message; the nearest place that says something wins: thread, chat, the channel above, the whole workspace.
 */
import type { Overlay } from "../ports/stores.js";
import type { BusyMode } from "./lanes.js";

export interface ChatRules {
  readonly model?: string | undefined;
  readonly instructions?: string | undefined;
  readonly skills?: readonly string[] | undefined;
  readonly busyMode?: BusyMode | undefined;
}

export interface ChatPlace {
  readonly platform: string;
  readonly chatId: string;
  readonly threadId?: string | undefined;
  readonly parentId?: string | undefined;
  readonly containerId?: string | undefined;
}

export interface ChatSettingsDeps {
  readonly overlay: Pick<Overlay, "set">;
  readonly configured: { readonly [place: string]: ChatRules };
  readonly model: string;
  readonly busyMode: BusyMode;
  /** What was chosen before: rows of the overlay whose scope begins with `chat:`. */
  readonly chosen: readonly { readonly scope: string; readonly key: string; readonly value: string }[];
}

const busyModes: readonly string[] = ["queue", "steer", "interrupt"] satisfies BusyMode[];

export class ChatSettings {
  readonly #deps: ChatSettingsDeps;
  readonly #chosen = new Map<string, { model?: string; busyMode?: BusyMode }>();

  constructor(deps: ChatSettingsDeps) {
    this.#deps = deps;
    for (const { scope, key, value } of deps.chosen) this.#remember(scope, key, value);
  }

  modelOf(place: ChatPlace): string {
    return this.#first(place, (rules) => rules.model) ?? this.#deps.model;
  }

  busyModeOf(place: ChatPlace): BusyMode {
    return this.#first(place, (rules) => rules.busyMode) ?? this.#deps.busyMode;
  }

  instructionsOf(place: ChatPlace): string | undefined {
    return this.#first(place, (rules) => rules.instructions);
  }

  /** Names of the only skills allowed there; undefined = all. */
  skillsOf(place: ChatPlace): readonly string[] | undefined {
    return this.#first(place, (rules) => rules.skills);
  }

  /** Undefined takes the choice back. */
  async choose(place: ChatPlace, key: "model" | "busy", value: string | undefined): Promise<void> {
    const [scope] = placesOf(place);
    if (scope === undefined) return;
    await this.#deps.overlay.set(`chat:${scope}`, key, value);
    this.#remember(`chat:${scope}`, key, value);
  }

  #remember(scope: string, key: string, value: string | undefined): void {
    const { model, busyMode } = this.#chosen.get(scope) ?? {};
    const known = { ...(model === undefined ? {} : { model }), ...(busyMode === undefined ? {} : { busyMode }) };
    if (key === "model") {
      const { model: _old, ...rest } = known;
      this.#chosen.set(scope, value === undefined ? rest : { ...rest, model: value });
    }
    if (key === "busy") {
      const { busyMode: _old, ...rest } = known;
      this.#chosen.set(scope, value === undefined || !isBusyMode(value) ? rest : { ...rest, busyMode: value });
    }
  }

  #first<T>(place: ChatPlace, pick: (rules: ChatRules) => T | undefined): T | undefined {
    for (const scope of placesOf(place)) {
      const found = pick(this.#chosen.get(`chat:${scope}`) ?? {}) ?? pick(this.#deps.configured[scope] ?? {});
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

export function isBusyMode(value: string): value is BusyMode {
  return busyModes.includes(value);
}

/** From the nearest to the widest, as they are written in the settings. */
function placesOf({ platform, chatId, threadId, parentId, containerId }: ChatPlace): string[] {
  const chats = [threadId === undefined ? undefined : `${chatId}/${threadId}`, chatId, parentId, containerId];
  return chats.filter((id) => id !== undefined).map((id) => `${platform}:${id}`);
}
