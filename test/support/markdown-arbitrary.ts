/** Markdown as models write it, well formed or not, for property tests of parsing, splitting and rendering. */
import fc from "fast-check";

const plainWords = [
  "alpha",
  "beta_gamma",
  "x",
  "重要说明",
  "“引号”",
  "👩‍👩‍👧‍👦",
  "é́",
  "🇩🇪🇫🇷",
  "a<b",
  "&amp;",
  "&",
  "\\*lit\\*",
  "\\`",
  "\\[n](\\)",
  "C:\\dir\\_x",
  "@amy",
  "@everyone",
  "<@U123>",
  "<!here>",
  "<@&7>",
  "!",
  "#",
  ">",
  "1.",
  "-",
  "+",
  "|",
  "snake_case",
  "longword".repeat(30),
  "e.g.",
];
/** Marks that open or close nothing, or something else than was meant. */
const strayMarks = ["*", "**", "_", "~~", "`", "[", "](", "2*3*4", "snake_case_", "https://ex.test/@amy/a_b"];

/** A document of up to about 10,000 characters, built from these words. */
function documentOf(words: readonly string[]): fc.Arbitrary<string> {
  const word = fc.constantFrom(...words);
  const mark = fc.constantFrom("", "", "", "**", "*", "_", "~~", "***", "`");
  const run = fc.tuple(mark, fc.array(word, { minLength: 1, maxLength: 6 })).map(([sign, parts]) => sign + parts.join(" ") + sign);
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
  return fc.array(block, { minLength: 1, maxLength: 25 }).map((blocks) => blocks.join("\n\n"));
}

/** Anything a model may write, stray marks included. */
export const markdownDocument = documentOf([...plainWords, ...strayMarks]);

/** Without stray marks: what every parser reads alike, so that rendered text can be read back. */
export const tidyDocument = documentOf(plainWords);

/** What a reader sees, without white space and the zero-width breaks put into mentions. */
export function ink(text: string): string {
  return text.replace(/[\s\u200b]/g, "");
}
