/**
 * Which models want their reasoning sent back, learnt from what their servers complain of: most do not know the field, DeepSeek's
 * thinking mode answers 400 without it. Each model is heard twice at most, so that a server which wants it both ways gets its failure.
 */
export class ReasoningHabit {
  readonly #first: boolean;
  readonly #learnt = new Map<string, { readonly sends: boolean; readonly changes: number }>();

  /** `first`: what is done before any complaint. */
  constructor(first: boolean) {
    this.#first = first;
  }

  sends(model: string): boolean {
    return this.#learnt.get(model)?.sends ?? this.#first;
  }

  /** True when the same request may now go through. */
  learn(model: string, wants: boolean): boolean {
    const changes = this.#learnt.get(model)?.changes ?? 0;
    if (this.sends(model) === wants || changes >= 2) return false;
    this.#learnt.set(model, { sends: wants, changes: changes + 1 });
    return true;
  }
}
