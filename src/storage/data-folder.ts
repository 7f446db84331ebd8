/**
 * One gateway per data folder, by a lock that the operating system drops when the process ends. No process id is stored or
 * compared, so nothing can be stale.
 */
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../domain/errors.js";
import { Connection } from "./connection.js";
import { isBusy, storeError } from "./sqlite-errors.js";

export interface FolderLock {
  /** False when the folder's mode could not be set to 0700: others on this machine may read it. */
  readonly isPrivate: boolean;
  release(): void;
}

/** Locks of this process: a connection that nothing refers to is closed when memory is collected, and its lock with it. */
const held = new Set<Connection["driver"]>();

/**
 * Makes this process the only gateway of a data folder, until it releases the lock or ends, however it ends. Throws `store.owned`
 * when another one holds it. Nobody else may open `gateway.lock` in this process: closing it would drop the lock.
 */
export function lockDataFolder(dir: string): FolderLock {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  let isPrivate = (statSync(dir).mode & 0o077) === 0;
  if (!isPrivate) {
    try {
      chmodSync(dir, 0o700);
      isPrivate = true;
    } catch {
      isPrivate = false;
    }
  }
  const file = join(dir, "gateway.lock");
  let driver: Connection["driver"] | undefined;
  try {
    driver = new Connection(file).driver;
    driver.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    driver?.close();
    if (!isBusy(error)) throw storeError(error, file);
    throw new StoreError("store.owned", `Another gateway is running with the data folder ${dir}. Stop it first, or use another folder.`);
  }
  const own = driver;
  held.add(own);
  const release = (): void => {
    held.delete(own);
    own.close();
  };
  return { isPrivate, release };
}
