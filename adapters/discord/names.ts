/**
 * Names as people chose them: untrusted. One line, no control or direction characters, at most 80 characters, so that
 * no name can look like a heading or an instruction in a prompt.
 */
import { type Fields, fieldsOf, textOf } from "./fields.js";

const longest = 80;

/** The name on one line; `fallback` when nothing visible is left. */
export function cleanName(name: string, fallback: string): string {
  const line = name
    // eslint-disable-next-line no-control-regex
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  const short = [...line].slice(0, longest).join("").trimEnd();
  return short === "" ? fallback : short;
}

/** How a user is shown: server nickname, else global name, else handle. `member` may be the payload's own or the mention's. */
export function displayName(user: Fields, member: Fields): string {
  const id = textOf(user, "id") ?? "unknown";
  return cleanName(textOf(member, "nick") ?? textOf(user, "global_name") ?? textOf(user, "username") ?? id, id);
}

/** The shown name of a message's author. */
export function authorName(message: Fields): string {
  return displayName(fieldsOf(message, "author"), fieldsOf(message, "member"));
}
