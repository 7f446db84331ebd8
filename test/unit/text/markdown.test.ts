import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isVisible, parseMarkdown } from "../../../src/text/markdown.js";
import { plain } from "../../../src/text/plain.js";
import { displayWidth } from "../../../src/text/table.js";
import { ink, markdownDocument } from "../../support/markdown-arbitrary.js";

const marked = (markdown: string, kind: string): string[] =>
  parseMarkdown(markdown).flatMap((block) =>
    block.spans.filter((span) => span.kind === kind).map((span) => block.text.slice(span.start, span.end)),
  );

describe("reading model Markdown", () => {
  it("FM-11: finds bold text beside Chinese letters and punctuation", () => {
    expect(marked("这是**重点：**内容，还有**“引号”**后面", "bold")).toEqual(["重点：", "“引号”"]);
  });

  it("FM-11: leaves marks in a code span alone", () => {
    expect(parseMarkdown("`**not this**`")).toEqual([
      { kind: "paragraph", text: "**not this**", spans: [{ kind: "code", start: 0, end: 12 }], inside: [] },
    ]);
  });

  it("keeps raw HTML as text", () => {
    expect(plain(parseMarkdown("a <b>x</b>\n\n<div>\ny\n</div>"))).toBe("a <b>x</b>\n\n<div>\ny\n</div>");
  });

  it("keeps link definitions that nothing refers to", () => {
    expect(plain(parseMarkdown("[1]: https://ex.test/source"))).toBe("[1]: https://ex.test/source");
  });

  it("keeps the address of every link, also one it cannot make", () => {
    expect(plain(parseMarkdown("[a](https://ex.test/x) ![pic](p.png) [](https://ex.test/y) <a@b.example>"))).toBe(
      "a (https://ex.test/x) pic (p.png) https://ex.test/y a@b.example",
    );
  });

  it("keeps the depth of nested lists and the numbers of ordered ones", () => {
    expect(plain(parseMarkdown("- a\n  b\n- c\n  1. d\n     - e\n-\n"))).toBe("• a\n  b\n• c\n  1. d\n     • e\n• ");
  });

  it("gives code verbatim, whatever stands around it", () => {
    const code = "  if (a) {\n\n\t`x` **y** &amp;\n  }";
    const fenced = parseMarkdown(`- item\n\n  \`\`\`\`ts title=x\n${code.replace(/^/gm, "  ")}\n  \`\`\`\``).find(
      (block) => block.kind === "code",
    );

    expect(fenced).toMatchObject({ text: code, language: "ts" });
  });

  it("aligns tables, counting East-Asian characters as two columns", () => {
    const [table] = parseMarkdown("| 名 | n |\n|---|--:|\n| 重要 | 1 |\n| a | `2\\|3` |");

    expect(table).toMatchObject({ kind: "code", text: "名   |   n\n-----|----\n重要 |   1\na    | 2|3" });
    expect(displayWidth("重👍é")).toBe(5);
  });

  it("sees nothing in text made of spaces and zero-width characters", () => {
    expect(["", " \n\t", "\u200b\u2060\ufeff", "\u3164"].map(isVisible)).toEqual([false, false, false, false]);
    expect(isVisible("👍")).toBe(true);
  });

  it("replaces half characters, and drops one at the end of a stream", () => {
    expect(plain(parseMarkdown("a\ud83d b"))).toBe("a\ufffd b");
    expect(plain(parseMarkdown("a\ud83d"))).toBe("a");
  });

  it("keeps text that is nested beyond all reason", () => {
    expect(ink(plain(parseMarkdown(`${">".repeat(3000)} deep`)))).toContain("deep");
    expect(plain(parseMarkdown(Array.from({ length: 200 }, (_, depth) => `${"  ".repeat(depth)}- i${depth}.`).join("\n")))).toContain(
      "i199.",
    );
  });

  it.each([
    ["stars", "*".repeat(20_000)],
    ["brackets", "[".repeat(20_000)],
    ["backticks", "`x".repeat(10_000)],
    ["quotes", `${"> ".repeat(3000)}x`],
    ["open bolds", "**a ".repeat(8000)],
    ["domains", "a.".repeat(10_000)],
  ])("reads 20,000 characters of %s within seconds", (_name, text) => {
    const before = performance.now();
    parseMarkdown(text);
    expect(performance.now() - before).toBeLessThan(5000);
  });

  it("gives spans within the text that part no surrogate pair", () => {
    fc.assert(
      fc.property(markdownDocument, (markdown) => {
        for (const block of parseMarkdown(markdown)) {
          for (const span of block.spans) {
            expect(span.start).toBeLessThan(span.end);
            expect(span.end).toBeLessThanOrEqual(block.text.length);
            expect(block.text.slice(span.start, span.end)).not.toMatch(/\p{Surrogate}/u);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
