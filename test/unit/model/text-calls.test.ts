import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTextCalls, TextCallHold } from "../../../src/model/text-calls.js";

const offered = new Set(["weather"]);

describe("a tool call written as text", () => {
  it("MC-14: is read from a JSON object, an array and tags", () => {
    const call = { name: "weather", arguments: '{"city":"Oslo"}' };
    expect(readTextCalls('{"name":"weather","parameters":{"city":"Oslo"}}', offered)).toEqual([call]);
    expect(readTextCalls(' [{"name":"weather","arguments":{"city":"Oslo"}}] ', offered)).toEqual([call]);
    expect(readTextCalls('<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}', offered)).toEqual([call]);
    expect(
      readTextCalls(
        '<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>\n<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>',
        offered,
      ),
    ).toEqual([call, call]);
  });

  it("MC-14: is not seen in other JSON, prose around it or a code block", () => {
    for (const text of [
      "{}",
      "[]",
      '{"name":"weather"}',
      '{"name":"a b","arguments":{}}',
      '{"name":"other","arguments":{},"price":3}',
      '```json\n{"name":"weather","arguments":{}}\n```',
      "{not json}",
      "<tool_call>not json</tool_call>",
    ]) {
      expect(readTextCalls(text, offered), text).toBeUndefined();
    }
  });

  it("never loses text that is no call, wherever the stream is cut", () => {
    const word = fc.constantFrom("{", "}", '"name"', ":", "<tool_call>", "<tool", "</tool_call>", "Hi", " ", "\n", "[");
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (pieces) => {
        const hold = new TextCallHold(offered);
        const shown = pieces.map((piece) => hold.push(piece)).join("");
        const end = hold.end();
        expect(end.calls).toEqual([]);
        expect(shown + end.text).toBe(pieces.join(""));
      }),
      { numRuns: 500 },
    );
  });

  it("lets a long JSON answer through instead of holding it for ever", () => {
    const hold = new TextCallHold(offered);

    expect(hold.push(`{"data":"${"x".repeat(70_000)}`).length).toBeGreaterThan(70_000);
  });
});
