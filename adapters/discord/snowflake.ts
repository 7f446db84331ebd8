/**
 * Discord ids carry their time and sort by it. They do not fit a JavaScript number: they stay text, and only this file
 * turns them into bigints.
 */

/** Discord's epoch, 2015-01-01, in Unix milliseconds (https://discord.com/developers/docs/reference#snowflakes). */
const epoch = 1_420_070_400_000n;

export function isSnowflake(id: string): boolean {
  return /^\d{15,20}$/.test(id);
}

/** When an id was made, epoch milliseconds. Undefined for what is no id. */
export function timeOf(id: string): number | undefined {
  return isSnowflake(id) ? Number((BigInt(id) >> 22n) + epoch) : undefined;
}

/** The smallest id of that time: a cursor for "everything since". */
export function idAt(at: number): string {
  const since = BigInt(Math.max(0, Math.floor(at))) - epoch;
  return String((since > 0n ? since : 0n) << 22n);
}

/** Negative when `a` is older than `b`. */
export function compareIds(a: string, b: string): number {
  const left = BigInt(a);
  const right = BigInt(b);
  return left < right ? -1 : left > right ? 1 : 0;
}
