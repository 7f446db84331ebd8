/** Markdown as models write it, well formed or not, for property tests of parsing, splitting and rendering. */
import fc from "fast-check";

const word = fc.constantFrom(
  "alpha",
  "beta_gamma",
  "2*3*4",
  "x",
  "重要说明",
  "“引号”",
  "👩‍👩‍👧‍👦",
  "é́",
  "🇩🇪🇫🇷",
  "a<b",
  "&amp;",
  "&",
  "\\*",
  "C:\\dir\\_x",
  "@amy",
  "@everyone",
  "<@U123>",
  "<!here>",
  "<@&7>",
  "*",
  "**",
  "_",
  "~~",
  "`",
  "[",
  "](",
  "!",
  "#",
  ">",
  "1.",
  "-",
  "|",
  "snake_case_",
  "longword".repeat(30),
  "https://ex.test/@amy/a_b",
  "e.g.",
);
const mark = fc.constantFrom("", "", "", "**", "*", "_", "~~", "***", "`");
const run = fc.tuple(mark, fc.array(word, { minLength: 1, maxLength: 6 })).map(([sign, words]) => sign + words.join(" ") + sign);
const link = fc.tuple(run, fc.constantFrom("https://a.example/x?y=1&z=2", "foo.md")).map(([label, url]) => `[${label}](${url})`);
const line = fc.array(fc.oneof({ weight: 5, arbitrary: run }, link), { minLength: 1, maxLength: 6 }).map((runs) => runs.join(" "));
const code = fc
  .tuple(
    fc.constantFrom("```", "````", "~~~"),
    fc.constantFrom("", "py", "c++", "we ird"),
    fc.array(fc.oneof(line, fc.constant(""), fc.constant("    if x:")), { maxLength: 40 }),
  )
  .map(([fence, language, lines]) => `${fence}${language}\n${lines.join("\n")}\n${fence}`);
const table = fc
  .array(fc.tuple(run, run), { minLength: 1, maxLength: 8 })
  .map((rows) => `| a | b |\n|---|:-:|\n${rows.map(([a, b]) => `| ${a} | ${b} |`).join("\n")}`);
const list = fc
  .array(fc.tuple(fc.constantFrom("- ", "  - ", "    - ", "1. ", "   2. ", "- ```\n  "), line), { minLength: 1, maxLength: 8 })
  .map((items) => items.map(([marker, text]) => marker + text).join("\n"));

const block = fc.oneof(
  { weight: 4, arbitrary: line },
  fc.tuple(fc.constantFrom("# ", "### ", "##### "), line).map(([sign, text]) => sign + text),
  code,
  table,
  list,
  line.map((text) => `> ${text}\n> > more\n> ${text}`),
  fc.constant("---"),
  fc.array(line, { minLength: 2, maxLength: 5 }).map((lines) => lines.join("\n")),
);

/** A document of up to about 10,000 characters. */
export const markdownDocument = fc.array(block, { minLength: 1, maxLength: 25 }).map((blocks) => blocks.join("\n\n"));

/** What a reader sees, without white space and the zero-width breaks put into mentions. */
export function ink(text: string): string {
  return text.replace(/[\s\u200b]/g, "");
}
