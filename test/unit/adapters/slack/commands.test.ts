/** Which messages are commands, where Slack has no slash commands. */
import { describe, expect, it } from "vitest";
import { commandIn, slashCommand, usualCommands } from "../../../../adapters/slack/commands.js";

const thread = { marked: true, bare: false };
const mention = { marked: true, bare: true };
const elsewhere = { marked: false, bare: false };

describe("commands in text", () => {
  it.each([
    ["!stop", thread, { name: "stop", args: "" }],
    ["  !Title  A new name ", thread, { name: "title", args: "A new name" }],
    ["stop", mention, { name: "stop", args: "" }],
    ["approve ABCD2345", mention, { name: "approve", args: "ABCD2345" }],
    ["!search two words", mention, { name: "search", args: "two words" }],
    ["/stop", mention, { name: "stop", args: "" }],
  ])("%s is a command", (text, place, expected) => {
    expect(commandIn(text, usualCommands, place)).toEqual(expected);
  });

  it.each([
    ["help me write a letter", mention],
    ["stop", thread],
    ["!stop", elsewhere],
    ["!deploy now", thread],
    ["!", thread],
    ["say !stop", thread],
    ["", mention],
  ])("%s is talk", (text, place) => {
    expect(commandIn(text, usualCommands, place)).toBeUndefined();
  });

  it("only the names the program knows count", () => {
    expect(commandIn("!dance", ["dance"], thread)).toEqual({ name: "dance", args: "" });
    expect(commandIn("!stop", ["dance"], thread)).toBeUndefined();
  });

  it("the word after /mneme is the command; without one it asks for help", () => {
    expect(slashCommand("stop")).toEqual({ name: "stop", args: "" });
    expect(slashCommand(" /Memory  undo 3 ")).toEqual({ name: "memory", args: "undo 3" });
    expect(slashCommand("")).toEqual({ name: "help", args: "" });
    expect(slashCommand("42?")).toEqual({ name: "help", args: "42?" });
  });
});
