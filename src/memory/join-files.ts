/**
 * The files of two people who turned out to be one, and the way back. Every original is kept beside its file, nothing is cut: what does not fit goes
 * to an overflow file. Doing any of it twice changes nothing.
 */
import { appendFileSync, constants, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { MemoryOwner } from "../ports/memory-log.js";
import { applyChange, delimiter, parseEntries, type Applied } from "./entries.js";
import { readText } from "./hand-edits-files.js";
import { sides, type Author, type MemoryFiles } from "./memory-files.js";

export interface Overflow {
  /** Name of the file that holds them. */
  readonly file: string;
  readonly count: number;
}

const targets = ["user", "memory"] as const;
const historyLength = 10_000;

/** Keeps what a person has now as `*.before-link-STAMP`. The first copy of a stamp stands. */
export function keepOriginals(files: MemoryFiles, personId: string, stamp: string): void {
  for (const target of targets) {
    const path = files.path({ target, id: personId });
    const copy = originalPath(path, stamp);
    if (existsSync(copy)) continue;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (existsSync(path)) copyFileSync(path, copy, constants.COPYFILE_EXCL);
    else writeFileSync(copy, "", { flag: "wx", mode: 0o600 });
  }
}

/** Adds the entries of one person to the files of the other. */
export async function joinFiles(
  files: MemoryFiles,
  union: { readonly keep: string; readonly gone: string },
  author: Author,
): Promise<Overflow[]> {
  const overflow: Overflow[] = [];
  for (const target of targets) {
    const entries = files.entries({ target, id: union.gone });
    overflow.push(...(await addAll(files, { target, id: union.keep }, entries, author)));
  }
  return overflow;
}

export interface Parting {
  /** The person whose files an account leaves, and its own from now on. */
  readonly from: string;
  readonly to: string;
  /** What it had before: the person it was then, and the stamp of the copies. */
  readonly origin: { readonly personId: string; readonly stamp: string };
  readonly accountKey: string;
}

/** Gives an account its original entries, and those of the common files whose newest change came from its own conversations. */
export async function partFiles(files: MemoryFiles, parting: Parting, author: Author): Promise<Overflow[]> {
  const overflow: Overflow[] = [];
  for (const target of targets) {
    const original = parseEntries(readText(originalPath(files.path({ target, id: parting.origin.personId }), parting.origin.stamp)));
    const common: MemoryOwner = { target, id: parting.from };
    const held = new Set(files.entries(common));
    const events = await files.events(common, historyLength);
    const learnt = events
      .filter((event) => event.accountKey === parting.accountKey && event.action !== "outside" && typeof event.after === "string")
      .flatMap((event) => (typeof event.after === "string" && held.has(event.after) ? [event.after] : []))
      .toReversed();
    overflow.push(...(await addAll(files, { target, id: parting.to }, [...original, ...new Set(learnt)], author)));
  }
  return overflow;
}

async function addAll(files: MemoryFiles, owner: MemoryOwner, entries: readonly string[], author: Author): Promise<Overflow[]> {
  const left: string[] = [];
  for (const entry of entries) {
    const applied = await files.write<Applied>(owner, author, (text) => {
      const next = applyChange(text, { action: "add", content: entry, allowNear: true }, files.limit(owner));
      if (!next.ok || !next.changed) return { result: next };
      return { text: next.text, event: { action: "merge", ...sides(next) }, result: next };
    });
    if (applied.ok && applied.changed) await files.tell({ owner, action: "merge", after: entry }, author);
    if (!applied.ok) left.push(entry);
  }
  return left.length === 0 ? [] : [keepOverflow(files, owner, left)];
}

function keepOverflow(files: MemoryFiles, owner: MemoryOwner, entries: readonly string[]): Overflow {
  const path = files.path(owner).replace(/\.md$/u, ".overflow.md");
  const before = readText(path);
  const known = new Set(parseEntries(before));
  const fresh = entries.filter((entry) => !known.has(entry));
  if (fresh.length > 0) appendFileSync(path, `${before === "" ? "" : delimiter}${fresh.join(delimiter)}`, { mode: 0o600 });
  return { file: owner.target === "user" ? "USER.overflow.md" : "MEMORY.overflow.md", count: entries.length };
}

function originalPath(path: string, stamp: string): string {
  return `${path}.before-link-${stamp}`;
}
