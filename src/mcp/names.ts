/**
 * The names under which tools of MCP servers are offered: `<server>_<tool>`, folded to `[a-z0-9_-]{1,64}`. A name must not depend on the
 * order in which a server lists its tools, since sessions keep the names they began with.
 */
import { createHash } from "node:crypto";

/** What every model server takes as a tool's name. */
const maxLength = 64;

/**
 * Own name of a tool → the name it is offered under. `server`: its name in the settings. A name that fits unchanged is kept; one that had to
 * be changed and then equals another, is in `taken`, is too long or has no letter left carries a mark made from the own name. Own names
 * that occur twice count once. No two tools get one name, and none gets a name in `taken`.
 */
export function offeredNames(server: string, own: readonly string[], taken: ReadonlySet<string>): Map<string, string> {
  const all = [...new Set(own)].toSorted();
  const counts = new Map<string, number>();
  for (const name of all) counts.set(folded(server, name), (counts.get(folded(server, name)) ?? 0) + 1);
  const names = new Map<string, string>();
  const used = new Set(taken);
  const give = (name: string, offered: string): void => {
    names.set(name, offered);
    used.add(offered);
  };
  const exact = all.filter(
    (name) => folded(server, name) === `${server}_${name}` && fits(server, name) && !taken.has(folded(server, name)),
  );
  for (const name of exact) give(name, folded(server, name));
  for (const name of all) {
    if (names.has(name)) continue;
    const plain = folded(server, name);
    const isClear = fits(server, name) && counts.get(plain) === 1 && !used.has(plain);
    give(name, isClear ? plain : marked(plain, name, used));
  }
  return names;
}

function folded(server: string, name: string): string {
  return `${server}_${name}`.toLowerCase().replaceAll(/[^a-z0-9_-]/g, "_");
}

function fits(server: string, name: string): boolean {
  const plain = folded(server, name);
  return plain.length <= maxLength && /[a-z0-9]/.test(plain.slice(server.length + 1));
}

/** Eight characters of a hash at the end; in the next round others, should the name be in use all the same. */
function marked(plain: string, name: string, used: ReadonlySet<string>): string {
  for (let round = 0; ; round += 1) {
    const mark = createHash("sha256").update(`${round}:${name}`).digest("hex").slice(0, 8);
    const candidate = `${plain.slice(0, maxLength - 9)}_${mark}`;
    if (!used.has(candidate)) return candidate;
  }
}
