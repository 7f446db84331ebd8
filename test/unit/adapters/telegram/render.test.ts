import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maxEntities, maxTextLength, render, type TelegramEntity, type TelegramPayload } from "../../../../adapters/telegram/render.js";
import { parseMarkdown } from "../../../../src/text/markdown.js";
import { plain } from "../../../../src/text/plain.js";
import { ink, markdownDocument } from "../../../support/markdown-arbitrary.js";

const payloads = (markdown: string): TelegramPayload[] => render(markdown).map((part) => part.payload as TelegramPayload);
const one = (markdown: string): TelegramPayload => {
  const [payload, ...more] = payloads(markdown);
  expect(more).toEqual([]);
  return payload as TelegramPayload;
};
const shown = ({ text, entities }: TelegramPayload): string[] =>
  entities.map(({ type, offset, length }) => `${type}: ${text.slice(offset, offset + length)}`);

/** Bot API rules: within the text, on whole characters, no white space at the ends, nested or apart, nothing in code. */
function expectValid({ text, entities }: TelegramPayload): void {
  expect(text.length).toBeLessThanOrEqual(maxTextLength);
  expect(text).toBe(text.trimEnd());
  expect(text).not.toMatch(/\p{Surrogate}/u);
  expect(entities.length).toBeLessThanOrEqual(maxEntities);
  const open: TelegramEntity[] = [];
  for (const entity of entities) {
    const end = entity.offset + entity.length;
    const covered = text.slice(entity.offset, end);
    expect(entity.length).toBeGreaterThan(0);
    expect(end).toBeLessThanOrEqual(text.length);
    expect(covered).not.toMatch(/\p{Surrogate}|\s$/u);
    const code = entities.some(({ type, offset }) => offset === entity.offset && (type === "pre" || type === "code"));
    if (!code) expect(covered).not.toMatch(/^\s/);
    while (open.length > 0 && (open.at(-1)?.offset ?? 0) + (open.at(-1)?.length ?? 0) <= entity.offset) open.pop();
    const parent = open.at(-1);
    if (parent !== undefined) {
      expect(end).toBeLessThanOrEqual(parent.offset + parent.length);
      expect(["pre", "code"]).not.toContain(parent.type);
    }
    open.push(entity);
  }
}

