/** The program's own words to a person, as outbox rows rendered for the platform they go to. */
import type { Button, Route } from "../domain/message.js";
import type { NewOutbox, Outbox } from "../ports/mailbox.js";
import { languageOf, type Language } from "../words/catalogue.js";
import type { Channels } from "./channels.js";
import { textRows } from "./reply-rows.js";

export class Replies {
  readonly #channels: Channels;
  readonly #outbox: Outbox;
  readonly #wake: () => void;
  readonly #language: Language | "auto";
  readonly #maxParts: number;

  constructor(deps: {
    readonly channels: Channels;
    readonly outbox: Outbox;
    readonly wake: () => void;
    readonly language: Language | "auto";
    /** Most text parts; what is more goes as one file. 0 = no limit. */
    readonly maxParts: number;
  }) {
    this.#channels = deps.channels;
    this.#outbox = deps.outbox;
    this.#wake = deps.wake;
    this.#language = deps.language;
    this.#maxParts = deps.maxParts;
  }

  /** Rows to store in the transaction that makes them necessary; buttons go under the last part. */
  rows(route: Route, markdown: string, kind: NewOutbox["kind"] = "command", buttons?: readonly Button[]): NewOutbox[] {
    const channel = this.#channels.get(route.platform);
    if (channel === undefined) return [];
    const language = languageOf(this.#language, [markdown]);
    const rows = textRows({ channel, route, markdown, maxParts: this.#maxParts, language }, { kind });
    const last = rows.findLastIndex((row) => row.file === undefined);
    return buttons === undefined ? rows : rows.map((row, index) => (index === last ? { ...row, buttons } : row));
  }

  /** Stores rows on their own and sends them. */
  async say(route: Route, markdown: string, kind: NewOutbox["kind"] = "notice"): Promise<void> {
    await this.#outbox.add(this.rows(route, markdown, kind));
    this.#wake();
  }

  /** The same with buttons under it, where the platform has them. */
  async ask(route: Route, markdown: string, buttons: readonly Button[]): Promise<void> {
    const hasButtons = this.#channels.get(route.platform)?.adapter.capabilities.buttons === true;
    await this.#outbox.add(this.rows(route, markdown, "notice", hasButtons && buttons.length > 0 ? buttons : undefined));
    this.#wake();
  }

  /** Something was stored that is to be sent. */
  wake(): void {
    this.#wake();
  }
}
