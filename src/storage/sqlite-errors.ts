/**
 * What a driver error means to the rest of the program, decided on SQLite's result codes alone.
 */
import { StoreError, errorText } from "../domain/errors.js";

/** SQLite's result code of a driver error; undefined for anything else. */
function resultCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "SqliteError" || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** True when another connection holds the lock: waiting helps. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && (code === "SQLITE_BUSY" || code.startsWith("SQLITE_BUSY_") || code.startsWith("SQLITE_LOCKED"));
}

/** Driver errors become `StoreError`s; everything else (also our own errors thrown inside a transaction) is returned unchanged. */
export function storeError(error: unknown, file: string): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  if (isBusy(error)) return busyError(file, error);
  if (/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM|AUTH)/.test(code)) {
    return new StoreError("store.full", `The database ${file} cannot be written (${code}): the disk is full or not writable.`, {
      cause: error,
    });
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    const remedy = "Stop the program and restore a backup (mneme restore); nothing is repaired by itself.";
    return new StoreError("store.corrupt", `The database ${file} is damaged (${code}). ${remedy}`, { cause: error });
  }
  return new StoreError("internal", `A database statement failed (${code}): ${errorText(error)}`, { cause: error });
}

export function busyError(file: string, cause?: unknown): StoreError {
  return new StoreError("store.busy", `The database ${file} stayed locked by another process; nothing was written.`, {
    cause,
    retryAfterMs: 1000,
  });
}
