import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutAround, excerptOf, matchPositions } from "../../../src/recall/excerpt.js";

describe("an excerpt", () => {
  it("shows the words that were searched for, also with another ending", () => {
    const text = `${"filler ".repeat(100)}the certificates were renewed${" filler".repeat(100)}`;
    expect(excerptOf(text, "who renewed the certificate?", 80)).toContain("certificates were renewed");
  });

  it("lies where most of the words are", () => {
    const text = `garden ${"x".repeat(500)} garden fence garden gate ${"y".repeat(500)}`;
    expect(cutAround(text, matchPositions(text, "garden fence gate"), 100)).toContain("garden fence garden gate");
  });

  it("is the whole text where that is short", () => {
    expect(excerptOf("short  and\nsweet", "sweet", 100)).toBe("short and sweet");
  });

  it("never is longer than asked for and never cuts a character in half", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.string({ maxLength: 5 }),
        fc.integer({ min: 3, max: 60 }),
        (text, query, length) => {
          const cut = cutAround(text, matchPositions(text, query), length);
          expect(cut.length).toBeLessThanOrEqual(length + 2);
          expect(/\p{Surrogate}/u.test(cut)).toBe(false);
        },
      ),
    );
  });
});
