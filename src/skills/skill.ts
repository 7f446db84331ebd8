/**
 * The format of a SKILL.md: YAML front matter, then Markdown (the open Agent Skills format). Reading is lenient, because
 * skills written for other agents must load unchanged; what we write ourselves is checked strictly. Pure.
 */
import { parseDocument } from "yaml";

/** What the program needs of the front matter; all other keys stay in the file untouched. */
export interface SkillMeta {
  /** The folder's name: the one name a skill is called by. */
  readonly name: string;
  /** One line, at most `descriptionLimit` code points. */
  readonly description: string;
  readonly version?: string;
  readonly category?: string;
  readonly tags: readonly string[];
  /** Operating systems of the host it is for, as the file words them; empty = any. */
  readonly platforms: readonly string[];
  /** Programs it needs on the host (`prerequisites.commands`). */
  readonly commands: readonly string[];
}

export type ParsedSkill = { readonly ok: true; readonly meta: SkillMeta } | { readonly ok: false; readonly error: string };

/** Code points of a description. */
export const descriptionLimit = 1024;
/** Code points of a SKILL.md. */
export const skillTextLimit = 100_000;
/** Bytes of a supporting file. */
export const supportingFileLimit = 1024 * 1024;
/** Where supporting files may be written; elsewhere they can only be read. */
export const supportingFolders = ["references", "templates", "scripts", "assets"] as const;

const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/u;
const categoryPattern = /^[\p{L}\p{N}][\p{L}\p{N} ._/&-]{0,63}$/u;

/** Names of skills (and of their folders). */
export function isSkillName(name: string): boolean {
  return namePattern.test(name);
}

interface Split {
  readonly header: string;
  readonly body: string;
}

/** Reads what stands on disk: makes the best of a header that is no proper YAML. Fails only where nothing can be told of the skill. */
export function readSkill(text: string, name: string, defaultCategory?: string): ParsedSkill {
  const parts = split(text);
  if (parts === undefined) return { ok: false, error: "SKILL.md has no front matter between two lines of ---." };
  const parsed = parseHeader(parts.header);
  const header = typeof parsed === "string" ? salvage(parts.header) : parsed;
  const description = oneLine(textOf(header["description"])) || firstParagraph(parts.body);
  if (description === "") return { ok: false, error: "SKILL.md has no description." };
  return { ok: true, meta: metaOf(header, name, cut(description, descriptionLimit), defaultCategory) };
}

/** Checks a SKILL.md that is about to be written. The error says what must be changed. */
export function checkSkill(text: string, name: string): ParsedSkill {
  if (!isStorable(text)) return refused("SKILL.md holds characters that no text file can hold.");
  const length = codePoints(text);
  if (length > skillTextLimit) {
    return refused(`SKILL.md has ${length} characters, ${skillTextLimit} are allowed: move details into references/ files.`);
  }
  const parts = split(text);
  if (parts === undefined) {
    return refused(`SKILL.md must begin with front matter: a line ---, name: ${name}, description: …, a line ---, then the instructions.`);
  }
  const header = parseHeader(parts.header);
  if (typeof header === "string") return refused(`The front matter is not valid YAML: ${header}`);
  const given = textOf(header["name"]);
  if (given !== name) return refused(`The front matter must say name: ${name}${given === "" ? "" : `, not ${given.slice(0, 80)}`}.`);
  const description = oneLine(textOf(header["description"]));
  if (description === "") return refused("The front matter needs a description: what the skill does and when to use it.");
  if (codePoints(description) > descriptionLimit) {
    return refused(`The description has ${codePoints(description)} characters, ${descriptionLimit} are allowed.`);
  }
  if (parts.body.trim() === "") return refused("SKILL.md has no text below the front matter.");
  return { ok: true, meta: metaOf(header, name, description) };
}

/** True when the header is proper YAML, so that a change must keep it so. */
export function hasProperHeader(text: string): boolean {
  const parts = split(text);
  return parts !== undefined && typeof parseHeader(parts.header) !== "string";
}

