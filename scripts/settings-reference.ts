/**
 * The schema as a commented sample file, as a page and as JSON schema. Every setting in the sample is commented out with its default,
 * so the file works unchanged and says what each line would do.
 */
import { stringify } from "yaml";
import { z } from "zod";
import { variables } from "../config/env.js";
import { configSchema } from "../config/schema.js";
import { bare, shapeOf } from "../config/schema-tree.js";

type Schema = z.core.$ZodType;

const head = `# Settings of mneme. Copy to mneme.yaml and remove the "# " of a line to change it; what is shown are the defaults
# (or, where there is none, an example). Secrets are better kept in the environment or in .env: see .env.example.
# Every setting can also be set there as MNEME__section__key. This file is made by \`npm run generate\`; do not edit it.
# yaml-language-server: $schema=./mneme.schema.json
`;

/** The text of config/mneme.example.yaml; with `active` nothing is commented out, so that a test can parse every sample value. */
export function exampleSettings(active = false): string {
  return `${head}${lines(configSchema, "", active ? "" : "# ").join("\n")}\n`;
}

/** The text of config/mneme.schema.json (JSON Schema 2020-12, for editors). */
export function settingsSchema(): string {
  return `${JSON.stringify(z.toJSONSchema(configSchema, { io: "input", override: allowEmptySections }), null, 2)}\n`;
}

/** The text of docs/settings.md: one table for each section, in the order of the file. */
export function settingsPage(): string {
  const sections = Object.entries(shapeOf(configSchema) ?? {});
  const single = sections.filter(([, schema]) => shapeOf(schema) === undefined);
  const pages = sections.filter(([, schema]) => shapeOf(schema) !== undefined);
  return [
    "# Settings",
    "",
    "Made from the schema by `npm run generate`; `config/mneme.example.yaml` is the same as a file to copy. A setting is given in `mneme.yaml`, or in the environment or",
    "`.env` as `MNEME__section__key` (the table below lists those that also have a short name). Secrets belong in the environment. A wrong key or value stops the start and says",
    "what is allowed.",
    "",
    "| variable | setting |",
    "| --- | --- |",
    ...Object.entries(variables).map(([name, path]) => `| \`${name}\` | \`${path}\` |`),
    "",
    ...pages.flatMap(([name, schema]) => [`## ${name}`, "", describe(schema), "", ...tableOf(rowsOf(schema, name)), ""]),
    "## Without a section",
    "",
    ...tableOf(single.flatMap(([name, schema]) => row(name, schema))),
    "",
  ].join("\n");
}

function rowsOf(schema: Schema, path: string): string[] {
  return Object.entries(shapeOf(schema) ?? {}).flatMap(([key, child]) =>
    shapeOf(child) === undefined ? row(`${path}.${key}`, child) : rowsOf(child, `${path}.${key}`),
  );
}

function row(path: string, schema: Schema): string[] {
  const fallback = defaultOf(schema);
  const shown = fallback === undefined ? "" : `\`${JSON.stringify(fallback).replaceAll("|", "\\|")}\``;
  return [`| \`${path}\` | ${shown} | ${describe(schema).replaceAll("|", "\\|")}${allowedNote(schema)} |`];
}

function tableOf(rows: readonly string[]): string[] {
  return ["| setting | default | meaning |", "| --- | --- | --- |", ...rows];
}

function describe(schema: Schema): string {
  return z.globalRegistry.get(schema)?.description ?? "";
}

/** A section whose settings are all commented out is null in YAML; the loader takes it, so editors should too. */
function allowEmptySections(context: { zodSchema: Schema; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (context.zodSchema instanceof z.ZodPrefault && context.jsonSchema.type === "object") {
    Object.assign(context.jsonSchema, { type: ["object", "null"] });
  }
}

function lines(schema: Schema, indent: string, mark: string): string[] {
  return Object.entries(shapeOf(schema) ?? {}).flatMap(([key, child]) => {
    const meta = z.globalRegistry.get(child) ?? {};
    const gap = indent === "" ? [""] : [];
    const comment = wrap(`${meta.description ?? ""}${allowedNote(child)}`, `${indent}# `);
    if (shapeOf(child) !== undefined) return [...gap, ...comment, `${indent}${key}:`, ...lines(child, `${indent}  `, mark)];
    const fallback = defaultOf(child);
    const isEmpty = typeof fallback === "object" && fallback !== null && Object.keys(fallback).length === 0;
    const [sample] = Array.isArray(meta["examples"]) ? (meta["examples"] as unknown[]) : [];
    const value = (isEmpty ? undefined : fallback) ?? sample ?? fallback;
    const text = stringify({ [key]: value }, { lineWidth: 0 })
      .trimEnd()
      .split("\n");
    return [...gap, ...comment, ...text.map((line) => indent + mark + line)];
  });
}

function allowedNote(schema: Schema): string {
  const inner = bare(schema);
  return inner instanceof z.ZodEnum ? ` One of: ${inner.options.join(", ")}.` : "";
}

function defaultOf(schema: Schema): unknown {
  return schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
}

function wrap(text: string, prefix: string): string[] {
  const rows: string[] = [];
  let row = "";
  for (const word of text.split(" ")) {
    if (row !== "" && prefix.length + row.length + word.length + 1 > 120) {
      rows.push(prefix + row);
      row = word;
    } else row = row === "" ? word : `${row} ${word}`;
  }
  return [...rows, prefix + row];
}
