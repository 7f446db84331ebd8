import { describe, expect, it } from "vitest";
import { measureRecall } from "../../bench/recall-run.js";
import { runSearchBench, smallRun } from "../../bench/search-run.js";
import { tempHome } from "../../support/temp-home.js";

describe("search on a large store", () => {
  it("finds what a scan finds, in indexes that stay near the size of the text", { timeout: 240_000 }, async () => {
    const figures = await runSearchBench({ dir: tempHome().dir, ...smallRun, queries: 10 });
    expect(figures.scopes.flatMap(({ wrong }) => wrong)).toEqual([]);
    // Every word is rare in a small store, so these are above what a large one needs.
    expect(figures.messageIndexBytes / figures.textBytes).toBeLessThan(1.5);
    expect((figures.messageIndexBytes + figures.stretchIndexBytes) / figures.textBytes).toBeLessThan(2.6);
  });

  it("has the session that a natural question is about among the first three", { timeout: 120_000 }, async () => {
    const [, anyWord, natural] = await measureRecall(tempHome().dir);
    expect(natural?.amongThree).toBeGreaterThan(0.95);
    expect(natural?.amongThree).toBeGreaterThan(anyWord?.amongThree ?? 1);
    expect(natural?.first).toBeGreaterThan(anyWord?.first ?? 1);
  });
});
