/** Checks Socket Mode frames before the library reads them: it takes their form for granted and nobody catches what it throws. */
import { asFields, fieldsOf, textOf } from "./fields.js";

export interface Frame {
  readonly type: string;
  /** Of a disconnect. */
  readonly reason?: string | undefined;
}

/** A frame that has everything the library reads from it, or undefined. */
export function parseFrame(text: string): Frame | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined; // the caller logs it
  }
  const frame = asFields(parsed);
  const type = frame === undefined ? undefined : textOf(frame, "type");
  if (frame === undefined || type === undefined) return undefined;
  if (type === "hello" || type === "disconnect") return { type, reason: textOf(frame, "reason") };
  const payload = asFields(frame["payload"]);
  if (textOf(frame, "envelope_id") === undefined || payload === undefined) return undefined;
  return type === "events_api" && textOf(fieldsOf(payload, "event"), "type") === undefined ? undefined : { type };
}
