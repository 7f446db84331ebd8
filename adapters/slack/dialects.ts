/**
 * Slack's two dialects: the `markdown` block (standard Markdown, but `<…>` is read as a token even there) and mrkdwn.
 * mrkdwn has no escape for `*`, `_` and `~`: a zero-width space keeps literal ones from acting as marks.
 */
import { backslashCounts, codeSpan, fencedBlock, linkTarget, shortFencedBlock } from "../../src/text/escape.js";
import type { Dialect, Place } from "../../src/text/marked.js";

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
  link: (label, url) => `[${label.includes("`") ? label : label.replace(/(?<!\\)[[\]]/g, "\\$&")}](${linkTarget(url)})`,
  address: (url) => `<${url}>`,
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
  let out = "";
  for (let at = start; at < end; at++) out += escapeCharacter(line, at, end);
  if (!lineStart) return out;
  return out.replace(/^(#{1,6}(?=\s|$)|[-+](?=\s|$)|\*(?=\s|$)|[-=]+\s*$)/, "\\$1").replace(/^(\d{1,9})([.)])(?=\s|$)/, "$1\\$2");
}

function escapeCharacter(line: string, at: number, end: number): string {
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
      return /\s/.test(before) && /\s/.test(next) ? character : "\\*";
    case "_":
      return /[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(next) ? character : "\\_";
    case "]":
      return next === "(" || next === "[" ? "\\]" : character;
    default:
      return character;
  }
}
