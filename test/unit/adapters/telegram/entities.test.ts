import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cut, entityMarkdown } from "../../../../adapters/telegram/entities.js";
import type { TelegramEntity } from "../../../../adapters/telegram/update.js";

const entity = (type: string, offset: number, length: number, extra: Partial<TelegramEntity> = {}): TelegramEntity => ({
  type,
  offset,
  length,
  ...extra,
});

describe("Telegram entities as Markdown", () => {
  it("leaves text without entities as it is, marks and all", () => {
    expect(entityMarkdown({ text: "2*3*4 _x_ <b>", entities: [] })).toBe("2*3*4 _x_ <b>");
  });

  it("counts in UTF-16 units", () => {
    expect(entityMarkdown({ text: "😀 bold", entities: [entity("bold", 3, 4)] })).toBe("😀 **bold**");
  });

  it("nests", () => {
    const entities = [entity("bold", 0, 9), entity("italic", 5, 4), entity("text_link", 5, 4, { url: "https://example.test" })];
    expect(entityMarkdown({ text: "very nice", entities })).toBe("**very [_nice_](https://example.test)**");
  });

  it("moves white space out of marks", () => {
    expect(entityMarkdown({ text: "a b c", entities: [entity("bold", 1, 3)] })).toBe("a **b** c");
    expect(entityMarkdown({ text: "a   c", entities: [entity("bold", 1, 3)] })).toBe("a   c");
  });

  it("chooses fences and ticks longer than any inside", () => {
    expect(entityMarkdown({ text: "a `b`", entities: [entity("code", 0, 5)] })).toBe("`` a `b` ``");
    expect(entityMarkdown({ text: "```\nx", entities: [entity("pre", 0, 5, { language: "md" })] })).toBe("````md\n```\nx\n````");
  });

  it("begins a new line after a block", () => {
    expect(entityMarkdown({ text: "code then", entities: [entity("pre", 0, 4)] })).toBe("```\ncode\n```\n then");
    expect(entityMarkdown({ text: "a\nb\nc", entities: [entity("blockquote", 0, 3)] })).toBe("> a\n> b\nc");
  });

  it("writes a link whose label is its address as the address", () => {
    expect(entityMarkdown({ text: "https://example.test", entities: [entity("text_link", 0, 20, { url: "https://example.test" })] })).toBe(
      "https://example.test",
    );
    expect(entityMarkdown({ text: "x", entities: [entity("text_link", 0, 1, { url: "https://example.test/a_(b)" })] })).toBe(
      "[x](<https://example.test/a_(b)>)",
    );
  });

  it("never throws and never loses a letter, whatever the entities", () => {
    const types = ["bold", "italic", "strikethrough", "code", "pre", "blockquote", "text_link", "mention", "spoiler", "nonsense"];
    const entities = fc.array(
      fc.record({
        type: fc.constantFrom(...types),
        offset: fc.nat(40),
        length: fc.integer({ min: 1, max: 40 }),
        url: fc.constant("https://example.test"),
      }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "b", " ", "\n", "`", "*", "😀"), maxLength: 30 }), entities, (text, list) => {
        const letters = (from: string): string => from.replaceAll("(https://example.test)", "").replace(/[^ab]/g, "");
        expect(letters(entityMarkdown({ text, entities: list }))).toBe(letters(text));
      }),
    );
  });
});

describe("cutting a range out", () => {
  it("takes the spaces along and moves entities", () => {
    expect(cut({ text: "hey @bot do it", entities: [entity("bold", 9, 5)] }, 4, 4)).toEqual({
      text: "hey do it",
      entities: [entity("bold", 4, 5)],
    });
    expect(cut({ text: "@bot: do", entities: [] }, 0, 4).text).toBe("do");
    expect(cut({ text: "do it @bot", entities: [] }, 6, 4).text).toBe("do it ");
  });

  it("keeps entities inside the text", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 30 }),
        fc.nat(30),
        fc.nat(30),
        fc.nat(30),
        fc.nat(30),
        (text, from, length, offset, size) => {
          const start = Math.min(offset, text.length - 1);
          const inside = entity("bold", start, Math.max(1, Math.min(size, text.length - start)));

          const result = cut({ text, entities: [inside] }, Math.min(from, text.length), length);

          for (const each of result.entities) expect(each.offset + each.length).toBeLessThanOrEqual(result.text.length);
        },
      ),
    );
  });
});
