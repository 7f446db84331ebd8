/** Copies skills between the spaces of two people who turned out to be one. Two different skills of one name both stay, the second under a new name. */
import type { Space } from "../domain/identity.js";
import { skillText } from "./changes.js";
import type { FolderState } from "./folder-files.js";
import { ownerOf } from "./index-files.js";
import { skillFile } from "./safe-path-files.js";
import type { SkillAuthor, SkillFiles } from "./skill-files.js";

const rules = { gentle: false };
const mostNames = 100;

/** Copies every skill of `from` that `wanted` allows into `to`. Returns names that could not be copied (too large, unreadable); those stay where they are. */
export async function copySkills(
  files: SkillFiles,
  from: Space,
  to: Space,
  author: SkillAuthor,
  wanted: (name: string) => boolean = () => true,
): Promise<string[]> {
  const left: string[] = [];
  for (const { meta } of files.index.shelf(ownerOf(from))) {
    if (!wanted(meta.name)) continue;
    if (!(await copySkill(files, files.state(ownerOf(from), meta.name), meta.name, to, author))) left.push(meta.name);
  }
  return left;
}

async function copySkill(files: SkillFiles, source: FolderState, name: string, to: Space, author: SkillAuthor): Promise<boolean> {
  const text = skillText(source);
  if (text === undefined || [...source.files.values()].some((file) => !isText(file.bytes))) return false;
  for (let n = 1; n <= mostNames; n += 1) {
    const target = n === 1 ? name : `${name.slice(0, 60)}-${n}`;
    const there = files.state(ownerOf(to), target);
    const copy = n === 1 ? text : text.replace(/^name:.*$/mu, `name: ${target}`);
    if (skillText(there) === copy && sameSupport(files, source, there)) return true;
    if (skillText(there) !== undefined) continue;
    const made = await files.change(to, target, { action: "create", content: copy }, rules, author);
    if (!made.ok) return false;
    for (const [path, file] of source.files) {
      if (path === skillFile || file.bytes === undefined) continue;
      const change = { action: "write_file", path, content: file.bytes.toString("utf8") } as const;
      if (!(await files.change(to, target, change, rules, author)).ok) return false;
    }
    return true;
  }
  return false;
}

function sameSupport(files: SkillFiles, one: FolderState, other: FolderState): boolean {
  const support = (state: FolderState): FolderState => ({
    ...state,
    files: new Map([...state.files].filter(([path]) => path !== skillFile)),
  });
  return files.fingerprint(support(one)) === files.fingerprint(support(other));
}

function isText(bytes: Buffer | undefined): boolean {
  return bytes !== undefined && Buffer.from(bytes.toString("utf8")).equals(bytes);
}
