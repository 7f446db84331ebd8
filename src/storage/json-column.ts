/**
 * JSON in a text column, and the step from absent to NULL and back. Stored values are our own, so they are trusted to
 * have the type they were written with.
 */

/** NULL for undefined. */
export function toJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

/** The stored value as the type it was written with. */
export function fromJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** `{ name: value }`, or `{}` for NULL: for optional members, which must be absent rather than undefined. */
export function optional<Name extends string, T>(name: Name, value: T | null | undefined): { readonly [key in Name]?: T } {
  return (value === null || value === undefined ? {} : { [name]: value }) as { readonly [key in Name]?: T };
}

/** Like `optional`, for a column that holds JSON. */
export function optionalJson<T, Name extends string = string>(name: Name, text: string | null): { readonly [key in Name]?: T } {
  return (text === null ? {} : { [name]: JSON.parse(text) as T }) as { readonly [key in Name]?: T };
}

/** The ids as one JSON parameter for `in (select value from json_each(?))`: one prepared statement for any number. */
export function idList(ids: readonly (number | string)[]): string {
  return JSON.stringify(ids);
}
