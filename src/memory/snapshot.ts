/**
 * Renders what the memory files hold into the block that a new session's prompt is frozen with. Pure: the same files
 * give the same bytes. What the scan refuses is left out here and reported, never deleted from the file.
 */
import { stripFences } from "../safety/fence.js";
import { scan, type ScanReason } from "../safety/scan.js";
import { beginning, delimiter, parseEntries, sizeOf, usageOf } from "./entries.js";

export interface SnapshotSource {
  /** The file's text. */
  readonly text: string;
  /** Its limit in code points. */
  readonly limit: number;
}

export interface LeftOut {
  readonly target: "user" | "memory";
  /** The scan's reason, or `too-long`: the file is over three times its limit by hand, and this entry beyond that. */
  readonly reason: ScanReason | "too-long";
  /** The entry's first 60 characters, for the warning in the log. */
  readonly beginning: string;
}

export interface Snapshot {
  /** Empty when both stores are. */
  readonly text: string;
  readonly leftOut: readonly LeftOut[];
}

const rule = "═".repeat(46);
const headings = { memory: "MEMORY (your personal notes)", user: "USER PROFILE (who the user is)" } as const;

/** The MEMORY block, a blank line, the USER PROFILE block. A store that is switched off is not passed; an empty one leaves no trace. */
export function renderSnapshot(stores: { readonly memory?: SnapshotSource; readonly user?: SnapshotSource }): Snapshot {
  const leftOut: LeftOut[] = [];
  const blocks = (["memory", "user"] as const).flatMap((target) => {
    const source = stores[target];
    if (source === undefined) return [];
    const all = parseEntries(source.text);
    const shown = all.filter((entry, index) => {
      const reason = reasonAgainst(entry, sizeOf(all.slice(0, index + 1)), source.limit);
      if (reason !== undefined) leftOut.push({ target, reason, beginning: beginning(entry) });
      return reason === undefined;
    });
    if (shown.length === 0) return [];
    const heading = `${headings[target]} [${usageOf(all, source.limit)}]`;
    return [[rule, heading, rule, shown.map((entry) => stripFences(entry)).join(delimiter)].join("\n")];
  });
  return { text: blocks.join("\n\n"), leftOut };
}

function reasonAgainst(entry: string, sizeSoFar: number, limit: number): LeftOut["reason"] | undefined {
  if (sizeSoFar > limit * 3) return "too-long";
  const result = scan(entry);
  return result.ok ? undefined : result.reason;
}
