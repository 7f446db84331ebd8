import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maxContentLength, render } from "../../../../adapters/discord/render.js";
import { parseMarkdown } from "../../../../src/text/markdown.js";
import { plain } from "../../../../src/text/plain.js";
import { ink, markdownDocument, tidyDocument } from "../../../support/markdown-arbitrary.js";

const contents = (markdown: string): string[] => render(markdown).map((part) => (part.payload as { content: string }).content);

/** Outside code and addresses, nothing Discord could read as a mention. */
function expectQuiet(content: string): void {
  for (const block of parseMarkdown(content)) {
    if (block.kind === "code") continue;
    let text = block.text;
    for (const span of block.spans) {
      const whole = span.kind === "code" || (span.kind === "link" && span.auto);
      if (whole) text = text.slice(0, span.start) + "x".repeat(span.end - span.start) + text.slice(span.end);
    }
    expect(text).not.toMatch(/<(?:@[!&]?|#)\d|@(?:everyone|here)/i);
  }
}

const address = "(https://a.example/x?y=1&z=2)";

describe("Discord text", () => {
  it("writes Discord's own Markdown", () => {
    expect(contents("# A\n\n**b _i_** ~~s~~ `c*` [l](https://ex.test/x)\n\n1. x\n   - y\n\n> q\n>\n> r")).toEqual([
      "# A\n\n**b _i_** ~~s~~ `c*` [l](https://ex.test/x)\n\n1. x\n   - y\n\n> q\n> \n> r",
    ]);
  });

  it("makes tables code blocks and deep headings bold", () => {
    expect(contents("#### **Deep er**\n\n|a|b|\n|-|-|\n|1|2|")).toEqual(["**Deep er**\n\n```\na | b\n--|--\n1 | 2\n```"]);
  });

  it("keeps text that looks like markup as text", () => {
    expect(contents("\\*x\\* \\_y\\_ snake_case \\`z\\` \\# a || b 2 < 3\n\\# no\n\\- no\n1\\. no\n\\> no")).toEqual([
      "\\*x\\* \\_y\\_ snake\\_case \\`z\\` # a \\|\\| b 2 < 3\n\\# no\n\\- no\n1\\. no\n\\> no",
    ]);
  });

  it("writes an address bare where that is safe and in angle brackets where it is not", () => {
    expect(contents("https://ex.test/a_b and **https://ex.test/**")).toEqual(["https://ex.test/a_b and **<https://ex.test/>**"]);
  });

  it("FM-01: splits 2001 characters in two messages and loses nothing", () => {
    expect(contents("x".repeat(2001)).map((content) => content.length)).toEqual([2000, 1]);
  });

  it("FM-02: closes and reopens a code block that is longer than a message, also from line 1", () => {
    const code = Array.from({ length: 300 }, (_, index) => `line_${index} = ${index}`);
    const parts = contents(`\`\`\`py\n${code.join("\n")}\n\`\`\``);

    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect(part).toMatch(/^```py\n[^`]+\n```$/);
    expect(parts.map((part) => part.slice(6, -4)).join("\n")).toBe(code.join("\n"));
  });

  it("FM-05: measures the escaped text", () => {
    const parts = contents("\\*".repeat(1900));

    expect(parts.map((part) => part.length)).toEqual([2000, 1800]);
  });

  it("keeps a fence inside a code block from ending it", () => {
    expect(contents("````md\n```js\nx\n```\n````")).toEqual(["```md\n``\u200b`js\nx\n``\u200b`\n```"]);
  });

  it("FM-13: writes no mention that could ping", () => {
    expect(contents("@everyone hi <@&123> <@!9> <#5> @here `<@1>`")).toEqual([
      "@\u200beveryone hi \\<\u200b@&123> \\<\u200b@!9> \\<\u200b#5> @\u200bhere `<@1>`",
    ]);
    expect(render("@everyone <@1>")[0]?.plain).toBe("@\u200beveryone <\u200b@1>");
  });

  it("FM-15: leaves a handle in an address alone", () => {
    expect(contents("https://ex.test/@here/abc")).toEqual(["https://ex.test/@here/abc"]);
  });

  it("gives nothing for an answer without anything visible", () => {
    expect(["", " \n ", "\u200b\u2060"].flatMap((text) => render(text))).toEqual([]);
  });

  it("keeps its limit and every character, whatever the model writes", () => {
    fc.assert(
      fc.property(markdownDocument, (markdown) => {
        const parts = render(markdown);

        for (const part of parts) expect(part.plain.length).toBeLessThanOrEqual(maxContentLength);
        for (const content of contents(markdown)) {
          expect(content.length).toBeLessThanOrEqual(maxContentLength);
          expect(content).not.toMatch(/\p{Surrogate}/u);
        }
        expect(ink(parts.map((part) => part.plain).join(""))).toBe(ink(plain(parseMarkdown(markdown))));
      }),
      { numRuns: 50 },
    );
  });

  it("pings nobody, and reads back as what was written", () => {
    fc.assert(
      fc.property(tidyDocument, (markdown) => {
        const written = contents(markdown);

        written.forEach(expectQuiet);
        const readBack = ink(written.map((content) => plain(parseMarkdown(content))).join(""));
        // A label that had to be cut is a link in both parts.
        expect(readBack.replaceAll(address, "")).toBe(ink(plain(parseMarkdown(markdown))).replaceAll(address, ""));
      }),
      { numRuns: 50 },
    );
  });

  it("renders every state of a growing answer with closed fences", () => {
    const answer = "Hi **there**\n\n```py\nx = `1`\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [l](https://ex.test/) 👩‍👩‍👧‍👦";

    for (let length = 1; length <= answer.length; length++) {
      for (const content of contents(answer.slice(0, length))) expect((content.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
  });

  it("renders a long and tangled answer of 20,000 characters within seconds", () => {
    const before = performance.now();
    render("**a** `b` _c_ [d](https://ex.test/) > ".repeat(530));
    expect(performance.now() - before).toBeLessThan(10_000);
  });
});
