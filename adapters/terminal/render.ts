/**
 * Markdown to readable text for a terminal, with light marks. Pure. Control characters are shown, not sent: a terminal would
 * obey an escape sequence the model wrote.
 */
import type { RenderedPart } from "../../src/domain/message.js";
import { shortFencedBlock } from "../../src/text/escape.js";
import type { Flow } from "../../src/text/flow.js";
import { layOut } from "../../src/text/layout.js";
import { parseMarkdown } from "../../src/text/markdown.js";
import type { Dialect } from "../../src/text/dialect.js";
import { writeMarked } from "../../src/text/marked.js";
import { plainText } from "../../src/text/plain.js";
import { splitFlow } from "../../src/text/split.js";

/** UTF-16 units of a part; a terminal has no limit, this only bounds one write. */
export const maxPartLength = 60_000;

/** Model Markdown to parts of `{ text }`; text without anything visible gives none. */
export function render(markdown: string): RenderedPart[] {
  const flow = layOut(parseMarkdown(markdown), { linkable: () => true });
  const shown: Flow = { ...flow, text: showControls(flow.text) };
  const measure = (part: Flow): number => Math.max(writeMarked(part, dialect).length, plainOf(part).length);
  return splitFlow(shown, { limit: maxPartLength, measure }).map((part) => ({
    plain: plainOf(part),
    payload: { text: writeMarked(part, dialect) },
  }));
}

/** Control characters (but line break and tab) as visible signs, one for one, so that offsets stay. */
export function showControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the characters meant
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
  });
}

function plainOf(part: Flow): string {
  return showControls(plainText(part)).trimEnd();
}

const dialect: Dialect = {
  marks: { bold: "*", italic: "_", strike: "~" },
  italicInWord: "_",
  strictMarks: false,
  marksInLinks: true,
  quote: "│ ",
  quoteCode: true,
  lineEnd: "",
  heading: (level) => `${"#".repeat(level)} `,
  rule: "──────────",
  bullet: "• ",
  looseIndent: Infinity,
  text: (piece) => piece,
  code: (code) => `\`${code}\``,
  codeBlock: shortFencedBlock,
  link: (label, url) => `${label} (${showControls(url)})`,
  address: (url) => url,
};
