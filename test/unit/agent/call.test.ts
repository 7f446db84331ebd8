import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { cutResult, toolSchemas } from "../../../src/agent/call.js";
import { defineTool } from "../../../src/agent/tool.js";

describe("a tool call", () => {
  it("is described to the model as an object schema whose defaults are not required", () => {
    const tool = defineTool({
      name: "t",
      description: "d",
      input: z.object({ a: z.string().describe("first"), b: z.number().int().default(3) }),
      effect: "read",
      run: () => Promise.resolve(""),
    });

    const [schema] = toolSchemas([tool]);

    expect(schema?.parameters).toMatchObject({
      type: "object",
      required: ["a"],
      properties: { a: { type: "string", description: "first" } },
    });
    expect(schema?.parameters).not.toHaveProperty("$schema");
    expect(JSON.stringify(toolSchemas([tool]))).toBe(JSON.stringify(toolSchemas([tool])));
  });

  it("has a result within its limit that keeps both ends and no half characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 0, maxLength: 3000 }), fc.integer({ min: 400, max: 2500 }), (text, limit) => {
        const cut = cutResult(text, limit);
        expect(cut.length).toBeLessThanOrEqual(limit);
        if (text.length <= limit) expect(cut).toBe(text);
        else {
          const [head = "", tail = ""] = cut.split(/\n\[… .* …\]\n/s);
          expect(head.length).toBeGreaterThan(50);
          expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
        }
        expect(/\p{Surrogate}/u.test(cut)).toBe(/\p{Surrogate}/u.test(text));
      }),
    );
  });
});
