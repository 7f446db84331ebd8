/**
 * The bot's reaction on a message: one at a time, as the port has it, although Slack would take several. What was put on
 * is remembered per channel and message, so that two threads never clear each other's sign of life.
 */
import { DeliveryError } from "../../src/domain/errors.js";
import type { SlackApi } from "./api.js";
import { platformCode } from "./api-errors.js";
import { emojiName } from "./emoji.js";

export const signOfLifeEmoji = "eyes";
const remembered = 5_000;

export class Reactions {
  readonly #api: SlackApi;
  readonly #on = new Map<string, string>();

  constructor(api: SlackApi) {
    this.#api = api;
  }

  /** Puts the emoji on the message in place of an earlier one; undefined takes ours away. Rejects with DeliveryError. */
  async set(channel: string, timestamp: string, emoji: string | undefined, signal: AbortSignal): Promise<void> {
    const name = emoji === undefined ? undefined : emojiName(emoji);
    if (emoji !== undefined && name === undefined)
      throw new DeliveryError("delivery.refused", `Slack has no reaction for this emoji: ${emoji}`);
    const key = `${channel}:${timestamp}`;
    const before = this.#on.get(key);
    if (name !== undefined) {
      await this.#call("reactions.add", { channel, timestamp, name }, "already_reacted", signal);
      this.#remember(key, name);
    }
    // After a restart nothing is remembered: what can be there is the sign of life.
    const old = before ?? (name === undefined ? signOfLifeEmoji : undefined);
    if (old !== undefined && old !== name) await this.#call("reactions.remove", { channel, timestamp, name: old }, "no_reaction", signal);
    if (name === undefined) this.#on.delete(key);
  }

  /** `fine`: the refusal that says that it is so already. */
  async #call(method: string, args: Record<string, unknown>, fine: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.call(method, args, signal);
    } catch (error) {
      if (error instanceof DeliveryError && platformCode(error.cause) === fine) return;
      throw error;
    }
  }

  #remember(key: string, name: string): void {
    this.#on.delete(key);
    this.#on.set(key, name);
    for (const oldest of this.#on.keys()) {
      if (this.#on.size <= remembered) break;
      this.#on.delete(oldest);
    }
  }
}