describe("Telegram text", () => {
  it("sends text and entities, nothing to escape", () => {
    expect(one("# Head\n\n**b _i_** ~~s~~ `c*` [l](https://ex.test/) a_b 2*3")).toEqual({
      text: "Head\n\nb i s c* l a_b 2*3",
      entities: [
        { type: "bold", offset: 0, length: 4 },
        { type: "bold", offset: 6, length: 3 },
        { type: "italic", offset: 8, length: 1 },
        { type: "strikethrough", offset: 10, length: 1 },
        { type: "code", offset: 12, length: 2 },
        { type: "text_link", offset: 15, length: 1, url: "https://ex.test/" },
      ],
    });
  });

  it("shows code with its language, tables as code, quotes and lists", () => {
    const payload = one("- a\n  ```ts\n  x\n  ```\n\n> q\n\n|h|\n|-|\n|c|");

    expect(shown(payload)).toEqual(["pre: x", "blockquote: q", "pre: h\n-\nc"]);
    expect(payload.entities[0]?.["language"]).toBe("ts");
  });

  it("keeps bold out of code inside it, and code out of a link", () => {
    expect(shown(one("**a `b` c** [`d`](https://ex.test/)"))).toEqual(["bold: a", "code: b", "bold: c", "text_link: d"]);
  });

  it("FM-04: keeps a 9000-character code block balanced over its parts", () => {
    const parts = payloads(`\`\`\`py\n${"print('0123456789')\n".repeat(450)}\`\`\``);

    expect(parts.length).toBe(3);
    for (const part of parts) {
      expectValid(part);
      expect(part.entities).toEqual([{ type: "pre", offset: 0, length: part.text.length, language: "py" }]);
    }
  });

  it("FM-05: sends 4096 exclamation marks as one part", () => {
    expect(one("!".repeat(4096)).text.length).toBe(4096);
  });

  it("FM-06: bounds the entities and the bytes of a part", () => {
    const quoted = payloads(Array.from({ length: 1250 }, (_, index) => `> **line ${index}** &amp; more`).join("\n\ntext\n\n"));
    const addresses = payloads(Array.from({ length: 90 }, (_, index) => `[a](https://ex.test/${"p".repeat(1500)}${index})`).join(" "));

    for (const part of [...quoted, ...addresses]) {
      expectValid(part);
      expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThanOrEqual(32_000);
    }
    expect(quoted.map((part) => part.text.match(/line/g)?.length ?? 0).reduce((a, b) => a + b)).toBe(1250);
  });

  it("FM-07: cuts between characters, counted in UTF-16 units", () => {
    expect(payloads(`${"a".repeat(4095)}😀`).map((part) => part.text.length)).toEqual([4095, 2]);
  });

  it("FM-08, FM-09: has a plain form without marks or backslashes", () => {
    expect(render("Sure! **Step** 1 - done\\. use **my_var and `x").map((part) => part.plain)).toEqual([
      "Sure! Step 1 - done. use **my_var and `x",
    ]);
    expect(render("[a](https://ex.test/)")[0]?.plain).toBe("a (https://ex.test/)");
  });

  it("FM-13: lets no handle ping, in text, in code or in the plain form", () => {
    const [part] = render("hi @amy_b (@bob) mail a@b.example\n\n`@code`");

    expect((part?.payload as TelegramPayload | undefined)?.text).toBe("hi @\u200bamy_b (@\u200bbob) mail a@b.example\n\n@code");
    expect(part?.plain).toBe("hi @\u200bamy_b (@\u200bbob) mail a@b.example\n\n@\u200bcode");
  });

  it("FM-13: makes no mention of a link to a user id", () => {
    expect(one("[you](tg://user?id=42)")).toEqual({ text: "you (tg://user?id=42)", entities: [] });
  });

  it("FM-15: leaves an address with a handle in it whole", () => {
    expect(one("https://ex.test/@amy/abc or medium.com/@amy/x")).toEqual({
      text: "https://ex.test/@amy/abc or medium.com/@amy/x",
      entities: [
        { type: "text_link", offset: 0, length: 24, url: "https://ex.test/@amy/abc" },
        { type: "text_link", offset: 28, length: 17, url: "https://medium.com/@amy/x" },
      ],
    });
  });

  it("gives nothing for an answer without anything visible", () => {
    expect(["", " \n ", "\u200b\u2060", "```\n```"].flatMap((text) => render(text))).toEqual([]);
  });

  it("keeps every rule of the Bot API and every character, whatever the model writes", () => {
    fc.assert(
      fc.property(markdownDocument, (markdown) => {
        const parts = render(markdown);

        for (const part of parts) {
          expectValid(part.payload as TelegramPayload);
          expect(part.plain.length).toBeLessThanOrEqual(maxTextLength);
          expect(part.plain).not.toMatch(/(?<![\p{L}\p{N}_/])@[A-Za-z]/u);
        }
        expect(ink(parts.map((part) => part.plain).join(""))).toBe(ink(plain(parseMarkdown(markdown))));
      }),
      { numRuns: 60 },
    );
  });

  it("renders every state of a growing answer", () => {
    const answer = "Hi **there**\n\n```py\nx = `1`\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [l](https://ex.test/) 👩‍👩‍👧‍👦";

    for (let length = 1; length <= answer.length; length++) for (const payload of payloads(answer.slice(0, length))) expectValid(payload);
  });

  it("renders a long and tangled answer of 20,000 characters within seconds", () => {
    const before = performance.now();
    render("**a** `b` _c_ [d](https://ex.test/) > ".repeat(530));
    expect(performance.now() - before).toBeLessThan(10_000);
  });
});
