import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Flow } from "../../../src/text/flow.js";
import { layOut } from "../../../src/text/layout.js";
import { parseMarkdown } from "../../../src/text/markdown.js";
import { plainText } from "../../../src/text/plain.js";
import { splitFlow } from "../../../src/text/split.js";
import { ink, markdownDocument } from "../../support/markdown-arbitrary.js";

const flowOf = (markdown: string): Flow => layOut(parseMarkdown(markdown), { linkable: () => true });
const measure = (part: Flow): number => part.text.length;
const cut = (markdown: string, limit: number): string[] => splitFlow(flowOf(markdown), { limit, measure }).map((part) => part.text);

describe("splitting", () => {
  it("leaves text within the limit whole", () => {
    expect(cut("a\n\nb", 4)).toEqual(["a\n\nb"]);
  });

  it("FM-01: loses nothing of a text one character too long", () => {
    expect(cut("x".repeat(2001), 2000).map((part) => part.length)).toEqual([2000, 1]);
  });

  it("prefers the end of a block, then of a line, a sentence, a word", () => {
    expect(cut("one two.\nthree\n\nfour five", 20)).toEqual(["one two.\nthree", "four five"]);
    expect(cut("one two. three\nfour five six", 20)).toEqual(["one two. three", "four five six"]);
    expect(cut("one two three. four five", 20)).toEqual(["one two three.", "four five"]);
    expect(cut("one two three four five", 20)).toEqual(["one two three four", "five"]);
  });

  it("does not leave a heading behind at the end of a part", () => {
    expect(cut("first block\n\n# Head\n\nsecond", 21)).toEqual(["first block", "Head\n\nsecond"]);
  });

  it("FM-07: never cuts an emoji, a flag or a family", () => {
    expect(cut(`${"a".repeat(19)}😀`, 20)).toEqual(["a".repeat(19), "😀"]);
    expect(cut("👩‍👩‍👧‍👦".repeat(3), 24)).toEqual(["👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"]);
    expect(cut("🇩🇪".repeat(3), 10)).toEqual(["🇩🇪🇩🇪", "🇩🇪"]);
  });

  it("cuts a grapheme that alone is over the limit between its characters", () => {
    const parts = cut(`e${"\u0301".repeat(50)}`, 20);

    expect(parts.every((part) => part.length <= 20)).toBe(true);
    expect(parts.join("")).toBe(`e${"\u0301".repeat(50)}`);
  });

  it("cuts Chinese text between words", () => {
    expect(cut("今天天气很好我们去公园散步", 9).join("")).toBe("今天天气很好我们去公园散步");
  });

  it("moves an address that does not fit into the next part", () => {
    expect(cut("see https://ex.test/abcdef", 24)).toEqual(["see", "https://ex.test/abcdef"]);
  });

  it("FM-02: continues a cut code block between lines under the same language", () => {
    const parts = splitFlow(flowOf("```py\na = 1\n\nb = 2\nc = 3\n```"), { limit: 12, measure });

    expect(parts.map((part) => part.text)).toEqual(["a = 1\n\nb = 2".slice(0, 12), "c = 3"]);
    expect(parts.every((part) => part.spans.some((span) => span.kind === "code-block" && span.language === "py"))).toBe(true);
  });

  it("FM-05: measures the rendered form, not the source", () => {
    const doubled = (part: Flow): number => part.text.length * 2;
    const parts = splitFlow(flowOf("!".repeat(4096)), { limit: 4096, measure: doubled });

    expect(parts.map((part) => part.text.length)).toEqual([2048, 2048]);
  });

  it("goes on without markup when the markup alone is over the limit", () => {
    const parts = splitFlow(flowOf("**bold text**"), { limit: 8, measure: (part) => part.text.length + part.spans.length * 20 });

    expect(parts.map((part) => part.text)).toEqual(["bold", "text"]);
  });

  it("gives nothing for text without anything visible", () => {
    expect(["", "  \n", "\u200b", "```\n\n\n```"].map((text) => cut(text, 10))).toEqual([[], [], [], []]);
  });

  it("keeps every limit and every character", () => {
    fc.assert(
      fc.property(markdownDocument, fc.integer({ min: 30, max: 700 }), (markdown, limit) => {
        const flow = flowOf(markdown);
        const parts = splitFlow(flow, { limit, measure });

        for (const part of parts) {
          expect(part.text.length).toBeLessThanOrEqual(limit);
          expect(/\p{Surrogate}/u.test(part.text)).toBe(false);
          for (const span of part.spans) {
            expect(span.start).toBeGreaterThanOrEqual(0);
            expect(span.end).toBeLessThanOrEqual(part.text.length);
          }
        }
        expect(ink(parts.map((part) => part.text).join(""))).toBe(ink(flow.text));
        expect(ink(plainText(flow)).length).toBeGreaterThanOrEqual(ink(flow.text).length);
      }),
      { numRuns: 80 },
    );
  });
});
