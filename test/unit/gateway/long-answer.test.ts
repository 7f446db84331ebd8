import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { render as discord } from "../../../adapters/discord/render.js";
import { render as telegram } from "../../../adapters/telegram/render.js";
import { shorten } from "../../../src/gateway/long-answer.js";

const limits = { render: telegram, maxParts: 3, partLength: 4_096 };

describe("an answer of too many parts", () => {
  it("goes as it is when it fits", () => {
    const { parts, rest } = shorten("Short.", limits);
    expect(parts.map((part) => part.plain)).toEqual(["Short."]);
    expect(rest).toBeUndefined();
  });

  it("is cut between blocks, and nothing is lost", () => {
    const blocks = Array.from({ length: 60 }, (_, index) => `Block ${index}. ${"words ".repeat(80).trim()}`);
    const { parts, rest } = shorten(blocks.join("\n\n"), limits);
    expect(parts.length).toBeLessThanOrEqual(3);
    expect(rest?.startsWith("Block ")).toBe(true);
    expect([...parts.map((part) => part.plain), rest].join("\n\n").match(/Block \d+/g)).toEqual(blocks.map((_, index) => `Block ${index}`));
  });

  it("closes a code fence that is cut and opens it again with its language", () => {
    const code = Array.from({ length: 900 }, (_, index) => `const value${index} = ${index};`).join("\n");
    const { parts, rest } = shorten(`Here:\n\n\`\`\`ts\n${code}\n\`\`\`\nDone.`, limits);
    expect(parts.length).toBeLessThanOrEqual(3);
    expect(rest).toMatch(/^```ts\nconst value\d+ = /);
    expect(rest?.trimEnd().endsWith("```\nDone.")).toBe(true);
    const lines = [...parts.map((part) => part.plain), rest ?? ""].flatMap((text) =>
      [...text.matchAll(/const value(\d+)/g)].map((found) => Number(found[1])),
    );
    expect(lines).toEqual(Array.from({ length: 900 }, (_, index) => index));
  });

  it("cuts one endless line between words", () => {
    const { parts, rest } = shorten("word ".repeat(20_000), limits);
    expect(parts.length).toBeLessThanOrEqual(3);
    expect(parts.every((part) => part.plain.endsWith("word"))).toBe(true);
    expect(rest?.startsWith("word ")).toBe(true);
  });

  it("keeps within the limit whatever the text is, and cuts no character", () => {
    const piece = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 300 }),
      fc.constantFrom("\n\n", "\n```\n", "**", "- a\n", "👨‍👩‍👧".repeat(60)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const { parts, rest } = shorten(pieces.join(""), { render: discord, maxParts: 2, partLength: 2_000 });
        expect(parts.length).toBeLessThanOrEqual(2);
        expect(rest ?? "").not.toMatch(/^[\uDC00-\uDFFF]/);
      }),
      { numRuns: 60 },
    );
  });
});
