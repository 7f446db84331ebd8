/** Turns in a row that other bots cause in one chat: counted so that two bots never talk to each other without end. In memory only. */
import { spaceChatId } from "../domain/identity.js";
import type { InboundMessage } from "../domain/message.js";

const most = 4;
const maxRemembered = 10_000;

export class BotHops {
  readonly #hops = new Map<string, number>();

  /** False when other bots have caused too many turns in a row here; a person's word starts the count anew. */
  allows(event: InboundMessage): boolean {
    const key = `${event.platform}|${spaceChatId(event.chat)}`;
    if (!event.account.isBot) {
      this.#hops.delete(key);
      return true;
    }
    const hops = (this.#hops.get(key) ?? 0) + 1;
    if (this.#hops.size >= maxRemembered) this.#hops.clear();
    this.#hops.set(key, hops);
    return hops <= most;
  }
}
