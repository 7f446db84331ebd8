/** The machine the skills would run on: its operating system and the programs on its search path. Looks, runs nothing. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface Host {
  /** Node's name of the operating system, for example `linux`, `darwin`, `win32`. */
  readonly system: string;
  /** True when a program of this name can be started. */
  has(command: string): boolean;
}

/** Words for operating systems, as skills use them. Anything else in `platforms` says nothing about the host. */
const systems: Readonly<Record<string, string>> = {
  macos: "darwin",
  mac: "darwin",
  osx: "darwin",
  darwin: "darwin",
  linux: "linux",
  windows: "win32",
  win32: "win32",
  win: "win32",
  freebsd: "freebsd",
  openbsd: "openbsd",
  android: "android",
};

/** `searchPath`: the environment's PATH. */
export function createHost({ system, searchPath }: { readonly system: string; readonly searchPath: string }): Host {
  const folders = searchPath.split(delimiter).filter((folder) => folder !== "");
  const endings = system === "win32" ? [".exe", ".cmd", ".bat", ".com", ""] : [""];
  return {
    system,
    has: (command) =>
      /^[A-Za-z0-9._+-]+$/u.test(command) &&
      folders.some((folder) => endings.some((ending) => isProgram(join(folder, `${command}${ending}`)))),
  };
}

/** True when `platforms` of a skill names no operating system, or this one. */
export function fitsHost(platforms: readonly string[], host: Pick<Host, "system">): boolean {
  const named = platforms.flatMap((platform) => systems[platform] ?? []);
  return named.length === 0 || named.includes(host.system);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Not there or not ours to run: either way it cannot be used.
    return false;
  }
}
