/**
 * Puts a backup back. Everything is copied and checked beside the old data before anything is moved; what was there is put aside, never
 * deleted. Parts that had not been sent are ended, so a restore sends nothing twice.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { GatewayError } from "../domain/errors.js";
import { lockDataFolder } from "../storage/data-folder.js";
import { endWhatWasUnderWay, workersSince, type Ended } from "../storage/moment-copy.js";
import { asidePrefix, databaseName, describe, manifestName, stagingName, type Manifest } from "./backup.js";

const manifestShape = z.object({
  format: z.literal(1),
  madeAt: z.iso.datetime(),
  schema: z.int(),
  files: z.array(
    z.object({
      // Relative and without "..", whoever wrote the list.
      path: z.string().regex(/^(?!.*(?:^|\/)\.\.(?:\/|$))[^/\\\0][^\\\0]*$/),
      size: z.int().min(0),
      sha256: z.string().length(64),
    }),
  ),
});

/** A worker says every 10 s that it lives; one heard of this lately still runs. */
const workerAliveMs = 30_000;

export interface Restored {
  readonly manifest: Manifest;
  readonly ended: Ended;
  /** Where the old data lies now; undefined when there was none. */
  readonly aside: string | undefined;
}

/**
 * Restores `source` into `dataDir`. Rejects with `input.invalid` when the backup is incomplete or changed, or the folder holds something and
 * `force` is false; with `store.owned` while a gateway or a worker uses the folder; the old data is untouched then.
 */
export async function restore(deps: {
  readonly source: string;
  readonly dataDir: string;
  readonly force: boolean;
  readonly now: number;
}): Promise<Restored> {
  const source = resolve(deps.source);
  const dataDir = resolve(deps.dataDir);
  const manifest = await checkedManifest(source);
  const database = join(dataDir, databaseName);
  if (contents(dataDir).length > 0 && !deps.force) {
    throw new GatewayError(
      "input.invalid",
      `${dataDir} is not empty. With --force its contents are put aside in ${asidePrefix}… and the backup takes their place.`,
    );
  }
  const lock = lockDataFolder(dataDir);
  try {
    const workers = workersSince(database, deps.now - workerAliveMs);
    if (workers.length > 0)
      throw new GatewayError("store.owned", `A worker uses ${dataDir} (${workers.join(", ")}). Stop it, wait half a minute and try again.`);
    const staging = join(dataDir, stagingName);
    rmSync(staging, { recursive: true, force: true });
    for (const { path } of manifest.files) {
      mkdirSync(dirname(join(staging, path)), { recursive: true, mode: 0o700 });
      copyFileSync(join(source, path), join(staging, path));
    }
    const ended = endWhatWasUnderWay(join(staging, databaseName), deps.now);
    const aside = putAside(dataDir, deps.now);
    // The database last: a folder without one is recognised as unfinished, and restored again.
    for (const name of readdirSync(staging).sort((a, b) => Number(a === databaseName) - Number(b === databaseName))) {
      renameSync(join(staging, name), join(dataDir, name));
    }
    rmSync(staging, { recursive: true, force: true });
    return { manifest, ended, aside };
  } finally {
    lock.release();
  }
}

async function checkedManifest(source: string): Promise<Manifest> {
  const file = join(source, manifestName);
  if (!existsSync(file)) throw new GatewayError("input.invalid", `${source} is no complete backup: ${manifestName} is missing.`);
  const parsed = manifestShape.safeParse(parseJson(readFileSync(file, "utf8")));
  if (!parsed.success || !parsed.data.files.some(({ path }) => path === databaseName)) {
    throw new GatewayError("input.invalid", `${file} cannot be read as the list of a backup.`);
  }
  for (const listed of parsed.data.files) {
    const found = existsSync(join(source, listed.path)) ? await describe(source, listed.path) : undefined;
    if (found?.sha256 !== listed.sha256) {
      throw new GatewayError(
        "input.invalid",
        `The backup is ${found === undefined ? "incomplete" : "changed"}: ${listed.path}. Nothing was restored.`,
      );
    }
  }
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a restore would replace. */
function contents(dataDir: string): string[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir).filter((name) => !name.startsWith("gateway.lock") && name !== stagingName && !name.startsWith(asidePrefix));
}

function putAside(dataDir: string, now: number): string | undefined {
  const names = contents(dataDir);
  if (names.length === 0) return undefined;
  const aside = join(dataDir, `${asidePrefix}${new Date(now).toISOString().replaceAll(/[:.]/g, "-")}`);
  mkdirSync(aside, { mode: 0o700 });
  for (const name of names) renameSync(join(dataDir, name), join(aside, name));
  return aside;
}
