/**
 * Replaces a memory file while somebody may be writing into it by hand. The old file is kept open: what reaches it
 * after it was read would vanish with the rename, so entries that appear in it are appended to the new file.
 */
import { appendFileSync, closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { GatewayError } from "../domain/errors.js";
import { writeAtomically } from "../storage/atomic-file.js";
import { delimiter, parseEntries } from "./entries.js";

/** The file is no longer what the decision was made on: read it again and decide anew. */
export class ChangedMeanwhile extends Error {}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A file's text; a missing file is empty. Throws `input.invalid` when it is not UTF-8, because writing it back would alter bytes. */
export function readText(path: string): string {
  try {
    return decode(readFileSync(path));
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}

export interface Replaced {
  /** Appends to the new file what was written into the old one since. True when something was. */
  rescue(): boolean;
  close(): void;
}

/** Replaces `path` by `next` if it still holds `expected`; otherwise throws ChangedMeanwhile and writes nothing. */
export function replaceFile(path: string, expected: string, next: string): Replaced {
  const handle = openExisting(path);
  try {
    if ((handle === undefined ? "" : readHandle(handle)) !== expected) throw new ChangedMeanwhile();
    writeAtomically(path, next);
  } catch (error) {
    if (handle !== undefined) closeSync(handle);
    throw error;
  }
  const known = new Set(parseEntries(expected));
  const replaced: Replaced = {
    rescue() {
      const late = handle === undefined ? [] : parseEntries(lenient(handle)).filter((entry) => !known.has(entry));
      for (const entry of late) {
        known.add(entry);
        appendFileSync(path, delimiter + entry);
      }
      return late.length > 0;
    },
    close() {
      if (handle !== undefined) closeSync(handle);
    },
  };
  replaced.rescue();
  return replaced;
}

function openExisting(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function readHandle(handle: number): string {
  return decode(bytesOf(handle));
}

/** What stands in the old file now, possibly in the middle of a save: only whole new entries are taken from it. */
function lenient(handle: number): string {
  return new TextDecoder().decode(bytesOf(handle));
}

function bytesOf(handle: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(handle).size);
  let length = 0;
  while (length < bytes.length) {
    const read = readSync(handle, bytes, length, bytes.length - length, length);
    if (read === 0) break;
    length += read;
  }
  return bytes.subarray(0, length);
}

function decode(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new GatewayError("input.invalid", "A memory file is not valid UTF-8; save it as UTF-8 first.", { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
