import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { identityLayer, layerOrder, prompt, toolUseLayer, type Layer } from "../../../src/agent/prompt.js";

const layer = fc.record({ id: fc.constantFrom(...layerOrder), text: fc.string() });

describe("the system prompt", () => {
  it("has its layers in one fixed order, whatever order they are given in", () => {
    fc.assert(
      fc.property(fc.uniqueArray(layer, { selector: (one) => one.id }), (layers) => {
        const sorted = prompt(layers);
        expect(prompt([...layers].toReversed())).toBe(sorted);
        expect(prompt(layers.map((one) => ({ ...one })))).toBe(sorted);
      }),
    );
  });

  it("shows no trace of an empty layer", () => {
    const layers: Layer[] = [
      { id: "environment", text: "Date: today" },
      { id: "memory", text: " \n" },
      { id: "identity", text: "I am." },
    ];

    expect(prompt(layers)).toBe("I am.\n\nDate: today");
  });

  it("carries the agent's name, in the default identity and in the operator's own", () => {
    expect(identityLayer({ name: "Nema" }).text).toContain("You are Nema,");
    expect(identityLayer({ name: "Nema", identity: "{name} is terse." }).text).toBe("Nema is terse.");
    expect(identityLayer({ name: "Nema", identity: "  " }).text).toContain("You are Nema,");
  });

  it("says how to use tools only where there are tools, and stays short", () => {
    expect(toolUseLayer([]).text).toBe("");
    expect(toolUseLayer(["a"]).text).toContain("never orders");
    expect(prompt([identityLayer({ name: "Nema" }), toolUseLayer(["a"])]).length).toBeLessThan(2500);
  });
});
