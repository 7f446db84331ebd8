/**
 * Parts a leading `<think>…</think>` block from the visible text while it streams. Only a block at the very beginning
 * counts: the same tags later are text that somebody asked for.
 */

const tags = ["think", "thinking", "reasoning"] as const;

export interface ReasoningSplit {
  readonly visible: string;
  readonly reasoning: string;
}

/** Feed pieces with `push`, then call `end` once; the joined results do not depend on where the text was cut. */
export class ReasoningSplitter {
  #state: "start" | "inside" | "after" | "text" = "start";
  #held = "";
  #close = "";

  push(piece: string): ReasoningSplit {
    if (this.#state === "text") return { visible: piece, reasoning: "" };
    this.#held += piece;
    let reasoning = "";
    if (this.#state === "start" && !this.#opens()) return { visible: this.#release(), reasoning };
    if (this.#state === "inside") reasoning = this.#read();
    return { visible: this.#state === "after" ? this.#afterBlock() : "", reasoning };
  }

  /** What is still held. A block that was never closed stays reasoning: it is not shown. */
  end(): ReasoningSplit {
    const rest = this.#held;
    this.#held = "";
    if (this.#state === "inside") return { visible: "", reasoning: rest };
    return { visible: this.#state === "after" ? rest.trimStart() : rest, reasoning: "" };
  }

  /** True while the held text is, or may still become, an opening tag. */
  #opens(): boolean {
    const text = this.#held.trimStart();
    for (const tag of tags) {
      const open = `<${tag}>`;
      if (text.startsWith(open)) {
        this.#state = "inside";
        this.#close = `</${tag}>`;
        this.#held = text.slice(open.length);
        return true;
      }
      if (open.startsWith(text)) return true;
    }
    return false;
  }

  #read(): string {
    const at = this.#held.indexOf(this.#close);
    const end = at >= 0 ? at : this.#held.length - overlap(this.#held, this.#close);
    const reasoning = this.#held.slice(0, end);
    this.#held = this.#held.slice(at >= 0 ? at + this.#close.length : end);
    if (at >= 0) this.#state = "after";
    return reasoning;
  }

  /** White space between the block and the answer belongs to neither. */
  #afterBlock(): string {
    this.#held = this.#held.trimStart();
    return this.#held === "" ? "" : this.#release();
  }

  #release(): string {
    this.#state = "text";
    const text = this.#held;
    this.#held = "";
    return text;
  }
}

/** How many characters at the end of `text` may be the beginning of `mark`. */
export function overlap(text: string, mark: string): number {
  for (let length = Math.min(text.length, mark.length - 1); length > 0; length -= 1) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}