/** The text with `category` in its front matter, or why not. A text without front matter is returned as it is. */
export function withCategory(text: string, category: string): { readonly text: string } | { readonly error: string } {
  if (!categoryPattern.test(category)) return { error: "A category is one line of at most 64 letters, digits, spaces and . _ / & -." };
  const parts = split(text);
  const header = parts === undefined ? "" : parseHeader(parts.header);
  if (typeof header === "string") return { text };
  const own = textOf(header["category"]);
  if (own === category) return { text };
  if (own !== "") return { error: `The front matter says category: ${own.slice(0, 80)}, the parameter ${category}: give one of them.` };
  return { text: text.replace(/(?<=\n)---[ \t]*(?=\r?\n|$)/u, (line) => `category: ${category}\n${line}`) };
}

/** False for text that UTF-8 cannot hold, or that a tool would take for binary. */
export function isStorable(text: string): boolean {
  return !/[\p{Surrogate}\0]/u.test(text);
}

/** Code points, the unit of all limits here. */
export function codePoints(text: string): number {
  return [...text].length;
}

function refused(error: string): ParsedSkill {
  return { ok: false, error };
}

/** The header is what stands between the first line and the next line that is only `---`. */
function split(text: string): Split | undefined {
  const found = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/u.exec(text);
  return found === null ? undefined : { header: found[1] ?? "", body: text.slice(found[0].length) };
}

type Header = Readonly<Record<string, unknown>>;

/** The header as plain strings, lists and maps (no number, date or boolean is made of anything), or what is wrong with it. */
function parseHeader(header: string): Header | string {
  const document = parseDocument(header, { schema: "failsafe", logLevel: "silent" });
  const [error] = document.errors;
  if (error !== undefined) return error.message.split("\n")[0] ?? "unreadable";
  try {
    const value: unknown = document.toJS({ maxAliasCount: 20 });
    return isMap(value) ? value : "it is no list of keys and values.";
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : "unreadable";
  }
}

/** What can be read of a header that is no YAML, typically one with an unquoted colon in its description. */
function salvage(header: string): Header {
  const values: Record<string, string> = {};
  for (const [, key, value] of header.matchAll(/^([A-Za-z][\w-]*):[ \t]*(\S[^\r\n]*)$/gmu)) {
    if (key === undefined || value === undefined || key in values) continue;
    values[key] = value.trim().replace(/^(["'])(.*)\1$/u, "$2");
  }
  return values;
}

function metaOf(header: Header, name: string, description: string, defaultCategory?: string): SkillMeta {
  const version = textOf(header["version"]) || textOf(nested(header, "version"));
  const category = oneLine(textOf(header["category"]) || textOf(nested(header, "category"))) || defaultCategory;
  const prerequisites = header["prerequisites"];
  return {
    name,
    description,
    tags: listOf(header["tags"] ?? nested(header, "tags")),
    platforms: listOf(header["platforms"]).map((platform) => platform.toLowerCase()),
    commands: listOf(isMap(prerequisites) ? prerequisites["commands"] : undefined),
    ...(version === "" ? {} : { version: cut(oneLine(version), 40) }),
    ...(category === undefined || category === "" ? {} : { category: cut(category, 64) }),
  };
}

/** Other agents keep their keys under `metadata`, sometimes one level deeper. */
function nested(header: Header, key: string): unknown {
  const { metadata } = header;
  if (!isMap(metadata)) return undefined;
  if (metadata[key] !== undefined) return metadata[key];
  return Object.values(metadata)
    .filter(isMap)
    .map((value) => value[key])
    .find((value) => value !== undefined);
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

/** A list, or the same written as words between commas. */
function listOf(value: unknown): string[] {
  const parts: unknown[] = Array.isArray(value) ? value : textOf(value).split(",");
  return parts.map((part) => oneLine(textOf(part))).filter((part) => part !== "");
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
}

function firstParagraph(body: string): string {
  const paragraph = body.split(/\r?\n[ \t]*\r?\n/u).find((block) => block.trim() !== "" && !/^\s*(?:#|```|<|---)/u.test(block));
  return oneLine(paragraph ?? "");
}

/** At most `limit` code points. */
export function cut(text: string, limit: number): string {
  const points = [...text];
  return points.length <= limit ? text : `${points.slice(0, limit - 1).join("")}…`;
}
