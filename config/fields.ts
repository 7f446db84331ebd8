/**
 * Kinds of setting that occur more than once. Each gives a message that says what is allowed, since that message is all the operator sees.
 */
import { z } from "zod";

export const flag = (value: boolean) => z.boolean().default(value);
export const count = (value: number, min: number, max: number) => z.int().min(min).max(max).default(value);
export const choice = <const T extends readonly [string, ...string[]]>(allowed: T, value: T[number]) =>
  z.enum(allowed).default(value as never);
export const webUrl = () => z.url({ protocol: /^https?$/ });
export const secret = () => z.string().min(1).optional();
const account = () =>
  z
    .string()
    .regex(
      /^(telegram|discord|slack|terminal):\S+$/,
      'written "platform:id" with telegram, discord, slack or terminal, for example "telegram:123456789"',
    );
export const accounts = () => z.array(account()).default([]);
export const timeZone = () =>
  z.string().refine((zone) => zone === "system" || isTimeZone(zone), 'an IANA time zone such as "Europe/Berlin", or "system"');

function isTimeZone(zone: string): boolean {
  try {
    return Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone !== "";
  } catch {
    return false; // a RangeError is this API's way of saying no
  }
}
