/**
 * What the guided set-up writes: secrets into .env (mode 0600), the rest into the settings file. Lines and comments that are
 * there stay; only the keys that were answered change.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { Document, isMap, parseDocument } from "yaml";
import { ConfigError } from "../domain/errors.js";

/** The text of an existing file; undefined where there is none. */
export function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** `text` of a .env file with these variables set; the last assignment of each is replaced, new ones are added below. Pure. */
export function withVariables(text: string, values: Readonly<Record<string, string>>): string {
  const lines = text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
  for (const [name, value] of Object.entries(values)) {
    const at = lines.findLastIndex((line) => new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=`).test(line));
    const line = `${name}=${quoted(value)}`;
    if (at < 0) lines.push(line);
    else lines[at] = line;
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function quoted(value: string): string {
  if (/^[\w.:/@+-]*$/.test(value)) return value;
  return `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`;
}

/** `text` of a settings file with these keys set (paths with dots). Comments stay. Throws ConfigError when it is no settings file. */
export function withSettings(text: string, values: Readonly<Record<string, string>>, file: string): string {
  const parsed = parseDocument(text);
  if (parsed.errors.length > 0 || (parsed.contents !== null && !isMap(parsed.contents))) {
    throw new ConfigError("config.invalid", `${file} is no settings file that can be added to. Correct it or move it away.`);
  }
  const document = parsed.contents === null && text.trim() === "" ? new Document({}) : parsed;
  for (const [key, value] of Object.entries(values)) {
    const [section = "", ...rest] = key.split(".");
    // "model:" with nothing but comments beneath it.
    if (rest.length > 0 && document.has(section) && !isMap(document.get(section, true))) document.delete(section);
    document.setIn([section, ...rest], value);
  }
  return document.toString({ lineWidth: 0 });
}

/** Replaces the file as a whole; private from its first byte on. */
export function writePrivate(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    const handle = openSync(temporary, "w", 0o600);
    try {
      writeSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
