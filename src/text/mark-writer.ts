/**
 * Opens and closes marks so that they always nest, whatever spans overlap.
 * Two runs of the same mark character must not touch: a parser would read them as one.
 */
export type Paired = "bold" | "italic" | "strike";

/** A mark on one line; `url` is empty but for links. */
export interface OpenMark {
  readonly kind: Paired | "link";
  readonly start: number;
  readonly end: number;
  readonly mark: string;
  readonly url: string;
}

const zeroWidthSpace = "\u200b";

export class MarkWriter {
  readonly #link: (label: string, url: string) => string;
  readonly #open: { readonly mark: OpenMark; text: string }[] = [];
  #out = "";
  #justClosed = "";
  #lastIsCode = false;

  constructor(link: (label: string, url: string) => string) {
    this.#link = link;
  }

  put(text: string): void {
    if (text === "") return;
    const top = this.#open.at(-1);
    if (top === undefined) this.#out += text;
    else top.text += text;
    this.#justClosed = "";
    this.#lastIsCode = false;
  }

  /** A code span; backticks of two in a row must not touch either. */
  putCode(code: string): void {
    if (this.#lastIsCode) this.put(zeroWidthSpace);
    this.put(code);
    this.#lastIsCode = true;
  }

  enter(active: readonly OpenMark[]): void {
    let shared = 0;
    while (shared < this.#open.length && this.#open[shared]?.mark === active[shared]) shared++;
    while (this.#open.length > shared) this.#close();
    for (const mark of active.slice(shared)) {
      // "**a**" directly before "*b*" would read as one run of marks.
      if (this.#justClosed !== "" && mark.mark.startsWith(this.#justClosed)) this.put(zeroWidthSpace);
      // Nor may "*" directly after an open "**".
      const outer = this.#open.at(-1);
      if (outer?.text === "" && mark.mark !== "" && outer.mark.mark.startsWith(mark.mark)) this.put(zeroWidthSpace);
      this.#open.push({ mark, text: "" });
    }
  }

  finish(): string {
    while (this.#open.length > 0) this.#close();
    return this.#out;
  }

  #close(): void {
    const closed = this.#open.pop();
    if (closed === undefined) return;
    const { mark, text } = closed;
    this.put(mark.kind === "link" ? this.#link(text, mark.url) : text === "" ? "" : mark.mark + text + mark.mark);
    this.#justClosed = mark.mark.slice(-1);
  }
}
