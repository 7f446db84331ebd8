/**
 * Puts tool calls together from stream deltas. Servers number them oddly (no index, index 0 for every call, an id
 * in each piece), so a piece belongs to a call by id first and by index second.
 */
import type { ToolCall } from "../domain/transcript.js";

/** A delta as it may come: nothing of it can be relied upon. */
export interface CallDelta {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null;
}

interface Slot {
  readonly index: number | undefined;
  id: string;
  name: string;
  text: string;
}

interface Piece {
  readonly id: string;
  readonly index: number | undefined;
  readonly name: string;
  readonly piece: string;
}

export class CallAssembly {
  readonly #slots: Slot[] = [];

  get count(): number {
    return this.#slots.length;
  }

  add(delta: CallDelta): void {
    const id = typeof delta.id === "string" ? delta.id : "";
    const index = typeof delta.index === "number" ? delta.index : typeof delta.index === "string" ? Number(delta.index) : undefined;
    const name = typeof delta.function?.name === "string" ? delta.function.name : "";
    const piece = argumentPiece(delta.function?.arguments);
    const slot = this.#find({ id, index, name, piece }) ?? this.#open(index);
    if (slot.id === "") slot.id = id;
    if (slot.name === "") slot.name = name.trim();
    slot.text += piece;
  }

  /** The calls in order of appearance. Missing or used ids are replaced; `used` are those of the whole conversation. */
  calls(used: ReadonlySet<string>, nextId: () => string): ToolCall[] {
    const taken = new Set(used);
    return this.#slots
      .filter((slot) => slot.name !== "")
      .map((slot) => {
        const id = slot.id === "" || slot.id.length > 40 || taken.has(slot.id) ? `call_${nextId()}` : slot.id;
        taken.add(id);
        return { id, name: slot.name, arguments: slot.text };
      });
  }

  #find(delta: Piece): Slot | undefined {
    const { id, index } = delta;
    const byId = id === "" ? [] : this.#slots.filter((slot) => slot.id === id);
    const known = byId.findLast((slot) => slot.index === index) ?? byId.at(-1);
    if (known !== undefined) return beginsAnother(known, delta) ? undefined : known;
    const slot = index === undefined ? this.#slots.at(-1) : this.#slots.findLast((one) => one.index === index);
    if (slot === undefined || (id !== "" && slot.id !== "")) return undefined;
    return beginsAnother(slot, delta) ? undefined : slot;
  }

  #open(index: number | undefined): Slot {
    const slot: Slot = { index, id: "", name: "", text: "" };
    this.#slots.push(slot);
    return slot;
  }
}

/** A delta with a name opens a call of its own unless it only repeats the name of the call that is still being written. */
function beginsAnother(slot: Slot, delta: Piece): boolean {
  if (delta.name === "" || slot.name === "") return false;
  if (delta.index !== undefined && slot.index !== undefined && delta.index !== slot.index) return true;
  return delta.name.trim() !== slot.name || (delta.piece !== "" && isComplete(slot.text));
}

function argumentPiece(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : "";
}

function isComplete(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
