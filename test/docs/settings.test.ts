/** The generated sample and JSON schema are current, and every sample value is one the program takes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseEnvFile, variables, configFileVariable } from "../../config/env.js";
import { parseSettings } from "../../config/load.js";
import { exampleSettings, settingsPage, settingsSchema } from "../../scripts/settings-reference.js";
import { configSchema } from "../../config/schema.js";
import { coerce, leafPaths, schemaAt } from "../../config/schema-tree.js";
import { z } from "zod";

const root = join(import.meta.dirname, "..", "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

describe("the settings' sample files", () => {
  it("are what the schema gives now (else: npm run generate)", () => {
    expect(read("config/mneme.example.yaml")).toBe(exampleSettings());
    expect(read("config/mneme.schema.json")).toBe(settingsSchema());
    expect(read("docs/settings.md")).toBe(settingsPage());
  });

  it("work unchanged and mean the defaults", () => {
    const parsed = configSchema.parse(coerce(configSchema, parseSettings(read("config/mneme.example.yaml"), "sample")));

    expect(parsed).toEqual(configSchema.parse({}));
  });

  it("hold only values that the program takes", () => {
    const parsed = configSchema.safeParse(coerce(configSchema, parseSettings(exampleSettings(true), "sample")));

    expect(parsed.error?.issues ?? []).toEqual([]);
  });

  it("describe every setting", () => {
    const silent = leafPaths(configSchema).filter((path) => {
      const schema = schemaAt(configSchema, path.split("."));
      return schema === undefined || z.globalRegistry.get(schema)?.description === undefined;
    });

    expect(silent).toEqual([]);
  });

  it("name in .env.example only variables that exist, and all of them", () => {
    const names = Object.keys(parseEnvFile(read(".env.example").replaceAll(/^# ([A-Z_]+=)/gm, "$1")));
    const known = [...Object.keys(variables), configFileVariable];

    expect([...names].sort()).toEqual(known.sort());
  });
});
