/**
 * Slack's two dialects: the `markdown` block (standard Markdown, but `<…>` is read as a token even there) and mrkdwn.
 * mrkdwn has no escape for `*`, `_` and `~`: a zero-width space keeps literal ones from acting as marks.
 */
import { backslashCounts, codeSpan, escapeOutsideAddresses, fencedBlock, linkTarget, shortFencedBlock } from "../../src/text/escape.js";
import type { Dialect, Place } from "../../src/text/dialect.js";

const zeroWidthSpace = "\u200b";

/** A live token in code: whether Slack reads it there is not documented, so it is broken; all other code stays as it is. */
const token = /<(?=@[UW][A-Z0-9]+|!(?:here|channel|everyone|subteam\^))/g;

/** `&`, `<` and `>` as Slack wants them, each once. */
export function escapeAngles(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

export const markdownDialect: Dialect = {
  marks: { bold: "**", italic: "_", strike: "~~" },
  italicInWord: "*",
  strictMarks: true,
  marksInLinks: true,
  quote: "> ",
  quoteCode: true,
  lineEnd: "  ",
  heading: (level) => `${"#".repeat(level)} `,
  // Dashes under a line of text would turn that into a heading.
  rule: "***",
  bullet: "- ",
  looseIndent: 3,
  text: escapeMarkdown,
  code: (code) => codeSpan(inertCode(code)),
  codeBlock: (code, language) => fencedBlock(inertCode(code), language),
  // A label may not hold a link of its own, and an address in it is one.
  link: (label, url) => (label.includes("://") ? `${label} (<${linkTarget(url)}>)` : `[${closedLabel(label)}](${linkTarget(url)})`),
  address: (url) => `<${url.replaceAll("`", "%60")}>`,
};

export const mrkdwnDialect: Dialect = {
  marks: { bold: "*", italic: "_", strike: "~" },
  italicInWord: "_",
  strictMarks: false,
  marksInLinks: false,
  quote: "> ",
  quoteCode: false,
  lineEnd: "",
  heading: () => undefined,
  rule: "──────────",
  bullet: "• ",
  looseIndent: Infinity,
  text: escapeMrkdwn,
  // A code span cannot hold a backtick here.
  code: (code) => (code.includes("`") ? escapeAngles(code) : `\`${escapeAngles(code)}\``),
  codeBlock: (code) => shortFencedBlock(escapeAngles(code), ""),
  link: (label, url) => `<${escapeAngles(linkTarget(url))}|${label}>`,
  address: (url) => `<${escapeAngles(linkTarget(url))}>`,
};

/** A label whose brackets cannot end it; those in its code spans cannot anyway. */
function closedLabel(label: string): string {
  const codeOrBracket = /(?<![`\\])(`+)(?!`)[^]*?(?<!`)\1(?!`)|(?<!\\)[[\]]/g;
  return label.replace(codeOrBracket, (found) => (found.startsWith("`") ? found : `\\${found}`));
}

function inertCode(code: string): string {
  return code.replace(token, `<${zeroWidthSpace}`);
}

function escapeMrkdwn(piece: string, { line, start }: Place): string {
  const inert = piece.replace(/[*_~`](?=\S)/g, (mark, at: number) =>
    /[\p{L}\p{N}]/u.test(line[start + at - 1] ?? "") ? mark : mark + zeroWidthSpace,
  );
  return escapeAngles(inert);
}

function escapeMarkdown(_piece: string, { line, start, end, lineStart }: Place): string {
  const out = escapeOutsideAddresses(
    line,
    start,
    end,
    (at) => escapeCharacter(line, at, at > start && at + 1 < end, end),
    (address) => address.replace(/&(?=#|[a-z]+;)/gi, "&amp;"),
  );
  if (!lineStart) return out;
  return out.replace(/^(#{1,6}(?=\s|$)|[-+](?=\s|$)|\*(?=\s|$)|[-=]+\s*$)/, "\\$1").replace(/^(\d{1,9})([.)])(?=\s|$)/, "$1\\$2");
}

/** `within`: no mark can be put right beside the character. */
function escapeCharacter(line: string, at: number, within: boolean, end: number): string {
  const character = line[at] ?? "";
  const before = line[at - 1] ?? " ";
  const next = line[at + 1] ?? " ";
  switch (character) {
    case "<":
      return "&lt;";
    case ">":
      return "&gt;";
    case "&":
      return /^&(?:#|[a-z])/i.test(line.slice(at, at + 2)) ? "&amp;" : character;
    case "\\":
      return backslashCounts(line, at, end) ? "\\\\" : character;
    case "`":
    case "~":
      return `\\${character}`;
    case "*":
      return within && /\s/.test(before) && /\s/.test(next) ? character : "\\*";
    case "_":
      return within && /[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(next) ? character : "\\_";
    case "]":
      return next === "(" || next === "[" ? "\\]" : character;
    default:
      return character;
  }
}
