import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  editForm,
  maxPartLength,
  maxUpdateText,
  plainEditForm,
  plainTextForm,
  render,
  type SlackPayload,
} from "../../../../adapters/slack/render.js";
import { parseMarkdown } from "../../../../src/text/markdown.js";
import { plain } from "../../../../src/text/plain.js";
import { ink, markdownDocument, tidyDocument } from "../../../support/markdown-arbitrary.js";

const payloads = (markdown: string): SlackPayload[] => render(markdown).map((part) => part.payload as SlackPayload);
const blocks = (markdown: string): string[] => payloads(markdown).map((payload) => payload.blocks.map((block) => block.text).join(""));
const texts = (markdown: string): string[] => payloads(markdown).map((payload) => payload.text);

const address = "(https://a.example/x?y=1&z=2)";

describe("Slack text", () => {
  it("FM-11: renders bold beside Chinese letters, a table, and leaves code alone", () => {
    expect(blocks("**重要**说明和**重点：**内容 `**not this**`\n\n|a|b|\n|-|-|\n|1|2|")).toEqual([
      "**重要**说明和**重点**：内容 `**not this**`\n\n```\na | b\n--|--\n1 | 2\n```",
    ]);
  });

  it("writes mrkdwn for notifications, escaped once", () => {
    expect(
      texts("# A & B\n\n**b** _i_ ~~s~~ `x < y` [l & m](https://ex.test/?a=1&b=2) &amp;lt; 2 < 3\n\n- p\n\n```ts\na && b\n```"),
    ).toEqual([
      "*A &amp; B*\n\n*b* _i_ ~s~ `x &lt; y` <https://ex.test/?a=1&amp;b=2|l &amp; m> &amp;lt; 2 &lt; 3\n\n• p\n\n```\na &amp;&amp; b\n```",
    ]);
  });

  it("escapes text of the markdown block once and leaves code and addresses as they are", () => {
    expect(blocks("a <b> & c &amp;lt; `x < y & z` [l](https://ex.test/?a=1&b=2) \\*lit\\* snake_case")).toEqual([
      "a &lt;b&gt; & c &amp;lt; `x < y & z` [l](https://ex.test/?a=1&b=2) \\*lit\\* snake_case",
    ]);
  });

  it("keeps an inner fence by a longer outer one", () => {
    expect(blocks("````md\n```js\nx\n```\n````")).toEqual(["````md\n```js\nx\n```\n````"]);
  });

  it("keeps numbers and depth of a list around a code block", () => {
    expect(blocks("1. a\n   - b\n     ```py\n     x\n     ```\n2. c\n   - d")).toEqual(["1. a\n   - b\n```py\nx\n```\n2. c\n   - d"]);
  });

  it("FM-12: keeps two long blocks of text in messages of their own", () => {
    const parts = payloads(`${"a ".repeat(3500)}\n\n${"b ".repeat(3500)}`);

    expect(parts.map((part) => part.blocks.length)).toEqual([1, 1]);
    for (const part of parts) expect(part.blocks[0]?.text.length).toBeLessThanOrEqual(maxPartLength);
  });

  it("FM-13: writes no token and no word that could ping", () => {
    const [payload] = payloads("<!here> <@U123> <!subteam^S1> @channel `<!here>`");

    expect(payload?.blocks[0]?.text).toBe(
      "&lt;\u200b!here&gt; &lt;\u200b@U123&gt; &lt;\u200b!subteam^S1&gt; @\u200bchannel `<\u200b!here>`",
    );
    expect(payload?.text).toBe("&lt;\u200b!here&gt; &lt;\u200b@U123&gt; &lt;\u200b!subteam^S1&gt; @\u200bchannel `&lt;!here&gt;`");
    expect(plainTextForm("<!here> a & b")).toEqual({ text: "&lt;\u200b!here&gt; a &amp; b" });
  });

  it("FM-15: leaves a handle in an address alone", () => {
    expect(blocks("https://ex.test/@here/abc")).toEqual(["<https://ex.test/@here/abc>"]);
  });

  it("FM-11: edits show the same blocks, with a text within the edit's limit", () => {
    const [payload] = payloads("a & b ".repeat(1200));
    const edit = editForm(payload as SlackPayload);

    expect(edit.blocks).toEqual(payload?.blocks);
    expect(edit.text.length).toBeLessThanOrEqual(maxUpdateText);
    expect(edit.text).toMatch(/(?:&amp;|[ab])…$/);
  });

  it("edits plain text of any part without losing any of it", () => {
    const text = "word & more ".repeat(900);
    const edit = plainEditForm(text);

    expect(edit.text.length).toBeLessThanOrEqual(maxUpdateText);
    expect(edit.blocks.every((block) => block.text.text.length <= 3000)).toBe(true);
    expect(ink(edit.blocks.map((block) => block.text.text).join(""))).toBe(ink(text));
  });

  it("gives nothing for an answer without anything visible", () => {
    expect(["", " \n ", "\u200b\u2060"].flatMap((text) => render(text))).toEqual([]);
  });

  it("keeps its limits and every character, and pings nobody, whatever the model writes", () => {
    fc.assert(
      fc.property(fc.array(markdownDocument, { minLength: 1, maxLength: 3 }), (documents) => {
        const markdown = documents.join("\n\n");
        const parts = render(markdown);

        for (const { text, blocks: shown } of payloads(markdown)) {
          const block = shown[0]?.text ?? "";
          expect(Math.max(text.length, block.length)).toBeLessThanOrEqual(maxPartLength);
          expect(text + block).not.toMatch(/<(?:@[UW]|!here)|\p{Surrogate}/u);
          expect(text.replace(/<https?:[^<>\s|]+(?:\|[^<>]*)?>/g, "")).not.toMatch(/<|&(?!(?:amp|lt|gt);)/);
        }
        expect(ink(parts.map((part) => part.plain).join(""))).toBe(ink(plain(parseMarkdown(markdown))));
      }),
      { numRuns: 40 },
    );
  });

  it("reads back as what was written", () => {
    fc.assert(
      fc.property(tidyDocument, (markdown) => {
        const readBack = ink(
          blocks(markdown)
            .map((block) => plain(parseMarkdown(block)))
            .join(""),
        );
        // A label that had to be cut is a link in both parts.
        expect(readBack.replaceAll(address, "")).toBe(ink(plain(parseMarkdown(markdown))).replaceAll(address, ""));
      }),
      { numRuns: 50 },
    );
  });

  it("renders every state of a growing answer with closed fences", () => {
    const answer = "Hi **there**\n\n```py\nx = `1`\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [l](https://ex.test/) 👩‍👩‍👧‍👦";

    for (let length = 1; length <= answer.length; length++) {
      for (const block of blocks(answer.slice(0, length))) expect((block.match(/^```/gm) ?? []).length % 2).toBe(0);
    }
  });
});
