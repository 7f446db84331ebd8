/**
 * The real clock and id source. Nothing else may read the time or make ids, so that tests own both.
 */
import { randomBytes } from "node:crypto";
import type { Clock, Ids } from "../ports/runtime.js";

/** The system's clock. Timers are unreferenced: they never keep the process alive. Waits above Node's limit (24.8 days) are cut to it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    const timer = setTimeout(task, Math.min(Math.max(ms, 0), 2_147_483_647));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

const timeLength = 9;
const counterLength = 4;
const randomLength = 9;
const counterSize = 36 ** counterLength;

/**
 * Ids of 22 small letters and digits: 9 of time (ms, base 36), 4 of a counter, 9 random. In one process they sort in the order of making even
 * when the clock steps back; between processes the random part (46 bits) keeps them apart.
 */
export function createIds(deps: { readonly clock: Clock }): Ids {
  let lastTime = 0;
  let counter = 0;
  const nextByte = byteSource();
  return {
    next() {
      const now = Math.max(deps.clock.now(), lastTime);
      counter = now === lastTime ? counter + 1 : 0;
      lastTime = counter < counterSize ? now : now + 1;
      counter %= counterSize;
      return digits(lastTime, timeLength) + digits(counter, counterLength) + randomDigits(randomLength, nextByte);
    },
  };
}

function digits(value: number, length: number): string {
  return value.toString(36).padStart(length, "0");
}

/** Bytes from 252 up are thrown away, so that every digit is equally likely. */
function randomDigits(length: number, nextByte: () => number): string {
  let result = "";
  while (result.length < length) {
    const byte = nextByte();
    if (byte < 252) result += (byte % 36).toString(36);
  }
  return result;
}

/** Random bytes one by one, fetched in blocks: a call to the system costs more than the rest of an id. Each is used once. */
function byteSource(): () => number {
  let block = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === block.length) {
      block = randomBytes(1_024);
      at = 0;
    }
    const byte = block[at] ?? 255;
    at += 1;
    return byte;
  };
}
