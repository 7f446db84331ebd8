/**
 * Markdown to Discord's own Markdown, in parts. Pure. Discord's parser is a set of patterns, not CommonMark: fences always
 * end at three backticks, quotes do not nest, and only http addresses become links.
 */
import type { RenderedPart } from "../../src/domain/message.js";
import { backslashCounts, codeSpan, escapeOutsideAddresses, linkTarget, shortFencedBlock } from "../../src/text/escape.js";
import type { Flow } from "../../src/text/flow.js";
import { layOut } from "../../src/text/layout.js";
import { parseMarkdown } from "../../src/text/markdown.js";
import type { Dialect, Place } from "../../src/text/dialect.js";
import { writeMarked } from "../../src/text/marked.js";
import { plainText } from "../../src/text/plain.js";
import { quietFlow, quietText, type PingRule } from "../../src/text/quiet.js";
import { splitFlow } from "../../src/text/split.js";

/** Characters of `content`; counted here as UTF-16 units, which is never less than what Discord counts. */
export const maxContentLength = 2000;

/** Mentions of users, roles and channels, and the two words that call everybody; `allowedMentions` must forbid them as well. */
const pings: readonly PingRule[] = [
  { sign: /<(?=[@#])/g, keepAddresses: false },
  { sign: /@(?=everyone|here)/gi, keepAddresses: true },
];

/** Model Markdown to parts of `{ content }` of at most 2000 UTF-16 units; text without anything visible gives none. */
export function render(markdown: string): RenderedPart[] {
  const flow = quietFlow(layOut(parseMarkdown(markdown), { linkable }), pings);
  const measure = (part: Flow): number => Math.max(writeMarked(part, dialect).length, plainOf(part).length);
  return splitFlow(flow, { limit: maxContentLength, measure }).map((part) => ({
    plain: plainOf(part),
    payload: { content: writeMarked(part, dialect) },
  }));
}

function linkable(url: string): boolean {
  return url.length <= 512 && /^https?:\/\/[^/]/i.test(url);
}

function plainOf(part: Flow): string {
  return quietText(plainText(part), pings).trimEnd();
}

const dialect: Dialect = {
  marks: { bold: "**", italic: "_", strike: "~~" },
  italicInWord: "*",
  strictMarks: false,
  marksInLinks: true,
  quote: "> ",
  quoteCode: true,
  lineEnd: "",
  heading: (level) => (level <= 3 ? `${"#".repeat(level)} ` : undefined),
  rule: "──────────",
  bullet: "- ",
  // Discord itself takes any indent; what follows code or a cut is shown from the left, as everywhere.
  looseIndent: 3,
  text: escapeText,
  code: codeSpan,
  // Discord takes a word after the fence for a language only when it is made of these.
  codeBlock: (code, language) => shortFencedBlock(code, /^[a-z0-9_+\-.#]+$/i.test(language) ? language : ""),
  // A label that is an address itself, or has stray brackets, would leave the whole link as raw text.
  link: (label, url) =>
    balanced(label) && !/:\/\/|\]\(/.test(label) ? `[${label}](${linkTarget(url)})` : `${label} (<${linkTarget(url)}>)`,
  address: (url, next) => {
    const safe = url.replaceAll("`", "%60");
    return /^\s?$/.test(next) ? safe : `<${safe}>`;
  },
};

/** Text that stays text: a backslash before all that Discord would read as markup. */
function escapeText(_piece: string, { line, start, end, lineStart }: Place): string {
  const out = escapeOutsideAddresses(
    line,
    start,
    end,
    (at) => escapeCharacter(line, at, end),
    (address) => address,
  );
  if (!lineStart) return out;
  return out.replace(/^(#{1,3}(?=\s)|-#|[-+](?=\s)|>)/, "\\$1").replace(/^(\d+)\.(?=\s|$)/, "$1\\.");
}

function escapeCharacter(line: string, at: number, end: number): string {
  const character = line[at] ?? "";
  const next = line[at + 1] ?? " ";
  switch (character) {
    case "\\":
      return backslashCounts(line, at, end) ? "\\\\" : character;
    case "`":
    case "_":
    case "~":
    case "*":
      return `\\${character}`;
    case "|":
      return next === "|" || line[at - 1] === "|" ? "\\|" : character;
    case "<":
      return /\s/.test(next) ? character : "\\<";
    case "[":
      return "\\[";
    default:
      return character;
  }
}

function balanced(label: string): boolean {
  let depth = 0;
  for (const character of label) {
    if (character === "[") depth++;
    else if (character === "]" && --depth < 0) return false;
  }
  return depth === 0;
}
