/** The program's own words to a person, as outbox rows rendered for the platform they go to. */
import type { Button, RenderedPart, Route } from "../domain/message.js";
import type { NewOutbox, Outbox } from "../ports/mailbox.js";
import { languageOf, text, type Language } from "../words/catalogue.js";
import type { Channels } from "./channels.js";
import { shorten } from "./long-answer.js";

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
    const adapter = this.#channels.get(route.platform)?.adapter;
    if (adapter === undefined) return [];
    const { replyTo: _replyTo, ...rest } = route;
    const render = (given: string): readonly RenderedPart[] => adapter.render(given);
    const { files, maxPartLength } = adapter.capabilities;
    const cuts = this.#maxParts > 0 && files;
    const { parts, rest: more } = cuts
      ? shorten(markdown, { render, maxParts: this.#maxParts, partLength: maxPartLength })
      : { parts: render(markdown), rest: undefined };
    const rows: NewOutbox[] = parts.map((part, index) => ({
      kind,
      route: index === 0 ? route : rest,
      part,
      ...(buttons !== undefined && index === parts.length - 1 ? { buttons } : {}),
    }));
    if (more === undefined || more === "") return rows;
    const plain = text(languageOf(this.#language, [markdown]), "delivery.rest-in-file");
    const file = { name: "answer.md", mimeType: "text/markdown", content: more };
    return [...rows, { kind, route: rest, part: { plain, payload: null }, file }];
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
