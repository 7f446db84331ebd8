/**
 * Schema issues as sentences for the operator: key, value, what is allowed. Secrets are shown as `***`, so a pasted error leaks nothing.
 */
import type { z } from "zod";
import { isSecret } from "./secrets.js";
import { configSchema } from "./schema.js";
import { leafPaths, nearest, schemaAt, shapeOf } from "./schema-tree.js";

export interface Problem {
  /** Dotted key path, with the variable it came from where it came from one. */
  readonly key: string;
  readonly text: string;
}

type Issue = z.core.$ZodIssue;

/** One problem per wrong key. `sources`: dotted key path -> variable that carried the value. */
export function explain(issues: readonly Issue[], sources: ReadonlyMap<string, string>): Problem[] {
  return issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey([...issue.path, key]));
    const source = sourceOf(issue.path, sources);
    const key = dotted(issue.path) + (source === undefined ? "" : ` (from ${source})`);
    return [{ key, text: sentence(issue) }];
  });
}

function unknownKey(path: readonly PropertyKey[]): Problem {
  const name = String(path.at(-1));
  const parent = schemaAt(configSchema, path.slice(0, -1));
  const siblings = Object.keys((parent === undefined ? undefined : shapeOf(parent)) ?? {});
  const near = nearest(name, siblings);
  if (near !== undefined) return { key: dotted(path), text: `no such setting. Did you mean ${dotted([...path.slice(0, -1), near])}?` };
  const elsewhere = leafPaths(configSchema).find((leaf) => leaf === name || leaf.endsWith(`.${name}`));
  const hint = elsewhere === undefined ? ` Allowed here: ${siblings.join(", ")}.` : ` Did you mean ${elsewhere}?`;
  return { key: dotted(path), text: `no such setting.${hint}` };
}

function sourceOf(path: readonly PropertyKey[], sources: ReadonlyMap<string, string>): string | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const source = sources.get(path.slice(0, length).map(String).join("."));
    if (source !== undefined) return source;
  }
  return undefined;
}

function sentence(issue: Issue): string {
  if (issue.code === "custom") return sentenceOfCustom(issue);
  if (issue.input === undefined && issue.code === "invalid_type") return `is missing. Allowed: ${allowed(issue)}.`;
  return `${shown(issue)} is not allowed. Allowed: ${allowed(issue)}.`;
}

function sentenceOfCustom(issue: Issue): string {
  return issue.input === undefined || typeof issue.input === "object"
    ? `${issue.message}.`
    : `${shown(issue)} is not allowed. Allowed: ${issue.message}.`;
}

function shown(issue: Issue): string {
  if (isSecret(issue.path)) return "*** (the value is a secret)";
  const text = JSON.stringify(issue.input, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value)) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a text",
  int: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "settings, one to a line beneath it",
  record: "names with values, one to a line beneath it",
};

function allowed(issue: Issue): string {
  switch (issue.code) {
    case "invalid_value":
      return issue.values.map(String).join(", ");
    case "invalid_type":
      return typeNames[issue.expected] ?? issue.expected;
    case "too_small":
      return issue.origin === "string" ? "a text that is not empty" : `at least ${issue.minimum.toString()}`;
    case "too_big":
      return issue.origin === "string" ? `at most ${issue.maximum.toString()} characters` : `at most ${issue.maximum.toString()}`;
    case "invalid_format":
      return issue.format === "url" ? urlRule(issue.path) : issue.message;
    case "invalid_key":
      return issue.issues[0]?.message ?? "another name";
    case "custom":
    case "not_multiple_of":
    case "unrecognized_keys":
    case "invalid_union":
    case "invalid_element":
      return issue.message;
  }
}

function urlRule(path: readonly PropertyKey[]): string {
  return path[0] === "redis" ? "an address that begins with redis:// or rediss://" : "an address that begins with http:// or https://";
}

function dotted(path: readonly PropertyKey[]): string {
  return path.length === 0 ? "settings" : path.map(String).join(".");
}
