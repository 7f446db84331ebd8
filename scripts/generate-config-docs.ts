/**
 * Writes config/mneme.example.yaml and config/mneme.schema.json from the schema. A test compares both with what is checked in,
 * so after a change of a setting run `npm run generate`.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exampleSettings, settingsSchema } from "./settings-reference.js";

const folder = join(import.meta.dirname, "..", "config");
writeFileSync(join(folder, "mneme.example.yaml"), exampleSettings());
writeFileSync(join(folder, "mneme.schema.json"), settingsSchema());
