import { describe, expect, it } from "vitest";
import { parseEnvFile, variables } from "../../../config/env.js";
import { configSchema } from "../../../config/schema.js";
import { findPath } from "../../../config/schema-tree.js";

describe("a .env file", () => {
  it.each([
    ["A=1", { A: "1" }],
    ["export A = 1 ", { A: "1" }],
    ["A=a b # comment", { A: "a b" }],
    ["A=a#b", { A: "a#b" }],
    ['A="a # b" # c', { A: "a # b" }],
    ["A='$x \\n'", { A: "$x \\n" }],
    ['A="x\\ny \\"z\\""', { A: 'x\ny "z"' }],
    ['A="two\nlines"\nB=2', { A: "two\nlines", B: "2" }],
    ["# A=1\nB=2\r\n\r\nC=", { B: "2", C: "" }],
    ["A= # nothing", { A: "" }],
    ["\uFEFFA=1\nnonsense\nB=x=y", { A: "1", B: "x=y" }],
  ])("%j is read as a shell would", (text, expected) => {
    expect(parseEnvFile(text)).toEqual(expected);
  });
});

describe("the named variables", () => {
  it("all fill a setting that exists", () => {
    for (const path of Object.values(variables)) expect(findPath(configSchema, path.split(".")), path).toEqual(path.split("."));
  });
});
