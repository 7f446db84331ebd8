/**
 * The skills that a space sees, and their index for the system prompt. Three layers: rendered indexes in this process, a
 * snapshot of what was parsed on disk, a full scan; each is valid only while no SKILL.md has changed, so none can be stale.
 */
import type { Space } from "../domain/identity.js";
import type { Logger } from "../ports/runtime.js";
import type { SkillOwner } from "../ports/skill-log.js";
import { fitsHost, type Host } from "./host-files.js";
import { renderIndex } from "./index-text.js";
import { skillsRoot } from "./safe-path-files.js";
import type { ShelvedSkill, Shelf, Shelves } from "./shelf-files.js";

/** A skill as a space sees it. */
export interface VisibleSkill extends ShelvedSkill {
  readonly owner: SkillOwner;
}

export interface SkillIndexDeps {
  readonly dataDir: string;
  readonly shelves: Shelves;
  readonly host: Host;
  readonly logger: Logger;
}

export const sharedOwner: SkillOwner = { scope: "shared", id: "" };
const mostRendered = 100;

export function ownerOf(space: Pick<Space, "id">): SkillOwner {
  return { scope: "space", id: space.id };
}

export class SkillIndex {
  readonly #deps: SkillIndexDeps;
  readonly #rendered = new Map<string, string>();

  constructor(deps: SkillIndexDeps) {
    this.#deps = deps;
  }

  get host(): Host {
    return this.#deps.host;
  }

  /**
   * All skills a space sees, also those for other systems, sorted by name. Of two with one name the space's own counts in a person's
   * space, the shared one in a group's.
   */
  visible(space: Space): VisibleSkill[] {
    return this.#merge(space, this.#look(sharedOwner), this.#look(ownerOf(space)));
  }

  /** The skills of one root folder, whoever sees them. */
  shelf(owner: SkillOwner): readonly ShelvedSkill[] {
    return this.#look(owner).skills();
  }

  /** The index of a space's skills as they are now; empty when there are none. `only`: names of the only ones to show. */
  text(space: Space, only?: readonly string[]): string {
    const shared = this.#look(sharedOwner);
    const own = this.#look(ownerOf(space));
    const key = `${space.kind} ${space.id} ${shared.fingerprint} ${own.fingerprint}${only === undefined ? "" : ` ${only.join(" ")}`}`;
    const held = this.#rendered.get(key);
    const text =
      held ??
      renderIndex(
        this.#merge(space, shared, own).filter(
          ({ meta }) => fitsHost(meta.platforms, this.#deps.host) && only?.includes(meta.name) !== false,
        ),
      );
    this.#rendered.delete(key);
    this.#rendered.set(key, text);
    const [oldest] = this.#rendered.keys();
    if (this.#rendered.size > mostRendered && oldest !== undefined) this.#rendered.delete(oldest);
    return text;
  }

  /** How many rendered indexes are remembered. */
  get remembered(): number {
    return this.#rendered.size;
  }

  #look(owner: SkillOwner): Shelf {
    return this.#deps.shelves.look(skillsRoot(this.#deps.dataDir, owner));
  }

  #merge(space: Space, shared: Shelf, own: Shelf): VisibleSkill[] {
    const byName = new Map<string, VisibleSkill>();
    const layers: readonly (readonly [SkillOwner, Shelf])[] =
      space.kind === "person"
        ? [
            [sharedOwner, shared],
            [ownerOf(space), own],
          ]
        : [
            [ownerOf(space), own],
            [sharedOwner, shared],
          ];
    for (const [owner, shelf] of layers) {
      for (const skill of shelf.skills()) {
        if (space.kind === "group" && byName.has(skill.meta.name)) {
          this.#deps.logger.debug({ skill: skill.meta.name, space: space.id }, "a group's skill is hidden by the shared one of that name");
        }
        byName.set(skill.meta.name, { ...skill, owner });
      }
    }
    return [...byName.values()].toSorted((a, b) => (a.meta.name < b.meta.name ? -1 : 1));
  }
}
