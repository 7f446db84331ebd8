/** Which role may use which tool, as it is written in the settings. */
import { describe, expect, it } from "vitest";
import { mayUse, toolDenial } from "../../../src/gateway/tool-rights.js";

const memory = { name: "memory", isBuiltin: true };
const files = { name: "files_read", isBuiltin: false };

describe("rights to tools", () => {
  it("nothing is allowed that no pattern names", () => {
    expect(mayUse([], memory)).toBe(false);
    expect(mayUse(["session_search"], memory)).toBe(false);
  });

  it("builtin leaves out what comes from MCP servers; * and a name do not", () => {
    expect(mayUse(["builtin"], memory)).toBe(true);
    expect(mayUse(["builtin"], files)).toBe(false);
    expect(mayUse(["builtin", "files_*"], files)).toBe(true);
    expect(mayUse(["*"], files)).toBe(true);
  });

  it("a later pattern counts, also to take away", () => {
    expect(mayUse(["*", "!files_*"], files)).toBe(false);
    expect(mayUse(["*", "!files_*", "files_read"], files)).toBe(true);
  });

  it("the denial names role and tool for the model", () => {
    const roles = { operator: { tools: ["*"] }, user: { tools: ["builtin"] }, guest: { tools: [] } };
    expect(toolDenial(roles, "operator", files)).toBeUndefined();
    expect(toolDenial(roles, "user", files)).toMatch(/user .* files_read/u);
  });
});
