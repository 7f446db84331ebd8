import { statSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEnvFile } from "../../../config/env.js";
import { parseSettings } from "../../../config/load.js";
import { withSettings, withVariables, writePrivate } from "../../../src/cli/init-files.js";
import { tempHome } from "../../support/temp-home.js";

describe("what the set-up writes into .env", () => {
  it("replaces a variable where it stands and leaves every other line alone", () => {
    const before = "# keys\nOPENAI_API_KEY=old\n# MNEME_MODEL=commented\nOTHER=1\n";

    expect(withVariables(before, { OPENAI_API_KEY: "new", MNEME_MODEL: "m" })).toBe(
      "# keys\nOPENAI_API_KEY=new\n# MNEME_MODEL=commented\nOTHER=1\nMNEME_MODEL=m\n",
    );
  });

  it("is read back as it was typed, whatever it holds", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (typed) => {
        const value = typed.replaceAll(/[\r\n]/g, " ").trim();
        expect(parseEnvFile(withVariables("A=1\n", { TOKEN: value }))).toEqual({ A: "1", TOKEN: value });
      }),
    );
  });

  it("is readable by its owner alone, also when the old file was not", () => {
    const file = tempHome().path(".env");
    writePrivate(file, "A=1\n");
    writePrivate(file, "A=2\n");

    expect(readFileSync(file, "utf8")).toBe("A=2\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

describe("what the set-up writes into the settings file", () => {
  it("keeps comments and other keys", () => {
    const before = "# mine\nagent:\n  name: Ada # short\nmodel:\n  # the server\n";

    const after = withSettings(before, { "model.id": "m", "model.baseUrl": "http://127.0.0.1:1/v1" }, "mneme.yaml");

    expect(after).toContain("# mine");
    expect(after).toContain("name: Ada # short");
    expect(parseSettings(after, "mneme.yaml")).toEqual({ agent: { name: "Ada" }, model: { id: "m", baseUrl: "http://127.0.0.1:1/v1" } });
  });

  it("makes a new file of nothing", () => {
    expect(withSettings("", { "model.id": "m" }, "mneme.yaml")).toBe("model:\n  id: m\n");
  });

  it.each(["- a list\n", "a: [broken\n"])("refuses to add to %j", (text) => {
    expect(() => withSettings(text, { "model.id": "m" }, "mneme.yaml")).toThrow("mneme.yaml is no settings file");
  });
});
