/**
 * Escapes shared by the platforms' own Markdown dialects: code spans, fences, link targets, backslashes.
 * A fence is only as safe as the text in it: look at the longest run of backticks first.
 */

/** An inline code span that may hold backticks itself. */
export function codeSpan(code: string): string {
  const ticks = "`".repeat(longestRun(code) + 1);
  const pad = /^`|`$|^\s.*\s$/s.test(code) || code.trim() === "" ? " " : "";
  return ticks + pad + code + pad + ticks;
}

/** A fenced block whose fence is longer than any run of backticks in the code. */
export function fencedBlock(code: string, language: string): string {
  const fence = "`".repeat(Math.max(3, longestRun(code) + 1));
  return `${fence}${/^[^`\s]+$/.test(language) ? language : ""}\n${code}\n${fence}`;
}

/**
 * A fenced block for dialects where three backticks end any block: runs of three in the code get a zero-width space, the one
 * place where code changes, since the block would otherwise end there.
 */
export function shortFencedBlock(code: string, language: string): string {
  return `\`\`\`${language}\n${code.replace(/``(?=`)/g, "``\u200b")}\n\`\`\``;
}

/** An address that cannot end a link or a token early. */
export function linkTarget(url: string): string {
  return url.replace(/[()\s<>|\\]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}

/** True when a backslash at `at` would escape what follows it, so that it must be escaped itself. */
export function backslashCounts(line: string, at: number, end: number): boolean {
  return at + 1 >= end || /[^0-9A-Za-z\s]/.test(line[at + 1] ?? "");
}

/**
 * Escapes a stretch of a line by character; an address in it goes through `keep` as a whole, since an escape would become part
 * of it. With anything but white space behind it it gets angle brackets, or that would too.
 */
export function escapeOutsideAddresses(
  line: string,
  start: number,
  end: number,
  escape: (at: number) => string,
  keep: (address: string) => string,
): string {
  const address = /(?<![\p{L}\p{N}])https?:\/\/[^\s<>*`~[\]|\\]+/gu;
  let out = "";
  let at = start;
  const escapeUpTo = (to: number): void => {
    for (; at < to; at++) out += escape(at);
  };
  if (line.includes("://")) {
    for (const match of line.slice(start, end).matchAll(address)) {
      escapeUpTo(start + match.index);
      at = start + match.index + match[0].length;
      out += at === end || /\S/.test(line[at] ?? " ") ? `<${keep(match[0])}>` : keep(match[0]);
    }
  }
  escapeUpTo(end);
  return out;
}

function longestRun(code: string): number {
  return (code.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
}
