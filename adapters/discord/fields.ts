/**
 * Reads fields of payloads that came over the network. A field of a wrong kind reads as absent, so that no payload can
 * make the adapter throw.
 */

export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object, or undefined for anything else (arrays included). */
export function asFields(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** The object under this key, or an empty one. */
export function fieldsOf(from: Fields, key: string): Fields {
  return asFields(from[key]) ?? {};
}

/** The text under this key; empty text reads as absent. */
export function textOf(from: Fields, key: string): string | undefined {
  const value = from[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function numberOf(from: Fields, key: string): number | undefined {
  const value = from[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The objects of the list under this key; everything else in it is left out. */
export function listOf(from: Fields, key: string): Fields[] {
  const value = from[key];
  return Array.isArray(value) ? value.map((item) => asFields(item)).filter((item) => item !== undefined) : [];
}

/** An object with this key, or an empty one when there is no value: an absent field, never one that is undefined. */
export function given<Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Partial<Record<Key, Value>>);
}
