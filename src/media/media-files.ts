/**
 * The files that came in, on disk: `media/<day>/<space>/<id>.bin` below the data folder. They are written as a stream; images stay until
 * their day is old enough, and one that is gone is named by a fixed text from then on.
 */
import { createWriteStream } from "node:fs";
import { mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { GatewayError } from "../domain/errors.js";
import type { StoredImage } from "../ports/media.js";
import type { Clock, Ids } from "../ports/runtime.js";
import { headLength } from "./file-type.js";

export interface MediaFilesDeps {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly ids: Ids;
}

const folder = "media";
const dayMs = 86_400_000;
/** What `file` of an image may be: nothing outside of the folder can be read by it. */
const stored = /^media\/\d{4}-\d{2}-\d{2}\/[A-Za-z0-9_-]+\/[A-Za-z0-9]+\.[a-z0-9]+$/;

export class MediaFiles {
  readonly #deps: MediaFilesDeps;

  constructor(deps: MediaFilesDeps) {
    this.#deps = deps;
  }

  /**
   * Writes a stream to a new file and returns its path below the data folder. Rejects with `download.too-large` above `maxBytes`,
   * and with what the stream or the disk says; nothing is left then. `owner` becomes a folder name.
   */
  async store(
    bytes: AsyncIterable<Uint8Array>,
    options: { readonly owner: string; readonly maxBytes: number; readonly signal: AbortSignal },
  ): Promise<string> {
    const { clock, ids } = this.#deps;
    const home = [folder, dayOf(clock.now()), options.owner.replaceAll(/[^A-Za-z0-9_-]/g, "_") || "_"].join("/");
    const path = `${home}/${ids.next()}.bin`;
    await mkdir(this.path(home), { recursive: true, mode: 0o700 });
    try {
      await pipeline(limited(bytes, options.maxBytes), createWriteStream(this.path(path), { mode: 0o600, flags: "wx" }), {
        signal: options.signal,
      });
    } catch (error) {
      await rm(this.path(path), { force: true });
      throw error;
    }
    return path;
  }

  /** The first bytes and the size. */
  async look(path: string): Promise<{ readonly head: Uint8Array; readonly size: number }> {
    const handle = await open(this.path(path), "r");
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(headLength), 0, headLength, 0);
      return { head: buffer.subarray(0, bytesRead), size: (await handle.stat()).size };
    } finally {
      await handle.close();
    }
  }

  /** At most the first `length` bytes. */
  async start(path: string, length: number): Promise<Uint8Array> {
    const handle = await open(this.path(path), "r");
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  }

  all(path: string): Promise<Uint8Array> {
    return readFile(this.path(path));
  }

  async remove(path: string): Promise<void> {
    await rm(this.path(path), { force: true });
  }

  /** The image as a data URL; undefined when it is no longer there. The same file gives the same bytes. */
  async dataUrl(image: StoredImage): Promise<string | undefined> {
    if (!stored.test(image.file)) return undefined;
    try {
      return `data:${image.mimeType};base64,${await readFile(this.path(image.file), "base64")}`;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Removes the days that lie more than `keepDays` back; returns how many. */
  async sweep(keepDays: number): Promise<number> {
    const oldest = dayOf(this.#deps.clock.now() - keepDays * dayMs);
    const days = await readdir(this.path(folder)).catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return []; // nothing came in yet
      throw error;
    });
    const old = days.filter((day) => /^\d{4}-\d{2}-\d{2}$/.test(day) && day < oldest);
    for (const day of old) await rm(this.path(`${folder}/${day}`), { recursive: true, force: true });
    return old.length;
  }

  path(below: string): string {
    return join(this.#deps.dataDir, below);
  }
}

async function* limited(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > maxBytes) throw new GatewayError("download.too-large", `the file is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}

/** UTC, so that the names sort and no time zone change touches them. */
function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
