import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layOut } from "../../../src/text/layout.js";
import { parseMarkdown } from "../../../src/text/markdown.js";
import { quietFlow, quietText, type PingRule } from "../../../src/text/quiet.js";
import { markdownDocument } from "../../support/markdown-arbitrary.js";

const rules: readonly PingRule[] = [
  { sign: /(?<!\w)@(?=\w)/g, keepAddresses: true },
  { sign: /<(?=!)/g, keepAddresses: false },
];

describe("breaking mentions", () => {
  it("FM-13: breaks a mention with a zero-width space behind its sign", () => {
    expect(quietText("hi @amy <!here>, a@b", rules)).toBe("hi @\u200bamy <\u200b!here>, a@b");
  });

  it("FM-15: leaves addresses whole, but not what stands behind them", () => {
    expect(quietText("https://ex.test/@amy/abc (https://ex.test/x)@bob https://ex.test,@eve", rules)).toBe(
      "https://ex.test/@amy/abc (https://ex.test/x)@\u200bbob https://ex.test,@\u200beve",
    );
  });

  it("leaves code alone and breaks every mention outside it", () => {
    fc.assert(
      fc.property(markdownDocument, (markdown) => {
        const flow = layOut(parseMarkdown(markdown), { linkable: () => true });
        const quiet = quietFlow(flow, rules);
        const code = (of: typeof flow): string[] =>
          of.spans.filter(({ kind }) => kind === "code" || kind === "code-block").map(({ start, end }) => of.text.slice(start, end));
        let text = quiet.text;
        for (const { kind, start, end, auto } of quiet.spans) {
          if (kind === "code" || kind === "code-block" || auto) text = text.slice(0, start) + "x".repeat(end - start) + text.slice(end);
        }

        expect(code(quiet)).toEqual(code(flow));
        expect(text.replace(/https?:\/\/[^\s()]+/g, "")).not.toMatch(/(?<!\w)@\w|<!/);
      }),
      { numRuns: 50 },
    );
  });
});
