/**
 * Writes config/mneme.example.yaml, config/mneme.schema.json and docs/settings.md from the schema, and docs/errors.md from the error table. Tests compare
 * them with what is checked in, so after a change of a setting or a code run `npm run generate`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorPage } from "./error-reference.js";
import { exampleSettings, settingsPage, settingsSchema } from "./settings-reference.js";

const root = join(import.meta.dirname, "..");
mkdirSync(join(root, "docs"), { recursive: true });
writeFileSync(join(root, "config", "mneme.example.yaml"), exampleSettings());
writeFileSync(join(root, "config", "mneme.schema.json"), settingsSchema());
writeFileSync(join(root, "docs", "errors.md"), errorPage());
writeFileSync(join(root, "docs", "settings.md"), settingsPage());
