import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReasoningSplitter } from "../../../src/model/stream-reasoning.js";

function split(pieces: readonly string[]): { visible: string; reasoning: string } {
  const splitter = new ReasoningSplitter();
  const parts = [...pieces.map((piece) => splitter.push(piece)), splitter.end()];
  return { visible: parts.map((part) => part.visible).join(""), reasoning: parts.map((part) => part.reasoning).join("") };
}

function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (let n = 0; at < text.length; n += 1) {
    const size = sizes[n % sizes.length] ?? 1;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

const word = fc.constantFrom(
  "<",
  "think",
  ">",
  "</",
  "<think>",
  "</think>",
  "<thinking>",
  "</thinking>",
  "Hello",
  " ",
  "\n",
  "a<b",
  "</thin",
  "计划",
  "",
);
const text = fc.array(word, { maxLength: 14 }).map((words) => words.join(""));
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 });

describe("reasoning in tags", () => {
  it("MC-07: is parted the same way wherever the stream is cut", () => {
    fc.assert(
      fc.property(text, sizes, (whole, by) => {
        expect(split(cut(whole, by))).toEqual(split([whole]));
      }),
      { numRuns: 1000 },
    );
  });

  it("MC-07: never reaches the visible text of an answer that begins with it", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), sizes, (thought, answer, by) => {
        fc.pre(!thought.includes("</think>") && !`${thought}</think>`.startsWith("</think>") && !thought.endsWith("<"));
        const parts = split(cut(`<think>${thought}</think>${answer}`, by));
        expect(parts).toEqual({ visible: answer.trimStart(), reasoning: thought });
      }),
    );
  });

  it("loses nothing of text that does not begin with it", () => {
    fc.assert(
      fc.property(text, sizes, (rest, by) => {
        const whole = `Well, ${rest}`;
        expect(split(cut(whole, by))).toEqual({ visible: whole, reasoning: "" });
      }),
    );
  });

  it("is not shown when the block was never closed", () => {
    expect(split(["<thi", "nk>", "and then"])).toEqual({ visible: "", reasoning: "and then" });
  });

  it("is text when it stands later or when the tag is never completed", () => {
    expect(split(["Use <think>x</think>."])).toEqual({ visible: "Use <think>x</think>.", reasoning: "" });
    expect(split(["<thi"])).toEqual({ visible: "<thi", reasoning: "" });
  });
});
