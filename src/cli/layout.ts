/**
 * Tables and times for people. Names come from outside: control characters are taken out, or a display name could
 * move the cursor of whoever looks.
 */

/** One line of printable text. */
export function clean(value: string): string {
  return value.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
}

/** Rows under a heading, columns padded; cells are cleaned. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [heading, ...rows.map((row) => row.map(clean))];
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => width(row[column] ?? ""))));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - width(cell))))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Columns of a terminal: East Asian wide characters and emoji take two. */
function width(value: string): number {
  let sum = 0;
  for (const letter of value.normalize("NFC"))
    sum += /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u.test(letter) ? 2 : 1;
  return sum;
}

/** "3 min ago", or "never". */
export function ago(at: number | undefined, now: number): string {
  return at === undefined ? "never" : `${span(now - at)} ago`;
}

/** A length of time in its largest sensible unit. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** Date and time in a zone, for example 2026-03-01 14:05:09. */
export function stamp(at: number, timeZone: string): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" }).format(at);
}
