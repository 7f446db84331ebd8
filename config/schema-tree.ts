/**
 * Walks the schema beside raw input: brings texts from YAML and the environment into the type a key has, and finds keys by name.
 * Numbers in YAML arrive here as their source text, so an id is never rounded; only keys that are numbers become numbers.
 */
import { z } from "zod";

type Schema = z.core.$ZodType;
export type Raw = Record<string, unknown>;

/** The schema without its default, optional and refinement layers. */
export function bare(schema: Schema): Schema {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) inner = inner.def.innerType;
  return inner;
}

export function shapeOf(schema: Schema): Readonly<Record<string, Schema>> | undefined {
  const inner = bare(schema);
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

export function isRecord(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Input in the types the schema wants, as far as that is certain; everything else stays as it is and is refused by the schema. */
export function coerce(schema: Schema, value: unknown): unknown {
  const inner = bare(schema);
  const shape = shapeOf(inner);
  if (shape !== undefined && isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, item]) => item !== null && item !== undefined)
        .map(([key, item]) => [key, shape[key] === undefined ? item : coerce(shape[key], item)]),
    );
  }
  if (inner instanceof z.ZodRecord && isRecord(value)) {
    const { valueType } = inner.def;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coerce(valueType, item ?? {})]));
  }
  if (inner instanceof z.ZodArray) {
    const { element } = inner.def;
    const items = typeof value === "string" ? splitList(value) : value;
    return Array.isArray(items) ? items.map((item) => coerce(element, item)) : items;
  }
  return coerceLeaf(inner, value);
}

function coerceLeaf(inner: Schema, value: unknown): unknown {
  if (inner instanceof z.ZodNumber && typeof value === "string" && /^[-+]?\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  if (inner instanceof z.ZodBoolean && typeof value === "string") {
    if (value.toLowerCase() === "true") return true;
    if (value.toLowerCase() === "false") return false;
  }
  if (inner instanceof z.ZodString || inner instanceof z.ZodURL) return coerceText(value);
  // YAML 1.1 editors write on/off for booleans; for a choice of on and off they mean the words.
  if (inner instanceof z.ZodEnum && typeof value === "boolean" && inner.options.includes("on")) return value ? "on" : "off";
  return value;
}

function coerceText(value: unknown): unknown {
  if (typeof value === "boolean") return String(value);
  // `- telegram: 123` (with a space) is a map in YAML but can only mean "telegram:123" in a list of texts.
  if (isRecord(value)) {
    const entries = Object.entries(value);
    const [first] = entries;
    if (entries.length === 1 && first !== undefined && typeof first[1] === "string") return `${first[0]}:${first[1]}`;
  }
  return value;
}

function splitList(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** Finds the key path that `parts` names, whatever its case; undefined when a part names nothing. */
export function findPath(schema: Schema, parts: readonly string[]): string[] | undefined {
  const path: string[] = [];
  let current: Schema = schema;
  for (const part of parts) {
    const inner = bare(current);
    const shape = shapeOf(inner);
    if (shape !== undefined) {
      const key = Object.keys(shape).find((name) => name.toLowerCase() === part.toLowerCase());
      const next = key === undefined ? undefined : shape[key];
      if (key === undefined || next === undefined) return undefined;
      path.push(key);
      current = next;
    } else if (inner instanceof z.ZodRecord) {
      path.push(part);
      current = inner.def.valueType;
    } else {
      return undefined;
    }
  }
  return path;
}

/** The schema at a key path, or undefined. */
export function schemaAt(schema: Schema, path: readonly PropertyKey[]): Schema | undefined {
  let current: Schema | undefined = schema;
  for (const part of path) {
    if (current === undefined) return undefined;
    const inner = bare(current);
    if (inner instanceof z.ZodRecord) current = inner.def.valueType;
    else if (inner instanceof z.ZodArray) current = inner.def.element;
    else current = shapeOf(inner)?.[String(part)];
  }
  return current;
}

/** Every key path that has a value of its own, dotted, without the keys below records. */
export function leafPaths(schema: Schema, prefix = ""): string[] {
  const shape = shapeOf(schema);
  if (shape === undefined) return [prefix];
  return Object.entries(shape).flatMap(([key, child]) => leafPaths(child, prefix === "" ? key : `${prefix}.${key}`));
}

/** The candidate nearest to `word` by edit distance, when it is near enough to be a typing slip. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const change = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(change, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
