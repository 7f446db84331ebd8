/**
 * Reads what was said while no session stood. Discord replays events to a session it still knows and to no other, so
 * after every new login the known chats are read from the last message seen; bounded in chats, pages and age.
 */
import { errorText } from "../../src/domain/errors.js";
import type { InboundEvent } from "../../src/domain/message.js";
import type { AdapterIo } from "../../src/ports/platform-adapter.js";
import type { Clock, Logger } from "../../src/ports/runtime.js";
import type { Api } from "./api.js";
import { apiCode, codes, deliveryErrorOf } from "./failures.js";
import { type Fields, textOf } from "./fields.js";
import type { Intake } from "./intake.js";
import { compareIds, idAt, isSnowflake } from "./snowflake.js";

const chatLimit = 50;
const pageLimit = 3;
const pageSize = 100;
const atOnce = 4;
/** Older messages are not answered any more (gateway.md §3). */
const oldestMs = 24 * 3_600_000;
/** A rate limit longer than this is not waited for. */
const longestWaitMs = 5_000;

export interface CatchUpDeps {
  readonly api: Api;
  readonly io: Pick<AdapterIo, "lastSeen">;
  readonly intake: Intake;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Message -> event, as for live ones. */
  readonly normalise: (message: Fields) => Promise<InboundEvent | undefined>;
  readonly limitMs: number;
}

/** Resolves when every chat was read or given up; never rejects. New messages of a chat are held until then. */
export async function catchUp(deps: CatchUpDeps, signal: AbortSignal): Promise<void> {
  const { intake, logger } = deps;
  const openAll = intake.holdAll();
  const opens: (() => void)[] = [];
  const cancel = deps.clock.after(deps.limitMs, () => {
    openAll();
    for (const open of opens) open();
  });
  try {
    const chats = (await deps.io.lastSeen(chatLimit)).filter((chat) => isSnowflake(chat.chatId) && isSnowflake(chat.messageId));
    const waiting = chats.map((chat) => {
      const open = intake.hold(chat.chatId);
      opens.push(open);
      return { ...chat, open };
    });
    openAll();
    const workers = Array.from({ length: atOnce }, async () => {
      for (let chat = waiting.shift(); chat !== undefined; chat = waiting.shift()) {
        try {
          if (!signal.aborted) await readChat(deps, chat.chatId, chat.messageId, signal);
        } finally {
          chat.open();
        }
      }
    });
    await Promise.all(workers);
  } catch (error) {
    logger.warn({ error: errorText(error) }, "missed messages could not be read");
  } finally {
    cancel();
    openAll();
    for (const open of opens) open();
  }
}

async function readChat(deps: CatchUpDeps, chatId: string, lastId: string, signal: AbortSignal): Promise<void> {
  const oldest = idAt(deps.clock.now() - oldestMs);
  let after = compareIds(lastId, oldest) > 0 ? lastId : oldest;
  try {
    for (let page = 0; page < pageLimit; page += 1) {
      const messages = await readPage(deps, chatId, after, signal);
      const events: InboundEvent[] = [];
      for (const message of messages) {
        const event = await deps.normalise(message);
        if (event !== undefined) events.push(event);
      }
      await deps.intake.pass(events);
      const last = messages.at(-1);
      if (messages.length < pageSize || last === undefined) return;
      after = textOf(last, "id") ?? after;
    }
    deps.logger.warn({ chatId, limit: pageLimit * pageSize }, "more messages were missed than are read after a reconnect");
  } catch (error) {
    const code = apiCode(deps.api.sdk, error);
    const gone = code === codes.unknownChannel || code === codes.missingAccess;
    deps.logger[gone ? "debug" : "warn"]({ chatId, error: errorText(error) }, "missed messages of a chat could not be read");
  }
}

/** One page, oldest first; a short rate limit is waited for once. */
async function readPage(deps: CatchUpDeps, chatId: string, after: string, signal: AbortSignal): Promise<Fields[]> {
  const read = async (): Promise<Fields[]> => {
    const messages = await deps.api.messages(chatId, { after, limit: pageSize }, signal);
    return messages
      .filter((message) => isSnowflake(textOf(message, "id") ?? ""))
      .sort((a, b) => compareIds(textOf(a, "id") ?? "0", textOf(b, "id") ?? "0"));
  };
  try {
    return await read();
  } catch (error) {
    const wait = deliveryErrorOf(deps.api.sdk, error).retryAfterMs;
    if (wait === undefined || wait > longestWaitMs) throw error;
    await new Promise<void>((resolve) => deps.clock.after(wait, resolve));
    return read();
  }
}
