/**
 * A private folder per test, removed when the test file's run ends. Each call gives a new one, so tests never share data.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export interface TempHome {
  readonly dir: string;
  /** A path below the folder. */
  path(...parts: string[]): string;
}

/** Makes a folder with mode 0700. Within a test it is removed when the test is finished; elsewhere pass `keep` and call `removeHome`. */
export function tempHome(options: { readonly keep?: boolean } = {}): TempHome {
  const dir = mkdtempSync(join(tmpdir(), "mneme-test-"));
  chmodSync(dir, 0o700);
  const home: TempHome = { dir, path: (...parts) => join(dir, ...parts) };
  if (options.keep !== true) onTestFinished(() => removeHome(home));
  return home;
}

export function removeHome(home: TempHome): void {
  rmSync(home.dir, { recursive: true, force: true, maxRetries: 3 });
}
