import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { render } from "../../../../adapters/terminal/render.js";
import { parseMarkdown } from "../../../../src/text/markdown.js";
import { plain } from "../../../../src/text/plain.js";
import { ink, markdownDocument } from "../../../support/markdown-arbitrary.js";

const texts = (markdown: string): string[] => render(markdown).map((part) => (part.payload as { text: string }).text);

describe("terminal text", () => {
  it("is readable text with light marks", () => {
    expect(texts("# A\n\n**b** _i_ `c` [l](https://ex.test/)\n\n- x\n  - y\n\n> q\n\n```ts\nz\n```")).toEqual([
      "# A\n\n*b* _i_ `c` l (https://ex.test/)\n\n• x\n  • y\n\n│ q\n\n```ts\nz\n```",
    ]);
  });

  it("shows an escape sequence instead of obeying it", () => {
    const [part] = render("a \u001b[31mred\u0007 `\u001b[2J`");

    expect((part?.payload as { text: string } | undefined)?.text).toBe("a ␛[31mred␇ `␛[2J`");
    expect(part?.plain).toBe("a ␛[31mred␇ ␛[2J");
  });

  it("gives nothing for an answer without anything visible", () => {
    expect(["", " \n ", "\u200b\u2060"].flatMap((text) => texts(text))).toEqual([]);
  });

  it("loses nothing, whatever the model writes", () => {
    fc.assert(
      fc.property(markdownDocument, (markdown) => {
        expect(
          ink(
            render(markdown)
              .map((part) => part.plain)
              .join(""),
          ),
        ).toBe(ink(plain(parseMarkdown(markdown))));
      }),
      { numRuns: 40 },
    );
  });
});
