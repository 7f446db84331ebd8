/**
 * The doctor's look at this machine: data folder, file system, disk, SQLite, database. Changes nothing; a folder that is not
 * there yet is no error.
 */
import { existsSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { databaseFile, gatewayRuns, sqliteVersion, withStores, type OfflineDeps } from "../app/offline.js";
import { quickCheckOf } from "../app/status.js";
import { errorText, GatewayError } from "../domain/errors.js";
import type { Finding } from "../ports/platform-adapter.js";

/** Type numbers of statfs(2) on Linux. SQLite's locks cannot be trusted on these. */
const networkFileSystems: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB2",
  0x5346414f: "AFS",
  0x00c36400: "Ceph",
  0x0bd00bd0: "Lustre",
  0x01021997: "9p (a shared folder of a virtual machine)",
};
const fuse = 0x65735546;
const megabyte = 1024 * 1024;
const leastFree = 100 * megabyte;
const littleFree = 1024 * megabyte;
const oldestSqlite = [3, 51, 3] as const;

/** The name of a network file system by its Linux type number; undefined for local ones. Numbers may come signed. */
export function networkFileSystem(type: number): string | undefined {
  return networkFileSystems[type >>> 0];
}

export async function checkMachine(deps: OfflineDeps, cwd: string): Promise<Finding[]> {
  return [...folderFindings(deps.config.data.dir), ...envFileFindings(cwd), sqliteFinding(), ...(await databaseFindings(deps))];
}

function folderFindings(dir: string): Finding[] {
  const subject = "data folder";
  const exists = existsSync(dir);
  let place = dir;
  while (!existsSync(place) && place !== dirname(place)) place = dirname(place);
  const findings: Finding[] = [];
  if (!exists) findings.push({ level: "ok", subject, message: `${dir} does not exist yet; the first start makes it.` });
  else if ((statSync(dir).mode & 0o077) !== 0) {
    findings.push({ level: "warning", subject, message: `Other users of this machine may read ${dir}.`, remedy: `chmod 700 ${dir}` });
  } else findings.push({ level: "ok", subject, message: `${dir} is private.` });
  return [...findings, ...fileSystemFindings(place)];
}

function fileSystemFindings(place: string): Finding[] {
  const state = statfsSync(place);
  const findings: Finding[] = [];
  const network = process.platform === "linux" ? networkFileSystem(state.type) : undefined;
  if (network !== undefined) {
    findings.push({
      level: "error",
      subject: "file system",
      message: `The data folder is on ${network}, where the locks of a database cannot be trusted.`,
      remedy: "Move it to a local disk: --data DIR or data.dir.",
    });
  } else if (process.platform === "linux" && state.type >>> 0 === fuse) {
    findings.push({
      level: "warning",
      subject: "file system",
      message: "The data folder is on a FUSE file system; some of them are networks or lose locks.",
      remedy: "Move it to a local disk unless you know that this one is local.",
    });
  } else findings.push({ level: "ok", subject: "file system", message: "Local." });
  const free = state.bavail * state.bsize;
  const message = `${Math.round(free / megabyte).toLocaleString("en")} MB are free.`;
  if (free >= littleFree) findings.push({ level: "ok", subject: "disk", message });
  else findings.push({ level: free < leastFree ? "error" : "warning", subject: "disk", message, remedy: "Free some space." });
  return findings;
}

/** Tokens in a file that everybody may read are no secret. */
function envFileFindings(cwd: string): Finding[] {
  const file = join(cwd, ".env");
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (mode === undefined || (mode & 0o077) === 0) return [];
  return [{ level: "warning", subject: ".env", message: `Other users of this machine may read ${file}.`, remedy: `chmod 600 ${file}` }];
}

function sqliteFinding(): Finding {
  const version = sqliteVersion();
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  const [needMajor, needMinor, needPatch] = oldestSqlite;
  const isGood = major !== needMajor ? major > needMajor : minor !== needMinor ? minor > needMinor : patch >= needPatch;
  if (isGood) return { level: "ok", subject: "sqlite", message: `Version ${version}.` };
  const message = `Version ${version} is too old: at least ${oldestSqlite.join(".")} is needed.`;
  return { level: "error", subject: "sqlite", message, remedy: "Reinstall the packages: npm ci." };
}

async function databaseFindings(deps: OfflineDeps): Promise<Finding[]> {
  const subject = "database";
  try {
    const found = await withStores(deps, ({ db }) => quickCheckOf(db));
    if (found === undefined) return [{ level: "ok", subject, message: "There is none yet; the first start makes it." }];
    if (found.length > 0) {
      const remedy = "Stop the gateway, keep a copy of the folder, and restore a backup.";
      return [{ level: "error", subject, message: `${databaseFile(deps.config)} is damaged: ${found[0] ?? ""}`, remedy }];
    }
    const held = gatewayRuns(deps.config) ? "A gateway is running on it." : "No gateway is running on it.";
    return [{ level: "ok", subject, message: `Sound. ${held}` }];
  } catch (error) {
    const isOld = error instanceof GatewayError && error.code === "store.unsupported";
    return [
      {
        level: isOld ? "warning" : "error",
        subject,
        message: errorText(error),
        remedy: isOld ? "Start the gateway of this version once." : "Keep a copy of the folder before anything else.",
      },
    ];
  }
}
