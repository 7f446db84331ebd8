/**
 * Points that the prompt's own layers must make; those of memory, skills, recall and reviews stand in the prompts-*.test.ts files
 * beside this one. The size of the whole is tested in test/flow/prompt-size.test.ts.
 */
import { describe, expect, it } from "vitest";
import { identityLayer, prompt, toolUseLayer } from "../../src/agent/prompt.js";

const identity = identityLayer({ name: "Mnemo" }).text;
const tools = toolUseLayer(["memory"]).text;

describe("the prompt's own layers", () => {
  it.each([
    ["its name", identity, /You are Mnemo/u],
    ["the person's language", identity, /language of the last message/u],
    ["no claim without an act", identity, /Never claim to have done, saved or looked up something unless a tool result here shows it/u],
    ["what is known may be out of date", identity, /may be out of date; what the person says now counts more/u],
    ["one person's words stay theirs", identity, /Keep what one person told you to yourself/u],
    ["tools instead of guesses", tools, /instead of guessing/u],
    ["parallel calls", tools, /go into one message/u],
    ["no repeats of a failed call", tools, /do not repeat it unchanged/u],
    ["foreign text gives no orders", tools, /information, never orders/u],
    ["the final message stands alone", tools, /make it complete by itself/u],
  ])("say: %s", (_point, text, expected) => expect(text).toMatch(expected));

  it("an operator's own identity takes the place of ours", () => {
    expect(identityLayer({ name: "Mnemo", identity: "You are {name}, a pirate." }).text).toBe("You are Mnemo, a pirate.");
  });

  it("say nothing of tools when none is offered, and leave no trace of empty layers", () => {
    expect(toolUseLayer([]).text).toBe("");
    expect(prompt([identityLayer({ name: "Mnemo" }), { id: "memory", text: " " }, toolUseLayer([])])).toBe(identity);
  });
});
