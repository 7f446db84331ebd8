import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseQuery } from "../../../src/recall/query.js";

const exact = (typed: string): string => parseQuery(typed).exact.replaceAll(/" +/gu, '"').replaceAll(/ +"/gu, ' "');

describe("what is typed into a search", () => {
  it("needs all plain words in one message", () => {
    expect(parseQuery("nginx certificate")).toMatchObject({ mode: "keywords" });
    expect(exact("nginx certificate")).toContain('AND "certificate');
  });

  it("knows OR, AND, NOT, phrases in quotes and prefixes", () => {
    expect(parseQuery('"blue moon" OR tide* NOT river').mode).toBe("strict");
    expect(parseQuery('"blue moon" OR tide* NOT river').exact).toMatch(
      /^\(".*blue {1,2}moon"\) OR \(\(".*tide" \*\) NOT \(".*river"\)\)$/u,
    );
    expect(parseQuery("tide AND river").exact).toMatch(/tide" AND ".*river"/u);
    expect(parseQuery("“blue moon” x").terms).toHaveLength(2);
  });

  it("searches operators that do not parse as words", () => {
    expect(parseQuery("AND").terms).toHaveLength(1);
    expect(parseQuery("OR OR").exact).toMatch(/OR" AND ".*OR"/u);
    expect(parseQuery("NOT tide").exact).not.toContain(" NOT (");
    expect(parseQuery("tide OR").terms).toHaveLength(2);
  });

  it("takes a question for what it is about", () => {
    expect(parseQuery("When did Caroline adopt the puppy?")).toMatchObject({
      mode: "natural",
      broad: ['"caroline"', '"adopt"', '"puppy"'],
    });
    expect(parseQuery("我们上次讨论的迁移方案是什么").mode).toBe("natural");
  });

  it("keeps a question made of stop words as words", () => {
    expect(parseQuery("why?")).toMatchObject({ mode: "keywords", broad: [] });
    expect(parseQuery("why?").terms).toHaveLength(1);
  });

  it("takes names and paths for no question", () => {
    expect(parseQuery("a:b").mode).toBe("keywords");
  });

  it("is empty where nothing can be searched", () => {
    for (const typed of ["", "   ", "?!", "🎉", '""', "()"]) expect(parseQuery(typed)).toMatchObject({ exact: "", broad: [] });
  });

  it("never throws and leaves nothing unquoted but our own operators, whatever is typed", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("OR", "AND", "NOT", "NEAR(", '"', "*", "^", ":", "-x", "body:", "(", ")", "'"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const { exact: expression } = parseQuery(pieces.join(" "));
        expect(expression.replaceAll(/"[^"]*"/gu, "").replaceAll(/ AND | OR | NOT | \*|[()]/gu, "")).toBe("");
      }),
      { numRuns: 500 },
    );
  });
});
